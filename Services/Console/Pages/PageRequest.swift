import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore

/// A person's request for a page of an app, with everything that makes one.
struct PageRequest: Sendable {
    let request: Request
    let context: ConsoleContext
    let visit: Visit
    let app: String
    /// Where the website of the documents is, with a slash at the end.
    let site: String?
    let texts: Texts
    let intake: IntakeClient
    /// The fields of a form that was posted.
    var fields: [String: String] = [:]

    /// Where the app's pages are.
    var base: String { "/apps/\(app)" }
    var person: Person { visit.person }

    /// A parameter of the query; nil where it is not there or empty.
    func query(_ name: String) -> String? { Self.query(of: request)[name] }

    /// What a form sent by GET, without what was left empty: in a browser's query a `+` is a blank, which Hummingbird's
    /// parameters leave as it is.
    static func query(of request: Request) -> [String: String] {
        let fields = try? URLEncodedFormDecoder().decode([String: String].self, from: request.uri.query ?? "")
        return (fields ?? [:]).filter { !$0.value.isEmpty }
    }

    /// A parameter of the path.
    ///
    /// - Throws: `ConsoleTrouble`.
    func part(_ name: String) throws -> String {
        guard let text = context.parameters.get(name)?.removingPercentEncoding, !text.isEmpty else {
            throw ConsoleTrouble(.notFound)
        }
        return text
    }

    /// Reads something of the app from intake.
    ///
    /// - Throws: `ConsoleTrouble`.
    func get(_ path: String, _ query: [String: String?] = [:]) async throws -> JSON {
        try await intake.get(
            path, query.merging(["app": app]) { _, app in app }, for: person, page: "console-\(context.id)")
    }

    /// Reads what a page shows beside its main thing; nil where it cannot be had.
    func also(_ path: String, _ query: [String: String?] = [:]) async throws -> JSON? {
        do {
            return try await get(path, query)
        } catch let trouble as ConsoleTrouble where trouble.kind != .intakeAway {
            return nil
        }
    }

    // MARK: Links to pages

    func purchase(_ row: JSON, _ id: JSON? = nil) -> Cell {
        let id = (id ?? row["transaction_id"]).text
        return Cell.code(id, href: id.map { purchasePath(row["environment"].text, $0) })
    }

    func purchasePath(_ environment: String?, _ id: String) -> String {
        "\(base)/purchases/\(IntakeClient.part(environment ?? "production"))/\(IntakeClient.part(id))"
    }

    /// A link for who may see accounts, and the name alone for everybody else.
    func account(_ name: JSON, in environment: JSON) -> Cell {
        guard let text = name.text else { return Cell(nil) }
        guard person.may(.seeAccounts) else { return Cell(text) }
        let environment = environment.text.map { "?environment=\(IntakeClient.part($0))" } ?? ""
        return Cell(text, href: "\(base)/accounts/\(IntakeClient.part(text))\(environment)")
    }

    func submission(_ id: JSON) -> Cell {
        Cell.code(id.text, href: id.text.map { "\(base)/find?q=\(IntakeClient.part($0))" })
    }

    /// How an order, a submission or a delivery stands.
    func state(_ value: JSON) -> Cell {
        guard let code = value.text else { return Cell(nil) }
        let tone: Tone =
            switch code {
            case "granted", "fulfilled", "delivered", "active", "answered", "done", "enabled", "in_use": .good
            case "parked", "received", "pending", "waiting", "lapsed", "grace_period", "billing_retry": .waiting
            case "rejected", "refused", "abandoned", "revoked", "failed", "expired", "disabled": .bad
            default: .plain
            }
        return Cell.state(texts.word("state", code), tone)
    }

    /// A reason with what it means.
    func reason(_ value: JSON) -> Cell {
        guard let code = value.text else { return Cell(nil) }
        return Cell(texts.word("reason", code))
    }

    /// A page of the runbook, by its name: a link where the website is published.
    func runbook(_ name: JSON) -> Cell {
        let page = name.text.map { "deploy/monitoring/runbook/\(IntakeClient.part($0)).html" }
        return Cell.code(name.text, href: site.flatMap { site in page.map { site + $0 } })
    }

    func environment(_ value: JSON) -> Cell { Cell(value.text.map { texts.word("environment", $0) }) }

    /// A list as a table, with the link to its next page.
    ///
    /// - Parameter cursor: the parameter of this page that says where the list goes on.
    func table(
        _ heading: String, _ list: JSON, columns: [String], empty: String, filter: Form? = nil,
        cursor: String = "after", row: (JSON) -> [Cell]
    ) -> Block {
        var table = Table(
            texts(heading), columns.map { texts("column.\($0)") }, list["data"].list.map(row), empty: texts(empty))
        if let next = next(of: list, cursor: cursor) { (table.next, table.nextText) = (next.href, next.text) }
        table.filter = filter
        return .table(table)
    }

    /// The link to the next page of a list; nil on the last.
    func next(of list: JSON, cursor: String = "after") -> Cell? {
        list["next"].text.map { Cell(texts("layout.next"), href: path(with: cursor, $0)) }
    }

    /// This page's address with a parameter changed.
    private func path(with name: String, _ value: String) -> String {
        var fields = Self.query(of: request)
        fields[name] = value
        let parts = fields.sorted { $0.key < $1.key }.map {
            "\(IntakeClient.part($0.key))=\(IntakeClient.part($0.value))"
        }
        return request.uri.path + "?" + parts.joined(separator: "&")
    }

    /// A filter of a list: choices and texts that the query has as values.
    func filter(_ fields: [Form.Field]) -> Form {
        Form(action: request.uri.path, method: "get", fields: fields, submit: texts("layout.show"))
    }

    /// A choice of a filter; the first is "all".
    func choice(_ name: String, _ values: [String], word prefix: String) -> Form.Field {
        let chosen = query(name) ?? ""
        let all = Form.Field.Option(value: "", text: texts("layout.all"), isChosen: chosen.isEmpty)
        return .choice(
            name, texts("column.\(name)"),
            [all] + values.map { .init(value: $0, text: texts.word(prefix, $0), isChosen: $0 == chosen) })
    }

    /// A choice of what is about one environment: production where nobody says which.
    func environmentChoice() -> Form.Field {
        let chosen = query("environment") ?? "production"
        return .choice(
            "environment", texts("column.environment"),
            ["production", "sandbox"].map {
                .init(value: $0, text: texts.word("environment", $0), isChosen: $0 == chosen)
            })
    }

    func textField(_ name: String) -> Form.Field {
        Form.Field(name: name, label: texts("column.\(name)"), value: query(name) ?? "")
    }
}
