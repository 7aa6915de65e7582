import ArgumentParser
import Persistence
import PurchaseModel

/// `countersign migrate`: brings the database to this version's schema.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Applies the migrations that the database lacks; harmless to repeat.",
        discussion: """
            Older versions made an order of each transaction id of Apple's. Migration 6 merges orders that are one purchase.
            What was granted twice is taken back as far as the account still has it, and told, or left to it. A command that
            was ended goes on where it ended.
            """)

    /// What becomes of what was granted twice.
    enum DoubleGrants: String, ExpressibleByArgument, CaseIterable {
        case correct
        case leave
    }

    @Option(help: "What becomes of what was granted twice: correct or leave.") var doubleGrants = DoubleGrants.correct

    @Flag(help: "Prints JSON.") var json = false

    private static let conflictsMaximum = 100

    /// What was done, for programs.
    struct Report: Encodable, Sendable {
        /// The names of the migrations.
        let applied: [String]
        let schemaVersion: Int64
        /// What was found of purchases and double grants, in sentences.
        let findings: [String]
    }

    func run() async throws {
        try await failingPlainly {
            let leave = doubleGrants == .leave
            let report = try await ToolSettings.load().withAnySchema { pool in
                let migrator = Migrator(pool: pool) { ToolOutput.note("migrate: \($0)") }
                let applied = try await migrator.migrate()
                let version = try await migrator.schemaVersion()
                let decided = try await DoubleGrantStore.correct(pool: pool, leave: leave)
                guard applied.contains("one_order_a_purchase") || !decided.isEmpty else {
                    return Report(applied: applied, schemaVersion: version, findings: [])
                }
                let merged = try await MergeReport.read(conflictsMaximum: Self.conflictsMaximum, pool: pool)
                return Report(
                    applied: applied, schemaVersion: version, findings: Self.lines(merged) + Self.lines(decided))
            }
            let lines = report.applied.map { "applied \($0)" } + ["the schema is at version \(report.schemaVersion)"]
            try ToolOutput.answer(report, json: json, (lines + report.findings).joined(separator: "\n"))
        }
    }

    /// What was merged, and what contradicts.
    static func lines(_ report: MergeReport) -> [String] {
        guard report.mergedOrders > 0 || report.conflictCount > 0 else {
            return ["every order was a purchase of its own: nothing was merged"]
        }
        var lines = ["\(report.mergedOrders) orders were merged into \(report.purchases) of the same purchases"]
        lines += report.conflicts.map { conflict in
            "not merged: order \(conflict.order.transactionId) (\(conflict.order.environment.rawValue)) contradicts "
                + "\(conflict.otherId): \(conflict.cause.rawValue)"
        }
        let more = report.conflictCount - Int64(report.conflicts.count)
        return more > 0 ? lines + ["and \(more) more contradictions: countersign doctor"] : lines
    }

    /// What each account was granted twice, and what became of it, by item.
    static func lines(_ decided: [DoubleGrantStore.Decided]) -> [String] {
        struct Holding: Hashable {
            let customer: Customer
            let item: String
        }
        let sums = Dictionary(grouping: decided) { Holding(customer: $0.customer, item: $0.item) }
        return sums.sorted { left, right in
            left.key.customer == right.key.customer
                ? left.key.item < right.key.item : left.key.customer < right.key.customer
        }.map { holding, rows in
            let amount = rows.reduce(0) { $0 + $1.amount }
            let corrected = rows.compactMap(\.corrected).reduce(0, +)
            let customer = holding.customer
            let isLeft = rows.allSatisfy { $0.corrected == nil }
            let rest = amount - corrected
            return "\(customer.environment.rawValue) \(customer.app) \(customer.account.text): \(amount) "
                + "\(holding.item) granted twice, "
                + (isLeft
                    ? "left to the account"
                    : "\(corrected) taken back" + (rest > 0 ? ", \(rest) not: the account has them no more" : ""))
        }
    }
}
