import ArgumentParser
import Foundation
import Persistence
import PurchaseModel

/// `countersign lost`: what is paid and not delivered, and what to do about it.
struct LostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lost",
        abstract:
            "Lists purchases that are paid, or may be, and not delivered, with remedies; exits with 2 if a person must act.",
        discussion: """
            The list has parked orders, submissions without an outcome, and grants whose webhook was given up. It \
            should be empty. An unclaimed order waits for its buyer to post it, and does not set exit code 2.
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
    @Option(help: "Seconds without an outcome before a submission is listed.") var olderThan = 60.0
    @Option(help: "The maximum number of rows, the oldest first; all are counted.") var limit = 50
    @Flag(help: "Prints JSON.") var json = false

    func validate() throws {
        guard (0...1e9).contains(olderThan) else {
            throw ValidationError("--older-than is from 0 to 1000000000 seconds")
        }
        guard (0...100_000).contains(limit) else { throw ValidationError("--limit is from 0 to 100000") }
    }

    func run() async throws {
        try await failingPlainly {
            let (selection, limit) = (selection, limit)
            let report = try await ToolSettings.load().withDatabase { pool in
                let store = LostPurchasesStore(pool: pool)
                return LostReport(try await store.groups(selection), try await store.rows(selection, limit: limit))
            }
            print(json ? try ToolOutput.json(report) : report.text)
            guard !report.needsSomebody else { throw ToolExit.found }
        }
    }

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

/// What `countersign lost` prints.
struct LostReport: Encodable, Sendable {
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
    private static let parked: [ReasonCode: String] = [
        .unclaimed:
            "the account that posts it gets it; for a player who wrote to support: `countersign claim ENVIRONMENT "
            + "TRANSACTION --account …`",
        .accountTokenUnknown:
            "the appAccountToken is not registered: let the backend register it (PUT /v1/account-tokens/{uuid}), or use "
            + "`countersign claim`",
        .productUnknown: "add the product to the catalogue; the order is then granted automatically",
        .productTypeMismatch: "give the product Apple's type in the catalogue; the order is then granted automatically",
        .amountTooLarge: "correct the product's amounts in the catalogue; the order is then granted automatically",
        .environmentMissing:
            "signed before 2022: give the app a key of the App Store Server API, then `countersign redrive`; or, if it was "
            + "paid for, `countersign claim`",
        .signedWithExpiredCertificate:
            "let the app fetch it again (AppStore.sync) and post it; or, if it was paid for, `countersign claim`",
        .purchaseAmbiguous:
            "Apple's data contradicts itself: see `countersign inspect`; if it was paid for, `countersign claim` grants it",
        .vocabularyUnknown:
            "Apple's data has a value that this version does not know: `countersign doctor` names it; give the product "
            + "`assigned` or `bundled` in the catalogue, or update Countersign",
        .transactionIncomplete:
            "Apple's data lacks a required field: `countersign sweep --transaction …` asks Apple for it again",
    ]

    private static let undecided: [ReasonCode: String] = [
        .appStoreUnauthorized: "Apple refuses the app's key: `countersign apple check` says why",
        .appStoreNotConfigured: "give the app an app_store_server_api in the apps file",
        .appUnknown: "add the app to the apps file of the verification workers",
        .noVerdict: "there is no verdict yet: `countersign doctor` shows which process is down or lags",
        .transactionNotFound: "Apple does not know this id yet: it is asked again for a while, then it is rejected",
    ]

    /// False of what Apple told of, or stood in somebody's receipt: whoever bought it posts it, and gets it.
    static func needsSomebody(_ stage: String, _ reason: String) -> Bool {
        stage != "parked" || reason != ReasonCode.unclaimed.rawValue
    }

    static func remedy(_ stage: String, _ reason: String) -> String {
        let code = ReasonCode(rawValue: reason)
        switch stage {
        case "parked": return parked[code] ?? "see `countersign inspect` for one of them"
        case "untold":
            return "the endpoint never accepted the event: repair it, then `countersign webhooks resend --type "
                + "iap.transaction.fulfilled --yes --reason …`"
        default: return undecided[code] ?? "it is tried again automatically; `countersign doctor` explains the reason"
        }
    }
}
