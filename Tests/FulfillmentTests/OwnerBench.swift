import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel
import Synchronization
import Testing

@testable import Fulfillment

/// What tests of owners share: what can be restored, what Apple says of it, and who has it, as text.
extension Bench {
    /// A pass for ever, a season's pass that grants items, and gems, under a restore rule.
    static func restorable(_ rule: RestoreRule) -> Catalogue {
        Catalogue([
            app: [
                Catalogue.Product(
                    id: "gems.100", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 100)],
                    entitlements: []),
                Catalogue.Product(
                    id: "pro", type: .nonConsumable, items: [Catalogue.ItemGrant(item: "gem", amount: 7)],
                    entitlements: ["pro"], restore: rule),
                Catalogue.Product(
                    id: "vip", type: .autoRenewable, items: [Catalogue.ItemGrant(item: "gem", amount: 10)],
                    entitlements: ["vip"], restore: rule),
            ]
        ])
    }

    /// Fulfillment of products under a restore rule, on a database of its own, in the middle of the first season.
    static func withOwners(
        _ rule: RestoreRule = .keep, _ body: (Bench) async throws -> Void
    ) async throws {
        try await with { bench in
            var bench = bench
            bench.products = restorable(rule)
            bench.now = { day(15) }
            try await body(bench)
        }
    }

    /// A day after the beginning of the first season.
    static func day(_ number: Double) -> Date { Date(timeIntervalSince1970: 1_700_000_000 + number * 86_400) }

    /// A season of thirty days as Apple signs it; all seasons are one lineage.
    static func season(
        _ number: Int, lineage: String = "v", token: UUID? = nil, signed: Double = 0
    ) -> Transaction {
        var transaction = Self.signed("\(lineage)\(number)", product: "vip", token: token)
        transaction.originalTransactionId = "\(lineage)1"
        transaction.productType = .autoRenewable
        transaction.purchaseDate = day(Double(number - 1) * 30)
        transaction.expiresDate = day(Double(number) * 30)
        transaction.signedDate = day(Double(number - 1) * 30 + signed)
        return transaction
    }

    /// Settles one proof of an account, which its device had Apple sign just now.
    func post(_ id: String, _ transactions: Transaction..., by account: String) async throws {
        let signed = signatures.resigned(transactions)
        try await settle([try await verdict(id, .genuine(signed), account: account)])
    }

    /// Settles one server notification of Apple's.
    func notify(_ id: String, _ transactions: Transaction...) async throws {
        try await settle([try await notification(id, transactions)])
    }

    /// The verdict on a server notification of Apple's.
    func notification(_ id: String, _ transactions: [Transaction]) async throws -> VerdictMessage {
        var message = try await verdict(id, .genuine(transactions), account: "")
        message.notification = VerdictMessage.NotificationKind(type: "DID_RENEW", subtype: nil, uuid: id)
        return message
    }

    /// Says that a new token is an account's.
    func token(of account: String) async throws -> UUID {
        let token = UUID()
        _ = try await AccountTokenStore(pool: pool).register(app: Self.app, token: token, account: account)
        return token
    }

    /// Texts out of the database, in the order of the query.
    func answers(_ sql: String) async throws -> [String] {
        try await pool.query("SELECT (t)::text AS t FROM (\(unescaped: sql)) AS asked (t)").rows.map {
            try $0.decode("t")
        }
    }

    /// `account cause` of a lineage.
    func owner(of lineage: String) async throws -> String? {
        try await answers(
            """
            SELECT concat_ws(' ', coalesce(account, '-'), cause) FROM lineages
            WHERE original_transaction_id = '\(lineage)'
            """
        ).first
    }

    /// Every binding of a lineage, oldest first: `from>to cause policy submission`.
    func bindings(of lineage: String) async throws -> [String] {
        try await answers(
            """
            SELECT concat_ws(' ', coalesce(from_account, '') || '>' || to_account, cause, policy, submission_id)
            FROM binding_history WHERE original_transaction_id = '\(lineage)' ORDER BY id
            """)
    }

    /// Entitlements that are in force at the bench's time: `account entitlement transaction`.
    func inForce() async throws -> [String] {
        let now = now().timeIntervalSince1970
        return try await answers(
            """
            SELECT concat_ws(' ', account, entitlement, transaction_id) FROM entitlements
            WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > to_timestamp(\(now)))
            ORDER BY account, transaction_id, entitlement
            """)
    }

    /// What an account was told of owners: `type from>to entitlements`, oldest first.
    func tellings(to account: String) async throws -> [String] {
        try await answers(
            """
            SELECT concat_ws(' ', type, body::jsonb #>> '{data,binding,from}' || '>' ||
                (body::jsonb #>> '{data,binding,to}'), body::jsonb #>> '{data,entitlements}')
            FROM events WHERE account = '\(account)' AND type LIKE 'iap.customer.%' ORDER BY sequence
            """)
    }

    /// How many gems an account got, and has.
    func gems(of account: String) async throws -> Int64 {
        try await number("SELECT coalesce(sum(amount), 0) FROM balances WHERE account = '\(account)'")
    }
}
