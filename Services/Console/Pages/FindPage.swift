import Foundation

/// One box for every id that somebody may have at hand.
enum FindPage {
    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let texts = page.texts
        // A number that was copied from a mail has blanks around it.
        let id = (page.query("q") ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
        guard !id.isEmpty else {
            return Page(title: texts("find.title"), blocks: [.notice(.plain, texts("find.help"))])
        }
        let found = try await page.get("/v1/find", ["q": id])["data"].list
        guard !found.isEmpty else { return try await nothing(id, page) }
        let table = Table(
            texts("find.found", id), ["kind", "environment", "account", "leads_to"].map { texts("column.\($0)") },
            found.map { row in
                [
                    Cell(texts.word("kind", row["kind"].text ?? "")), page.environment(row["environment"]),
                    page.account(row["account"], in: row["environment"]), leadsTo(row, page),
                ]
            }, empty: "")
        return Page(title: texts("find.title"), blocks: [.table(table)])
    }

    private static func leadsTo(_ row: JSON, _ page: PageRequest) -> Cell {
        if row["transaction_id"].text != nil { return page.purchase(row) }
        if row["submission_id"].text != nil { return page.submission(row["submission_id"]) }
        return Cell.code(
            row["event_id"].text ?? row["notification_id"].text ?? row["spend_id"].text ?? row["sweep_id"].text
                ?? row["forget_request_id"].text ?? row["intent_id"].text)
    }

    /// Apple may know the order id of its e-mail: it can be asked, by whoever may.
    private static func nothing(_ id: String, _ page: PageRequest) async throws -> Page {
        let texts = page.texts
        var blocks: [Block] = [.notice(.plain, texts("find.nothing", id)), .notice(.plain, texts("find.help"))]
        if page.person.may(.askApple) {
            blocks.append(.form(ActForm.make(.askApple, page, hidden: [:], values: ["order_id": id])))
        }
        return Page(title: texts("find.title"), blocks: blocks)
    }
}
