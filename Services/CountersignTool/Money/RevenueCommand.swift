import ArgumentParser
import Persistence

/// `countersign revenue`: what was sold and taken back, and what remains of it by estimate.
struct RevenueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revenue",
        abstract: "Shows production's sales and refunds in a period, with estimated tax, commission and proceeds.",
        discussion: """
            Days are in UTC, and both are included. A refund counts on its own day. Currencies are never added up. \
            --csv and --json have a row for each day, storefront and product, in milliunits; the view daily_revenue \
            has the same in SQL.
            """)

    @Option(help: "The first day: 2026-03-01.") var from: RevenueDay
    @Option(help: "The last day: 2026-03-31.") var to: RevenueDay
    @Option(help: "Only this app.") var app: String?
    @OptionGroup var printing: PrintingOptions
    @Flag(help: "Prints CSV.") var csv = false

    func validate() throws {
        guard from <= to else { throw ValidationError("--from must not be after --to") }
        guard !(printing.json && csv) else { throw ValidationError("--json or --csv: one of these") }
    }

    func run() async throws {
        try await failingPlainly {
            let (from, to, app) = (from, to, app)
            let line = ProgressLine()
            let rows = try await ToolSettings.load().withDatabase { pool in
                defer { line.end() }
                return try await RevenueStore(pool: pool).rows(from: from, to: to, app: app) { day in
                    line.show("\(day) of \(from) to \(to)")
                }
            }
            let report = try RevenueReport(from: from, to: to, rows: rows)
            try printing.answer(report, csv ? report.csv : report.text)
        }
    }
}
