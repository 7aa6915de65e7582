import ArgumentParser
import Persistence
import PurchaseModel

/// `countersign double-grants`: what accounts got of one purchase more than once.
struct DoubleGrantsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "double-grants",
        abstract: "Lists by account what was granted more than once for one purchase, and what became of it.",
        discussion: """
            Older versions took each transaction id of Apple's for a purchase. Migration 6 merged their orders and recorded
            what was granted too much. This command changes nothing.
            """)

    @Option(help: "Only what is open, corrected or left.") var state: DoubleGrantReading.State?
    @Option(help: "The most lines.") var limit = 1000
    @Flag(help: "Prints JSON.") var json = false

    func validate() throws {
        guard (1...100_000).contains(limit) else { throw ValidationError("--limit is from 1 to 100000") }
    }

    func run() async throws {
        try await failingPlainly {
            let (state, limit) = (state, limit)
            let listing = try await ToolSettings.load().withDatabase { pool in
                try await DoubleGrantReading(pool: pool).list(state: state, limit: limit)
            }
            print(json ? try ToolOutput.json(listing) : Self.text(listing))
        }
    }

    /// A heading for each account, and a line for each item of an order.
    static func text(_ listing: DoubleGrantReading.Listing) -> String {
        let total = listing.counts.values.reduce(0, +)
        guard total > 0 else { return "nothing was granted twice" }
        var lines: [String] = []
        var last: DoubleGrantReading.DoubleGrant?
        for grant in listing.doubleGrants {
            if last.map({ !isSameAccount($0, grant) }) ?? true {
                lines.append("\(grant.environment.rawValue) \(grant.app) \(grant.account)")
            }
            lines.append("  \(line(grant))")
            last = grant
        }
        let unlisted = total - Int64(listing.doubleGrants.count)
        if unlisted > 0 { lines.append("and \(unlisted) more") }
        let counts = DoubleGrantReading.State.allCases.map { "\(listing.counts[$0.rawValue] ?? 0) \($0.rawValue)" }
        lines.append("\(listing.accounts) accounts: \(counts.joined(separator: ", "))")
        return lines.joined(separator: "\n")
    }

    private static func line(_ grant: DoubleGrantReading.DoubleGrant) -> String {
        let corrected = grant.corrected.map { ", \($0) taken back" } ?? ""
        let decided = grant.decidedAt.map { ", \($0)" } ?? ""
        return "\(grant.amount) \(grant.item) too many by order \(grant.transactionId): \(grant.state.rawValue)"
            + corrected + decided
    }

    /// By bytes: two names that look alike may be two accounts.
    private static func isSameAccount(
        _ left: DoubleGrantReading.DoubleGrant, _ right: DoubleGrantReading.DoubleGrant
    ) -> Bool {
        (left.environment, left.app) == (right.environment, right.app)
            && left.account.utf8.elementsEqual(right.account.utf8)
    }
}
