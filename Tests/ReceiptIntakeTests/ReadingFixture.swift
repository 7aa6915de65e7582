import Foundation
import Postgres
import Testing

@testable import ReceiptIntake

/// Rows as fulfillment and notification write them, at times that a test chooses (seconds of one hour).
struct ReadingFixture: Sendable {
    static let app = TestIntake.app

    /// The query that every reading route asks for.
    static let query = "?app=\(TestIntake.app)"

    let pool: PostgresPool

    /// An intake on a database of its own, and the rows to fill it with.
    static func with(
        _ body: @escaping @Sendable (TestIntake, ReadingFixture) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                try await body(intake, ReadingFixture(pool: database.pool))
            }
        }
    }

    /// A player's own token.
    static func player(_ name: String = "player-1") throws -> String {
        try TestTokens.hs256(TestTokens.claims(name))
    }

    /// `2026-11-21T10:00:00Z` and so many seconds.
    static func time(_ second: Int) -> String { "timestamptz '2026-11-21 10:00:00Z' + \(second) * interval '1 second'" }

    /// A submission; settled when it has an outcome's state.
    func submission(
        _ id: String, account: String, kind: String = "signed_transaction", state: String = "fulfilled",
        reason: String? = nil, received: Int, settled: Int? = nil
    ) async throws {
        let isSettled = state != "received"
        let outcome = isSettled ? "{\"state\":\"\(state)\",\"finish\":true,\"transactions\":[]}" : nil
        _ = try await pool.query(
            """
            INSERT INTO submissions (id, state, due_at, app, account, kind, partition_key, correlation_id, received_at,
                settled_at, reason, outcome, proof)
            VALUES ($1, $2, \(isSettled ? "NULL" : Self.time(3600)), $3, $4, $5, 'p', 'c', \(Self.time(received)),
                \(settled.map(Self.time) ?? "NULL"), $6, $7::jsonb, 'secret proof')
            """,
            [
                .text(id), .text(state), .text(Self.app), .text(account), .text(kind), .text(reason), .jsonb(outcome),
            ])
    }

    /// An order; granted when it has a time of granting, revoked when it has one of revocation, else parked.
    func order(
        _ id: String, account: String?, environment: String = "production", product: String = "gems100",
        app: String = ReadingFixture.app, submission: String = "s1", reason: String? = nil, at second: Int,
        granted: Int? = nil, revoked: Int? = nil
    ) async throws {
        let state = granted != nil ? "granted" : revoked != nil ? "revoked" : "parked"
        _ = try await pool.query(
            """
            WITH new AS (
                INSERT INTO orders (environment, transaction_id, state, reason, account, app, product_id, product_type,
                    quantity, original_transaction_id, purchase_date, revocation_date, signed_date, price_milliunits,
                    currency, storefront, submission_id, correlation_id, created_at, granted_at, transaction)
                VALUES ($1, $2, $3, $4, $5, $6, $7, 'consumable', 1, $2, \(Self.time(second - 60)),
                    \(revoked.map(Self.time) ?? "NULL"), \(Self.time(second - 50)), 990, 'USD', 'USA', $8, 'c',
                    \(Self.time(second)), \(granted.map(Self.time) ?? "NULL"), '{}')
                RETURNING environment, transaction_id, submission_id, created_at
            )
            INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id, created_at)
            SELECT environment, transaction_id, transaction_id, submission_id, created_at FROM new
            """,
            [
                .text(environment), .text(id), .text(state), .text(reason), .text(account), .text(app), .text(product),
                .text(submission),
            ])
    }

    /// Apple gave an order's purchase another transaction id.
    func furtherId(_ id: String, of order: String, submission: String, at second: Int) async throws {
        _ = try await pool.query(
            """
            INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id, created_at)
            VALUES ('production', $1, $2, $3, \(Self.time(second)))
            """, [.text(id), .text(order), .text(submission)])
    }

    /// Says that a submission named an order.
    func link(_ submission: String, _ order: String) async throws {
        _ = try await pool.query(
            """
            INSERT INTO submission_transactions (environment, transaction_id, submission_id)
            VALUES ('production', $1, $2)
            """, [.text(order), .text(submission)])
    }

    /// What an order gave: a line of the ledger, and the balance.
    func credit(_ amount: Int64, _ item: String, to account: String, for order: String, at second: Int) async throws {
        _ = try await pool.query(
            """
            INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount, created_at)
            VALUES ('production', $1, 'grant', 1, $2, $3, $4, $5, \(Self.time(second)))
            """, [.text(order), .text(Self.app), .text(account), .text(item), .int8(amount)])
        _ = try await pool.query(
            """
            INSERT INTO balances (environment, app, account, item, amount) VALUES ('production', $1, $2, $3, $4)
            ON CONFLICT (account, app, environment, item) DO UPDATE SET amount = balances.amount + excluded.amount
            """, [.text(Self.app), .text(account), .text(item), .int8(amount)])
    }

    /// An entitlement that ends so many seconds from the database's now; nil for ever.
    func entitle(
        _ account: String, to entitlement: String, by order: String, endsIn seconds: Int?,
        environment: String = "production"
    ) async throws {
        _ = try await pool.query(
            """
            INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, granted_at, expires_at)
            VALUES ($1, $2, $3, $4, $5, \(Self.time(60)), now() + $6 * interval '1 second')
            """,
            [
                .text(environment), .text(Self.app), .text(account), .text(entitlement), .text(order),
                .int8(seconds.map(Int64.init)),
            ])
    }

    /// An account's newest event has this number from now on.
    func setVersion(
        _ version: Int64, of account: String, app: String = ReadingFixture.app, environment: String = "production"
    ) async throws {
        _ = try await pool.query(
            """
            INSERT INTO account_sequences (environment, app, account, last_sequence) VALUES ($1, $2, $3, $4)
            ON CONFLICT (account, app, environment) DO UPDATE SET last_sequence = excluded.last_sequence
            """, [.text(environment), .text(app), .text(account), .int8(version)])
    }

    /// An event about an order, with how one endpoint was told.
    func event(
        _ id: String, _ type: String, of order: String, account: String?, sequence: Int64?, reason: String? = nil,
        at second: Int, delivered: Int? = nil, attempts: Int32 = 1
    ) async throws {
        let body = reason.map { "{\"data\":{\"reason\":\"\($0)\"}}" } ?? "{\"data\":{}}"
        _ = try await pool.query(
            """
            INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, created_at,
                body) VALUES ($1, $2, 'production', $3, $4, $5, $6, 'p', \(Self.time(second)), $7)
            """,
            [
                .text(id), .text(type), .text(Self.app), .text(account), .int8(sequence), .text(order), .text(body),
            ])
        _ = try await pool.query(
            """
            INSERT INTO webhook_deliveries (event_id, endpoint_id, state, due_at, attempts, last_status, last_error,
                created_at, delivered_at)
            VALUES ($1, 'backend', $2, \(delivered == nil ? Self.time(3600) : "NULL"), $3, 503, 'https://inner.example',
                \(Self.time(second)), \(delivered.map(Self.time) ?? "NULL"))
            """, [.text(id), .text(delivered == nil ? "pending" : "delivered"), .int4(attempts)])
    }

    /// The story of one purchase of 100 gems that was first parked, then granted; two accounts posted it.
    func storyOfOneOrder() async throws {
        try await submission("s1", account: "player-1", received: 10, settled: 100)
        try await submission(
            "s2", account: "player-2", state: "rejected", reason: "belongs_to_another_account", received: 150,
            settled: 160)
        try await order("2000001", account: "player-1", at: 20, granted: 100)
        try await link("s1", "2000001")
        try await link("s2", "2000001")
        try await credit(100, "gem", to: "player-1", for: "2000001", at: 100)
        try await entitle("player-1", to: "vip", by: "2000001", endsIn: nil)
        try await event(
            "evt_1", "iap.transaction.unclaimed", of: "2000001", account: "player-1", sequence: 1,
            reason: "product_unknown", at: 20, delivered: 30)
        try await event(
            "evt_2", "iap.transaction.fulfilled", of: "2000001", account: "player-1", sequence: 2, at: 100,
            delivered: 130, attempts: 2)
        try await setVersion(2, of: "player-1")
    }
}
