import Foundation
import Messages
import PurchaseModel

/// What Apple signed and players posted over eight months, made by chance and the same for the same seed.
///
/// Every act is one proof that reached Countersign: a posted transaction or receipt, or a server notification. Whose a
/// lineage is does not depend on who came first: one player posts it, or a token names the same player, or nobody does.
struct History: Sendable {
    /// One proof, as its verdict tells of it.
    struct Act: Sendable {
        /// When Apple signed it; it reaches us later.
        let date: Date
        /// The player that posted it; nil where Apple did.
        let poster: String?
        let kind: ProofKind
        var transactions: [Transaction]
        /// As `VerdictMessage.claims`.
        let claims: [String]?
        let renewals: [RenewalStatement]
        let consents: [RescindedConsent]
        /// Apple's `notificationType`.
        let notification: String?
        /// How many messages its verdict has.
        let parts: Int
    }

    /// When the history is looked at; nothing happens later.
    static let end = Date(timeIntervalSince1970: 1_760_000_000)
    /// When its first purchase may be.
    static let start = end.addingTimeInterval(-240 * day)
    static let day: TimeInterval = 86_400

    static let accounts = ["anna", "ben", "cleo"]

    let seed: UInt64
    /// Begins every id of Apple's, and names the app: several histories may stand in one database.
    let prefix: String
    /// In the order in which they were signed.
    var acts: [Act]
    /// Whose the registered tokens are.
    let tokens: [UUID: String]

    /// - Parameter prefix: of the same length wherever histories are compared.
    init(seed: UInt64, prefix: String, lineages: Int = 24) {
        var builder = HistoryBuilder(seed: seed, prefix: prefix)
        for _ in 0..<lineages { builder.addLineage() }
        builder.addReceipts()
        builder.addConsents()
        self.seed = seed
        self.prefix = prefix
        acts = builder.acts.filter { $0.date <= Self.end }.enumerated()
            .sorted { ($0.element.date, $0.offset) < ($1.element.date, $1.offset) }.map(\.element)
        tokens = builder.registered
    }

    /// The purchases that anybody tells of, by their first ids.
    var purchases: Set<OrderKey> {
        Set(
            acts.flatMap(\.transactions).compactMap { transaction in
                transaction.environment.map {
                    OrderKey(
                        environment: $0, transactionId: HistoryBuilder.firstId(of: transaction.transactionId))
                }
            })
    }

    /// The app of this history.
    var app: String { Self.app(prefix) }

    static func app(_ prefix: String) -> String { "com.example.\(prefix)game" }

    /// What the app sells: every type, and every policy of taking back.
    var catalogue: Catalogue {
        Catalogue([
            app: [
                Self.product("gems.100", .consumable, items: ["gem": 100]),
                Self.product("gold.50", .consumable, items: ["gold": 50], takeBacks: ["gold": .toNegative]),
                Self.product("ticket", .consumable, items: ["ticket": 1], takeBacks: ["ticket": .leave]),
                Self.product(
                    "chest", .consumable, items: ["gem": 33, "gold": 7, "ticket": 2],
                    takeBacks: ["gold": .toNegative, "ticket": .leave]),
                Self.product("pro", .nonConsumable, items: ["gem": 5], entitlements: ["pro"]),
                Self.product("skin", .nonConsumable, entitlements: ["skin"]),
                Catalogue.Product(
                    id: "season", type: .nonRenewing, items: [], entitlements: ["season"],
                    duration: ProductDuration("P90D")),
                Self.product("basic.monthly", .autoRenewable, entitlements: ["basic"]),
                Self.product("plus.monthly", .autoRenewable, items: ["gem": 10], entitlements: ["basic", "plus"]),
                Self.product("plus.yearly", .autoRenewable, entitlements: ["basic", "plus"]),
                Self.product(
                    "max.monthly", .autoRenewable, items: ["gold": 3], entitlements: ["basic", "plus", "max"],
                    takeBacks: ["gold": .toNegative]),
            ]
        ])
    }

    private static func product(
        _ id: String, _ type: ProductType, items: KeyValuePairs<String, Int64> = [:], entitlements: [String] = [],
        takeBacks: [String: TakeBackPolicy] = [:]
    ) -> Catalogue.Product {
        Catalogue.Product(
            id: id, type: type, items: items.map { Catalogue.ItemGrant(item: $0.key, amount: $0.value) },
            entitlements: entitlements, takeBacks: takeBacks)
    }

    /// The verdicts of an act: one, or several where a large receipt comes in parts; what is claimed comes last.
    func messages(of index: Int) -> [VerdictMessage] {
        let act = acts[index]
        let id = "\(prefix)s\(index)"
        let claims = Set(act.claims ?? [])
        let transactions =
            act.transactions.filter { !claims.contains($0.transactionId) }
            + act.transactions.filter { claims.contains($0.transactionId) }
        let size = max(1, (transactions.count + act.parts - 1) / act.parts)
        let cuts = transactions.isEmpty ? [0] : Array(stride(from: 0, to: transactions.count, by: size))
        return cuts.map { start in
            let part = Array(transactions[start..<min(start + size, transactions.count)])
            let ids = Set(part.map(\.transactionId))
            let isLast = start == cuts.last
            return VerdictMessage(
                submissionId: id, app: app, account: act.poster ?? "", correlationId: "req_\(id)", attempt: 0,
                verdict: .genuine(part), claims: Claims(ids: act.claims?.filter(ids.contains)), isPartial: !isLast,
                renewals: isLast ? act.renewals : [], rescindedConsents: isLast ? act.consents : [],
                notification: act.notification.map {
                    VerdictMessage.NotificationKind(
                        type: $0, subtype: nil, uuid: id,
                        environment: transactions.first?.environment ?? act.consents.first?.environment ?? .production,
                        signedDate: act.date)
                })
        }
    }

    /// The submission that brings an act.
    func submission(of index: Int) -> SubmissionMessage {
        let act = acts[index]
        let id = "\(prefix)s\(index)"
        return SubmissionMessage(
            submissionId: id, app: app, account: act.poster ?? "", kind: act.kind, proof: "cHJvb2Y=", attempt: 0,
            correlationId: "req_\(id)")
    }
}
