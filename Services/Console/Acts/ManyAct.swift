import HummingbirdCore

/// An act that ends a reason of the page of undelivered purchases, for one row or for many.
enum ManyAct: String, CaseIterable, Sendable {
    case assign = "assign-many"
    case retry = "retry-many"
    case resend = "resend-many"

    /// What is done to each row.
    var act: Act {
        switch self {
        case .assign: .assign
        case .retry: .retry
        case .resend: .resend
        }
    }

    /// Reasons of held purchases that end when somebody says whose they are.
    private static let assignable: Set<String> = [
        "unclaimed", "account_token_unknown", "purchase_ambiguous", "environment_missing",
        "signed_with_expired_certificate",
    ]

    /// The one act that ends a reason.
    static func ending(stage: String, reason: String) -> ManyAct {
        switch stage {
        case "untold": .resend
        case "parked" where assignable.contains(reason): .assign
        default: .retry
        }
    }

    /// What the act is done to, of a row of `/v1/undelivered`; nil where the row does not say it.
    func subject(of row: JSON) -> Subject? {
        let id =
            switch self {
            case .assign: row["transaction_id"].text
            case .retry: row["submission_id"].text
            case .resend: row["event_id"].text
            }
        return id.flatMap { Subject(environment: row["environment"].text ?? "", id: $0) }
    }

    /// Which purchase, submission or event, as a form carries it.
    struct Subject: Sendable, Hashable {
        let environment: String
        let id: String

        /// Nil for what stands in no form of ours.
        init?(environment: String, id: String) {
            guard !id.isEmpty, (environment + id).utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ",") })
            else { return nil }
            (self.environment, self.id) = (environment, id)
        }

        init?(_ text: String) {
            guard let space = text.firstIndex(of: " ") else { return nil }
            self.init(environment: String(text[..<space]), id: String(text[text.index(after: space)...]))
        }

        var text: String { "\(environment) \(id)" }
    }

    /// The fields of the act for one row.
    func fields(_ subject: Subject) -> [String: String] {
        switch self {
        case .assign: ["environment": subject.environment, "transaction_id": subject.id]
        case .retry: ["submission_id": subject.id]
        case .resend: ["event": subject.id]
        }
    }

    /// Where a row is looked at.
    func cell(_ subject: Subject, _ page: PageRequest) -> Cell {
        switch self {
        case .assign: Cell.code(subject.id, href: page.purchasePath(subject.environment, subject.id))
        case .retry: Cell.code(subject.id, href: "\(page.base)/submissions/\(IntakeClient.part(subject.id))")
        case .resend: Cell.code(subject.id)
        }
    }
}

/// A table whose rows are chosen by checkboxes, with what is done to those that are.
struct RowsForm: Shown {
    struct Row: Shown {
        let name: String
        let value: String
        let label: String
        let cells: [Cell]
    }

    let heading: String
    let explanation: [String]
    let columns: [String]
    let rows: [Row]
    let action: String
    let fields: [Form.Field]
    let submit: String
    /// The button that chooses all of its rows.
    let submitAll: String
    let csrf: String

    init(
        _ act: ManyAct, heading: String, explanation: [String], columns: [String],
        rows: [(subject: ManyAct.Subject, cells: [Cell])], _ page: PageRequest
    ) {
        let texts = page.texts
        (self.heading, self.explanation, self.columns) = (heading, explanation, [texts("many.column")] + columns)
        self.rows = rows.enumerated().map { place, row in
            Row(
                name: "row_\(place)", value: row.subject.text, label: texts("many.choose", row.subject.id),
                cells: row.cells)
        }
        action = "\(page.base)/acts/\(act.rawValue)"
        var fields: [Form.Field] = [
            .hidden("rows", rows.map(\.subject.text).joined(separator: ",")),
            .hidden("back", page.request.uri.string),
        ]
        fields += act.act.fields.map {
            Form.Field(
                name: $0, label: texts("column.\($0)"), help: texts("\(act.rawValue).\($0)_help"), isRequired: true)
        }
        fields.append(
            Form.Field(name: "reason", label: texts("column.why"), help: texts("acts.reason_help"), isRequired: true))
        self.fields = fields
        (submit, submitAll, csrf) = (texts("many.chosen"), texts("many.all"), page.visit.csrfToken)
    }
}
