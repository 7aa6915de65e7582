/// What is paid and not delivered, grouped by reason, with the act that ends it for one row or for many.
enum UndeliveredPage {
    enum Limit {
        /// Rows of a page: as many as one act takes.
        static let rows = ManyPage.Limit.rows
    }

    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let texts = page.texts
        // Support looks while the player waits: the last minute counts, too.
        let asked = [
            "environment": page.query("environment"), "stage": page.query("stage"), "reason": page.query("reason"),
            "after": page.query("after"), "older_than": "0", "limit": String(Limit.rows),
        ]
        let reasons = try await page.get(
            "/v1/undelivered/reasons", ["environment": page.query("environment"), "older_than": "0"])
        let list = try await page.get("/v1/undelivered", asked)
        var blocks: [Block] = [.table(reasonTable(reasons, page))]
        if let reason = page.query("reason"), page.person.may(.retry) {
            blocks.append(.form(ActForm.make(.retryAll, page, hidden: ["rejected_reason": reason])))
        }
        blocks.append(
            .form(
                page.filter([
                    page.choice("stage", ["parked", "undecided", "untold"], word: "stage"),
                    page.choice("environment", ["production", "sandbox"], word: "environment"),
                    page.textField("reason"),
                ])))
        let groups = groups(of: list["data"].list)
        blocks += groups.map { block(of: $0, page) }
        if groups.isEmpty {
            blocks.append(.table(Table(texts("undelivered.rows"), [], [], empty: texts("undelivered.none"))))
        }
        if let next = page.next(of: list) { blocks.append(.links(heading: nil, [next])) }
        return Page(title: texts("place.undelivered"), place: .undelivered, blocks: blocks)
    }

    private static func reasonTable(_ reasons: JSON, _ page: PageRequest) -> Table {
        let texts = page.texts
        return Table(
            texts("undelivered.reasons"),
            ["stage", "reason", "environment", "count", "oldest", "what_to_do"].map { texts("column.\($0)") },
            reasons["data"].list.map { group in
                let (stage, code) = (group["stage"].text ?? "", group["reason"].text ?? "")
                let parts = [("stage", stage), ("reason", code), ("environment", group["environment"].text ?? "")]
                let query = parts.map { "\($0)=\(IntakeClient.part($1))" }.joined(separator: "&")
                return [
                    Cell(texts.word("stage", stage)),
                    Cell(texts.word("reason", code), href: "\(page.base)/undelivered?\(query)"),
                    page.environment(group["environment"]), Cell.number(HomePage.counted(group["count"], group)),
                    Cell.time(group["oldest_at"]), Cell(toDo(code, texts)),
                ]
            }, empty: texts("undelivered.none"))
    }

    private static func toDo(_ reason: String, _ texts: Texts) -> String {
        let word = texts.word("to_do", reason)
        return word == reason ? texts("to_do.other") : word
    }

    // MARK: Rows of one reason

    private struct Group {
        let stage: String
        let reason: String
        let environment: JSON
        var rows: [JSON]
    }

    /// The rows by stage, reason and environment, in the order in which each comes first.
    private static func groups(of rows: [JSON]) -> [Group] {
        var groups: [Group] = []
        for row in rows {
            let (stage, reason) = (row["stage"].text ?? "", row["reason"].text ?? "")
            let place = groups.firstIndex {
                $0.stage == stage && $0.reason == reason && $0.environment == row["environment"]
            }
            if let place {
                groups[place].rows.append(row)
            } else {
                groups.append(Group(stage: stage, reason: reason, environment: row["environment"], rows: [row]))
            }
        }
        return groups
    }

    /// A table, in a form for whoever may do what ends the reason.
    private static func block(of group: Group, _ page: PageRequest) -> Block {
        let texts = page.texts
        let heading = texts(
            "undelivered.group", texts.word("stage", group.stage), texts.word("reason", group.reason),
            page.environment(group.environment).text)
        let columns = ["purchase", "account", "product_id", "since"].map { texts("column.\($0)") }
        let act = ManyAct.ending(stage: group.stage, reason: group.reason)
        let rows = group.rows.map { row in (subject: act.subject(of: row), cells: cells(of: row, page)) }
        guard page.person.may(act.act.permission), rows.contains(where: { $0.subject != nil }) else {
            return .table(Table(heading, columns, rows.map(\.cells), empty: ""))
        }
        return .rows(
            RowsForm(
                act, heading: heading, explanation: [toDo(group.reason, texts), texts("undelivered.many")],
                columns: columns,
                rows: rows.compactMap { row in row.subject.map { (subject: $0, cells: row.cells) } }, page))
    }

    private static func cells(of row: JSON, _ page: PageRequest) -> [Cell] {
        [
            row["transaction_id"].text == nil || row["stage"].text == "undecided"
                ? Cell.code(
                    row["submission_id"].text,
                    href: row["submission_id"].text.map { "\(page.base)/submissions/\(IntakeClient.part($0))" })
                : page.purchase(row),
            page.account(row["account"], in: row["environment"]), Cell.code(row["product_id"].text),
            Cell.time(row["created_at"]),
        ]
    }
}
