import Foundation

/// What was sold and taken back: the same numbers as `countersign revenue`, which are estimates.
enum MoneyPage {
    enum Limit {
        /// Days that are shown where nobody says which.
        static let days = 30
        /// Days of a chart: a leap year, which intake answers at most.
        static let daysMaximum = 366
    }

    /// The same rows for a spreadsheet: amounts in thousandths, nothing rounded.
    @Sendable
    static func csv(_ page: PageRequest) async throws -> Page {
        let (from, to, by) = (page.query("from") ?? "", page.query("to") ?? "", page.query("by") ?? "day")
        let view = try await page.get("/v1/revenue", ["from": from, "to": to, "by": by])
        let names = [by == "product" ? "product_id" : by, "currency"] + counts + amounts
        return CSV.download("revenue.csv", names, view["rows"].list)
    }

    /// Sales, and subscriptions.
    static func tabs(_ page: PageRequest) -> Block {
        let texts = page.texts
        return .links(
            heading: nil,
            [
                Cell(texts("money.sales"), href: page.base + "/money"),
                Cell(texts("money.subscriptions"), href: page.base + "/money/subscriptions"),
            ])
    }

    /// The numbers as a file, and the question whose answer they are.
    static func source(file: String, query: String, _ texts: Texts) -> [Block] {
        [
            .links(heading: nil, [Cell(texts("money.csv"), href: file)]),
            .facts(heading: texts("money.query"), [Fact("GET", Cell.code(query))]),
        ]
    }

    @Sendable
    static func make(_ page: PageRequest) async throws -> Page {
        let texts = page.texts
        let today = Date()
        let from = page.query("from") ?? day(today.addingTimeInterval(-Double(Limit.days - 1) * 86_400))
        let (to, by) = (page.query("to") ?? day(today), page.query("by") ?? "day")
        let view = try await page.get("/v1/revenue", ["from": from, "to": to, "by": by])
        let filter = page.filter([
            Form.Field(name: "from", label: texts("column.from"), value: from),
            Form.Field(name: "to", label: texts("column.to"), value: to),
            .choice(
                "by", texts("column.by"),
                ["day", "product", "storefront"].map {
                    .init(value: $0, text: texts("by.\($0)"), isChosen: $0 == by)
                }),
        ])
        var totals = table(texts("money.totals"), view["totals"], first: nil, texts)
        totals.filter = filter
        var blocks: [Block] = [tabs(page), .notice(.plain, texts("money.estimate")), .table(totals)]
        if by == "day" { blocks += charts(view["rows"].list, days: days(from: from, to: to), texts) }
        blocks.append(
            .table(table(texts("money.rows"), view["rows"], first: by == "product" ? "product_id" : by, texts)))
        let query = "from=\(IntakeClient.part(from))&to=\(IntakeClient.part(to))&by=\(IntakeClient.part(by))"
        blocks += source(
            file: "\(page.base)/money.csv?\(query)", query: "/v1/revenue?app=\(page.app)&\(query)", texts)
        return Page(title: texts("place.money"), place: .money, blocks: blocks)
    }

    static func day(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle().year().month().day())
    }

    /// Every day from one to another; none where these are no days, or more than a year.
    static func days(from: String, to: String) -> [String] {
        let style = Date.ISO8601FormatStyle().year().month().day()
        guard let first = try? style.parse(from), let last = try? style.parse(to), first <= last,
            last.timeIntervalSince(first) < Double(Limit.daysMaximum) * 86_400
        else { return [] }
        return stride(from: first, through: last, by: 86_400).map(day)
    }

    static let amounts = [
        "gross_milliunits", "refunded_milliunits", "tax_milliunits", "commission_milliunits",
        "estimated_proceeds_milliunits",
    ]
    static let counts = ["orders", "refunds", "unpriced_orders"]

    private static func table(_ heading: String, _ rows: JSON, first: String?, _ texts: Texts) -> Table {
        let names = (first.map { [$0] } ?? []) + ["currency"] + counts + amounts
        return Table(
            heading, names.map { texts("column.\($0)") },
            rows.list.map { row in
                (first.map { [Cell(row[$0].text ?? texts("money.unknown"))] } ?? [])
                    + [Cell(row["currency"].text ?? texts("money.unknown"))]
                    + counts.map { Cell.number(row[$0].text) }
                    + amounts.map { Cell.number(row[$0].integer.map { Money.text($0) }) }
            }, empty: texts("money.none"))
    }

    /// One chart for each currency: currencies are never added up.
    private static func charts(_ rows: [JSON], days: [String], _ texts: Texts) -> [Block] {
        let currencies = Set(rows.compactMap { $0["currency"].text }).sorted()
        return currencies.map { currency in
            let amounts = Dictionary(
                rows.filter { $0["currency"].text == currency }.map {
                    ($0["day"].text ?? "", $0["gross_milliunits"].integer ?? 0)
                }
            ) { $0 &+ $1 }
            // A day without a sale has a place in the chart, and no row.
            let values = (days.isEmpty ? amounts.keys.sorted() : days).map { day in
                (name: day, value: amounts[day] ?? 0, text: "\(Money.text(amounts[day] ?? 0)) \(currency)")
            }
            let sum = values.reduce(Int64(0)) { $0 &+ $1.value }
            return .chart(
                Chart(
                    heading: texts("money.chart", currency),
                    summary: texts("money.chart_says", Money.text(sum), currency), values: values))
        }
    }
}
