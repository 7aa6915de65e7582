/// Who looked at whose data, by the list that intake keeps of it.
enum ViewTable {
    /// The parameter of a page that says where the list goes on.
    static let cursor = "seen_after"

    static func make(_ heading: String, _ list: JSON, _ page: PageRequest) -> Block {
        page.table(
            heading, .object(["data": .list(firstOfEach(list["data"].list)), "next": list["next"]]),
            columns: ["at", "actor", "action", "account", "purchase"], empty: "views.none", cursor: cursor
        ) { row in
            [
                Cell.time(row["viewed_at"]), Cell(row["actor"].text),
                Cell(page.texts.word("view", word(row["route"].text ?? ""))),
                page.account(row["account"], in: row["environment"]), page.purchase(row),
            ]
        }
    }

    /// Of what one page asked for the first alone: the page's own subject.
    private static func firstOfEach(_ rows: [JSON]) -> [JSON] {
        rows.enumerated().filter { place, row in
            place + 1 == rows.count || row["request_id"] != rows[place + 1]["request_id"]
                || row["account"] != rows[place + 1]["account"]
        }.map(\.element)
    }

    /// A route as a word of the texts: `GET /v1/accounts/{id}/ledger` is `accounts_one_ledger`.
    private static func word(_ route: String) -> String {
        route.split(separator: " ").last?.split(separator: "/").dropFirst()
            .map { $0.hasPrefix("{") ? "one" : $0.replacing("-", with: "_") }.joined(separator: "_") ?? route
    }
}
