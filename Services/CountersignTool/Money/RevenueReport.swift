import Persistence

/// What `countersign revenue` says: rows of `daily_revenue`, and their sums per currency and app.
struct RevenueReport: Encodable {
    /// The sum of one app's rows of one currency; of all apps together where `app` is nil.
    struct Sum: Encodable, Equatable {
        let currency: String?
        let app: String?
        var orders: Int64 = 0
        var refunds: Int64 = 0
        var unpricedOrders: Int64 = 0
        var taxUnknownOrders: Int64 = 0
        var gross: Int64 = 0
        var refunded: Int64 = 0
        var tax: Int64 = 0
        var commission: Int64 = 0
        var estimatedProceeds: Int64 = 0

        /// - Throws: `ToolFailure` where a sum leaves 64 bits.
        mutating func add(_ row: RevenueStore.Row) throws {
            try Self.add(row.orders, to: &orders)
            try Self.add(row.refunds, to: &refunds)
            try Self.add(row.unpricedOrders, to: &unpricedOrders)
            try Self.add(row.taxUnknownOrders, to: &taxUnknownOrders)
            try Self.add(row.gross, to: &gross)
            try Self.add(row.refunded, to: &refunded)
            try Self.add(row.tax, to: &tax)
            try Self.add(row.commission, to: &commission)
            try Self.add(row.estimatedProceeds, to: &estimatedProceeds)
        }

        private static func add(_ value: Int64, to sum: inout Int64) throws {
            let (result, overflow) = sum.addingReportingOverflow(value)
            if overflow { throw ToolFailure("the sum of these days leaves 64 bits: ask for fewer days, or use --csv") }
            sum = result
        }
    }

    let from: RevenueDay
    let to: RevenueDay
    let isEstimate = true
    /// By currency and app.
    let sums: [Sum]
    /// By currency.
    let totals: [Sum]
    let rows: [RevenueStore.Row]

    /// - Throws: `ToolFailure` where a sum leaves 64 bits.
    init(from: RevenueDay, to: RevenueDay, rows: [RevenueStore.Row]) throws {
        self.from = from
        self.to = to
        self.rows = rows
        sums = try Self.sums(rows) { $0.app }
        totals = try Self.sums(rows) { _ in nil }
    }

    private static func sums(_ rows: [RevenueStore.Row], _ app: (RevenueStore.Row) -> String?) throws -> [Sum] {
        var sums: [[String]: Sum] = [:]
        for row in rows {
            let app = app(row)
            try sums[[row.currency ?? "", app ?? ""], default: Sum(currency: row.currency, app: app)].add(row)
        }
        return sums.sorted { ($0.key[0], $0.key[1]) < ($1.key[0], $1.key[1]) }.map(\.value)
    }

    /// The report as a person reads it.
    var text: String {
        var lines = ["\(from) to \(to), days in UTC, production; what remains is an estimate", ""]
        if sums.isEmpty { return lines[0] + "\nnothing was sold or taken back" }
        var table = [["", "orders", "refunds", "gross", "refunded", "tax", "commission", "est. proceeds"]]
        for total in totals {
            let parts = sums.filter { $0.currency == total.currency }
            for sum in parts { table.append(Self.cells("\(Self.name(sum.currency))  \(sum.app ?? "")", sum)) }
            if parts.count > 1 { table.append(Self.cells("\(Self.name(total.currency))  all", total)) }
        }
        let widths = table[0].indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        for cells in table {
            let numbers = zip(cells, widths).dropFirst().map { ToolOutput.rightAligned($0, $1) }
            lines.append(([ToolOutput.padded(cells[0], widths[0])] + numbers).joined(separator: "  "))
        }
        return (lines + notes).joined(separator: "\n")
    }

    /// What the numbers leave out.
    private var notes: [String] {
        var notes: [String] = []
        let unpriced = totals.reduce(0) { $0 + $1.unpricedOrders }
        if unpriced > 0 {
            notes.append("\(unpriced) orders have no price that is known: they are counted, and in no amount")
        }
        let taxUnknown = totals.reduce(0) { $0 + $1.taxUnknownOrders }
        if taxUnknown > 0 {
            let storefronts = Set(rows.filter { $0.taxUnknownOrders > 0 }.map { $0.storefront ?? "unknown" }).sorted()
            notes.append(
                "\(taxUnknown) orders are of storefronts whose tax is not known, and none is taken off: "
                    + storefronts.joined(separator: " ") + " (countersign rates set tax)")
        }
        return notes.isEmpty ? [] : [""] + notes
    }

    private static func name(_ currency: String?) -> String { currency ?? "---" }

    private static func cells(_ name: String, _ sum: Sum) -> [String] {
        [name, "\(sum.orders)", "\(sum.refunds)"]
            + [sum.gross, sum.refunded, sum.tax, sum.commission, sum.estimatedProceeds].map(MoneyText.amount)
    }

    /// The rows for a spreadsheet, amounts in milliunits: RFC 4180, with a header.
    var csv: String {
        let header = [
            "day", "app", "storefront", "currency", "product_id", "orders", "refunds", "unpriced_orders",
            "tax_unknown_orders", "gross", "refunded", "tax", "commission", "estimated_proceeds",
        ]
        let lines = rows.map { row in
            [row.day.description, row.app, row.storefront ?? "", row.currency ?? "", row.productId].map(Self.quoted)
                + [
                    row.orders, row.refunds, row.unpricedOrders, row.taxUnknownOrders, row.gross, row.refunded, row.tax,
                    row.commission, row.estimatedProceeds,
                ].map { "\($0)" }
        }
        return ([header] + lines).map { $0.joined(separator: ",") }.joined(separator: "\r\n")
    }

    private static func quoted(_ field: String) -> String {
        // By bytes: a carriage return and a line feed are one Character.
        let special = Array(",\"\r\n".utf8)
        guard field.utf8.contains(where: special.contains) else { return field }
        return "\"" + field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
