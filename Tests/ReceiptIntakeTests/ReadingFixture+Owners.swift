import Foundation
import Messages
import Postgres

@testable import PurchaseModel
@testable import ReceiptIntake

/// Rows of owners, subscriptions and of what was taken back.
extension ReadingFixture {
    /// Apple took an order back after it had been granted.
    func takeBack(
        _ order: String, type: String?, percentage: Int64? = nil, revoked second: Int, heard: Int
    ) async throws {
        _ = try await pool.query(
            """
            UPDATE orders SET state = 'revoked', reason = 'revoked_by_apple', revocation_date = \(Self.time(second)),
                revoked_at = \(Self.time(heard)), revocation_type = $2, revocation_percentage = $3
            WHERE transaction_id = $1
            """, [.text(order), .text(type), .int8(percentage)])
    }

    /// A line of the ledger of any kind, and the balance.
    func post(
        _ kind: String, _ amount: Int64, _ item: String, account: String, for order: String, at second: Int
    ) async throws {
        _ = try await pool.query(
            """
            INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount, created_at)
            VALUES ('production', $1, $2, 1, $3, $4, $5, $6, \(Self.time(second)))
            """,
            [.text(order), .text(kind), .text(Self.app), .text(account), .text(item), .int8(amount)])
        _ = try await pool.query(
            """
            INSERT INTO balances (environment, app, account, item, amount) VALUES ('production', $1, $2, $3, $4)
            ON CONFLICT (account, app, environment, item) DO UPDATE SET amount = balances.amount + excluded.amount
            """, [.text(Self.app), .text(account), .text(item), .int8(amount)])
    }

    /// An entitlement is taken back.
    func endEntitlement(of account: String, by order: String, because cause: String, at second: Int) async throws {
        _ = try await pool.query(
            """
            UPDATE entitlements SET revoked_at = \(Self.time(second)), revoked_because = $3
            WHERE account = $1 AND transaction_id = $2
            """, [.text(account), .text(order), .text(cause)])
    }

    /// A line of a lineage's history, and the order's account where it moves.
    func bind(
        _ lineage: String, from: String?, to: String, cause: String, policy: String? = nil, at second: Int
    ) async throws {
        _ = try await pool.query(
            """
            INSERT INTO binding_history (environment, original_transaction_id, app, from_account, to_account, cause, policy,
                submission_id, created_at)
            VALUES ('production', $1, $2, $3, $4, $5, $6, $7, \(Self.time(second)))
            """,
            [
                .text(lineage), .text(Self.app), .text(from), .text(to), .text(cause), .text(policy),
                .text("by \(second)"),
            ])
        guard cause != "share" else {
            _ = try await pool.query(
                """
                INSERT INTO lineage_shares (environment, original_transaction_id, app, account)
                VALUES ('production', $1, $2, $3)
                """, [.text(lineage), .text(Self.app), .text(to)])
            return
        }
        for table in ["orders", "subscriptions"] {
            _ = try await pool.query(
                "UPDATE \(table) SET account = $2 WHERE original_transaction_id = $1", [.text(lineage), .text(to)])
        }
        _ = try await pool.query(
            "UPDATE entitlements SET account = $2 WHERE transaction_id = $1", [.text(lineage), .text(to)])
    }

    /// An operator's word whose an order is.
    func claim(_ order: String, for account: String, actor: String, reason: String, at second: Int) async throws {
        _ = try await pool.query(
            """
            WITH noted AS (
                INSERT INTO audit_log (actor, action, subject, reason, created_at)
                VALUES ($1, 'claim', $2, $3, \(Self.time(second))) RETURNING id
            )
            INSERT INTO operator_claims (audit_id, environment, transaction_id, account, due_at, created_at)
            SELECT id, 'production', $2, $4, NULL, \(Self.time(second)) FROM noted
            """, [.text(actor), .text(order), .text(reason), .text(account)])
    }

    /// Where a subscription stands; as fulfillment writes it.
    func subscription(
        _ lineage: String, of account: String?, _ state: SubscriptionState = .active, ends second: Int = 3600,
        app: String = ReadingFixture.app, environment: String = "production",
        _ change: (inout SubscriptionStanding) -> Void = { _ in }
    ) async throws {
        let start = Date(timeIntervalSince1970: 1_795_255_200)
        let end = start.addingTimeInterval(Double(second))
        var standing = SubscriptionStanding(
            originalTransactionId: lineage, transactionId: lineage, productId: "pass.monthly", state: state,
            purchaseDate: start, expiresDate: end)
        change(&standing)
        let json = String(decoding: try MessageCoding.encode(standing), as: UTF8.self)
        _ = try await pool.query(
            """
            INSERT INTO subscriptions (environment, original_transaction_id, app, account, state, product_id,
                transaction_id, expires_date, access_until, changed_at, standing)
            VALUES ($1, $2, $3, $4, $5, 'pass.monthly', $2, $6, $6, \(Self.time(200)), $7)
            """,
            [
                .text(environment), .text(lineage), .text(app), .text(account), .text(state.rawValue),
                .timestamptz(end), .jsonb(json),
            ])
    }

    /// A subscription of 2000050 with everything that can be said of an order: bought by player-1, transferred to
    /// player-2, shared with player-3, refunded in part, given back.
    func storyOfAChequeredLife() async throws {
        try await submission("s5", account: "player-1", received: 10, settled: 20)
        try await submission("n5", account: "", kind: "server_notification", received: 200, settled: 210)
        try await order("2000050", account: "player-1", product: "pass.monthly", submission: "s5", at: 20, granted: 20)
        _ = try await pool.query("INSERT INTO catalogues (sha256, content) VALUES ('5', '')")
        _ = try await pool.query(
            """
            UPDATE orders SET product_type = 'auto_renewable', ownership = 'PURCHASED', is_price_expected = false,
                catalogue_version = (SELECT max(version) FROM catalogues) WHERE transaction_id = '2000050'
            """)
        try await link("s5", "2000050")
        try await link("n5", "2000050")
        try await credit(100, "gem", to: "player-1", for: "2000050", at: 20)
        try await entitle("player-1", to: "pass", by: "2000050", endsIn: 3600)
        try await subscription("2000050", of: "player-1") { standing in
            standing.willRenew = true
            standing.renewalProductId = "pass.yearly"
        }
        try await bind("2000050", from: nil, to: "player-1", cause: "possession", at: 20)
        try await bind("2000050", from: "player-1", to: "player-2", cause: "transfer", policy: "transfer", at: 120)
        try await bind("2000050", from: "player-2", to: "player-3", cause: "share", policy: "share", at: 130)
        try await entitle("player-3", to: "pass", by: "2000050", endsIn: 3600)
        try await claim("2000050", for: "player-2", actor: "alice", reason: "her e-mail of Monday", at: 140)
        try await takeBack("2000050", type: "REFUND_PRORATED", percentage: 50_000, revoked: 190, heard: 200)
        try await post("revocation", -50, "gem", account: "player-1", for: "2000050", at: 200)
        try await endEntitlement(of: "player-2", by: "2000050", because: "refund", at: 200)
        try await event(
            "evt_5", "iap.refund.granted", of: "2000050", account: "player-2", sequence: 1, at: 200, delivered: 201)
    }
}
