import ArgumentParser
import Foundation
import Persistence
import Postgres
import PurchaseModel

/// `countersign undelivered`: what is paid and not delivered, and what to do about it.
struct UndeliveredCommand: DatabaseLook {
    static let configuration = CommandConfiguration(
        commandName: "undelivered",
        abstract:
            "Lists what is paid, or may be, and not delivered, with what to do; exits with 2 when somebody has to.",
        discussion: """
            Parked orders, submissions without an outcome, and grants that the studio's backend was never told of: the \
            number that an operator wants at zero. What is unclaimed only waits for its buyer to post it, and does not make \
            the command end with 2.
            """)

    /// How a purchase is lost.
    enum Stage: String, CaseIterable, ExpressibleByArgument {
        case parked, undecided, untold
    }

    @Option(help: "A bundle id.") var app: String?
    @Option(help: "production or sandbox; production without it.") var environment = StoreEnvironment.production
    @Flag(help: "Both environments.") var everywhere = false
    @Option(help: "parked, undecided or untold; all of them without it.") var stage: Stage?
    @Option(help: "One reason, such as account_token_unknown.") var reason: String?
    @Option(help: "Seconds that it may take without being listed.") var olderThan = 60.0
    @Option(help: "The most to list, the oldest first; all are counted.") var limit = 50
    @OptionGroup var printing: PrintingOptions

    func validate() throws {
        guard (0...1e9).contains(olderThan) else {
            throw ValidationError("--older-than is from 0 to 1000000000 seconds")
        }
        guard (0...100_000).contains(limit) else { throw ValidationError("--limit is from 0 to 100000") }
    }

    func look(_ pool: PostgresPool) async throws -> UndeliveredReport {
        let store = LostPurchasesStore(pool: pool)
        return UndeliveredReport(try await store.groups(selection), try await store.rows(selection, limit: limit))
    }

    func text(_ report: UndeliveredReport) -> String { report.text }

    func needsSomebody(_ report: UndeliveredReport) -> Bool { report.needsSomebody }

    private var selection: LostPurchasesStore.Selection {
        var selection = LostPurchasesStore.Selection()
        selection.app = app
        selection.environment = everywhere ? nil : environment.rawValue
        selection.stage = stage?.rawValue
        selection.reason = reason
        selection.olderThan = .seconds(olderThan)
        return selection
    }
}

/// What `countersign undelivered` prints.
struct UndeliveredReport: Encodable, Sendable {
    struct Group: Encodable, Sendable {
        let stage: String
        let environment: String?
        let reason: String
        let count: Int64
        let oldestSeconds: Double
        /// What to do, in a sentence.
        let remedy: String
    }

    struct Purchase: Encodable, Sendable {
        let stage: String
        let environment: String?
        let app: String
        let reason: String
        let since: String
        let account: String?
        let productId: String?
        let transactionId: String?
        let submissionId: String?
    }

    /// In all.
    let count: Int64
    let groups: [Group]
    /// The oldest of them.
    let purchases: [Purchase]

    init(_ groups: [LostPurchasesStore.Group], _ rows: [LostPurchasesStore.Row]) {
        count = groups.reduce(0) { $0 + $1.count }
        self.groups = groups.map { group in
            Group(
                stage: group.stage, environment: group.environment, reason: group.reason, count: group.count,
                oldestSeconds: group.oldestSeconds, remedy: LostRemedies.remedy(group.stage, group.reason))
        }
        purchases = rows.map { row in
            Purchase(
                stage: row.stage, environment: row.environment, app: row.app, reason: row.reason,
                since: row.since.ISO8601Format(), account: row.account?.text, productId: row.productId,
                transactionId: row.transactionId, submissionId: row.submissionId)
        }
    }

    var isEmpty: Bool { count == 0 }

    /// Whether anything is among them that does not only wait for its buyer to post it.
    var needsSomebody: Bool { groups.contains { LostRemedies.needsSomebody($0.stage, $0.reason) } }

    /// As a person reads it.
    var text: String {
        guard !isEmpty else { return "nothing is paid and not delivered" }
        var lines = ["\(count) paid, or perhaps paid, and not delivered"]
        for group in groups {
            lines.append(
                "\n\(group.stage) \(group.environment.map { $0 + " " } ?? "")for \(group.reason): \(group.count), the oldest for "
                    + "\(ToolOutput.age(group.oldestSeconds))\n  → \(group.remedy)")
            for row in purchases
            where (row.stage, row.reason) == (group.stage, group.reason)
                && row.environment == group.environment
            {
                let parts = [
                    row.transactionId, row.app, row.productId, row.account.map { "account \($0)" }, row.submissionId,
                ]
                lines.append("  \(row.since)  " + parts.compactMap(\.self).joined(separator: "  "))
            }
        }
        if purchases.count < count {
            lines.append("\n\(Int(count) - purchases.count) more: --limit says how many are listed")
        }
        return lines.joined(separator: "\n")
    }
}

/// What an operator can do about what is paid and not delivered.
enum LostRemedies {
    /// False of what Apple told of, or stood in somebody's receipt: whoever bought it posts it, and gets it.
    static func needsSomebody(_ stage: String, _ reason: String) -> Bool {
        stage != "parked" || reason != ReasonCode.unclaimed.rawValue
    }

    static func remedy(_ stage: String, _ reason: String) -> String {
        let reason = Reason.of(ReasonCode(rawValue: reason))
        switch stage {
        case "parked": return reason.parked ?? "see `countersign inspect` of one of them"
        case "untold":
            return "the backend's endpoint never took the event: mend it, then `countersign webhooks resend --type "
                + "iap.transaction.fulfilled --yes --reason …`"
        default:
            return reason.waiting
                ?? "it is asked again by itself, for a while where Apple knows no such id; `countersign doctor` tells more of the reason"
        }
    }
}
