import Foundation

/// How subscriptions stand, and how many began, went on and ended.
enum SubscriptionsPage {
    private static let changes = ["started", "renewed", "returned", "ended"]

    /// What is asked for, as the page and its file ask alike.
    private struct Question {
        let from: String
        let to: String
        let by: String
        let environment: String

        init(_ page: PageRequest) {
            let today = Date()
            let before = today.addingTimeInterval(-Double(MoneyPage.Limit.days - 1) * 86_400)
            from = page.query("from") ?? MoneyPage.day(before)
            to = page.query("to") ?? MoneyPage.day(today)
            by = page.query("by") ?? "day"
            environment = page.query("environment") ?? "production"
        }

        var query: [String: String?] { ["from": from, "to": to, "by": by, "environment": environment] }

        var text: String {
            let parts = [("from", from), ("to", to), ("by", by), ("environment", environment)]
            return parts.map { "\($0)=\(IntakeClient.part($1))" }.joined(separator: "&")
        }

        /// The member that a row is of.
        var key: String { by == "product" ? "product_id" : by }
    }

    @Sendable
    static func csv(_ page: PageRequest) async throws -> Page {
        let question = Question(page)
        let view = try await page.get("/v1/subscription-figures", question.query)
        return CSV.download("subscriptions.csv", [question.key] + changes, view["rows"].list)
    }

    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let (texts, question) = (page.texts, Question(page))
        let view = try await page.get("/v1/subscription-figures", question.query)
        var totals = table(texts("subscriptions.totals"), [view["totals"]], first: nil, texts)
        totals.filter = filter(question, page)
        var blocks: [Block] = [
            MoneyPage.tabs(page), .table(totals), .notice(.plain, texts("subscriptions.about")),
        ]
        let rows = view["rows"].list
        if question.by != "product" { blocks += charts(rows, view["totals"], question, texts) }
        blocks.append(.table(table(texts("subscriptions.rows"), rows, first: question.key, texts)))
        blocks += states(view["states"].list, page)
        blocks += MoneyPage.source(
            file: "\(page.base)/money/subscriptions.csv?\(question.text)",
            query: "/v1/subscription-figures?app=\(page.app)&\(question.text)", texts)
        return Page(title: texts("subscriptions.title"), place: .money, blocks: blocks)
    }

    private static func filter(_ question: Question, _ page: PageRequest) -> Form {
        let texts = page.texts
        return page.filter([
            Form.Field(name: "from", label: texts("column.from"), value: question.from),
            Form.Field(name: "to", label: texts("column.to"), value: question.to),
            .choice(
                "by", texts("column.by"),
                ["day", "month", "product"].map {
                    .init(value: $0, text: texts("by.\($0)"), isChosen: $0 == question.by)
                }),
            page.environmentChoice(),
        ])
    }

    private static func table(_ heading: String, _ rows: [JSON], first: String?, _ texts: Texts) -> Table {
        let names = (first.map { [$0] } ?? []) + changes
        return Table(
            heading, names.map { texts("column.\($0)") },
            rows.map { row in
                (first.map { [Cell(row[$0].text ?? texts("money.unknown"))] } ?? [])
                    + changes.map { Cell.number(row[$0].text) }
            }, empty: texts("subscriptions.none"))
    }

    private static func charts(_ rows: [JSON], _ totals: JSON, _ question: Question, _ texts: Texts) -> [Block] {
        guard !rows.isEmpty else { return [] }
        let found = Dictionary(rows.map { ($0[question.key].text ?? "", $0) }) { first, _ in first }
        // A day without a change has a place in the chart, and no row.
        let days = question.by == "day" ? MoneyPage.days(from: question.from, to: question.to) : []
        let keys = days.isEmpty ? found.keys.sorted() : days
        return changes.map { name in
            .chart(
                Chart(
                    heading: texts("subscriptions.chart_\(name)"),
                    summary: texts("subscriptions.chart_says_\(question.by)", totals[name].text ?? "0"),
                    values: keys.map { key in
                        let value = found[key]?[name].integer ?? 0
                        return (name: key, value: value, text: String(value))
                    }))
        }
    }

    /// How they stand now: a row a product, a column a state.
    private static func states(_ counts: [JSON], _ page: PageRequest) -> [Block] {
        let texts = page.texts
        let states = ["active", "grace_period", "billing_retry", "expired", "revoked"]
        var products: [String: [String: Int64]] = [:]
        for count in counts {
            products[count["product_id"].text ?? "", default: [:]][count["state"].text ?? "", default: 0] +=
                count["count"].integer ?? 0
        }
        func sum(_ states: [String]) -> Int64 {
            products.values.reduce(0) { sum, counts in sum + states.reduce(0) { $0 + (counts[$1] ?? 0) } }
        }
        let bars = states.map { state in
            (name: texts.word("state", state), value: sum([state]), text: String(sum([state])))
        }
        let table = Table(
            texts("subscriptions.now"), [texts("column.product_id")] + states.map { texts.word("state", $0) },
            products.sorted { $0.key < $1.key }.map { product, counts in
                [Cell.code(product)] + states.map { Cell.number(String(counts[$0] ?? 0)) }
            }, empty: texts("subscriptions.no_states"))
        guard !products.isEmpty else { return [.table(table)] }
        let says = texts(
            "subscriptions.now_says", String(sum(states)), String(sum(["active", "grace_period"])))
        return [
            .chart(Chart(heading: texts("subscriptions.now"), summary: says, values: bars)), .table(table),
        ]
    }
}
