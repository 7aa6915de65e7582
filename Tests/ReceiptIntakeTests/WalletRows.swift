import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import ReceiptIntake

/// Wallets with something in them, and requests to spend of it.
struct WalletRows: Sendable {
    let pool: PostgresPool

    /// An intake on a database of its own, and wallets to fill.
    static func with(
        _ body: @escaping @Sendable (TestIntake, WalletRows, TestDatabase) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                try await body(intake, WalletRows(pool: database.pool), database)
            }
        }
    }

    static func customer(
        _ account: String, app: String = TestIntake.app, environment: StoreEnvironment = .production
    ) -> Customer {
        Customer(environment: environment, app: app, account: Account(stored: account))
    }

    /// An order that brings items, as fulfillment posts it.
    func grant(
        _ items: [(item: String, amount: Int64)], to account: String, order: String, app: String = TestIntake.app,
        environment: StoreEnvironment = .production
    ) async throws {
        try await pool.withTransaction { connection in
            try await Self.grant(
                items, to: Self.customer(account, app: app, environment: environment), order: order, on: connection)
        }
    }

    @inline(never)
    static func grant(
        _ items: [(item: String, amount: Int64)], to customer: Customer, order: String,
        on connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            """
            WITH new AS (
                INSERT INTO orders (environment, transaction_id, state, account, app, product_id, product_type, quantity,
                    original_transaction_id, purchase_date, signed_date, submission_id, correlation_id, granted_at,
                    transaction)
                VALUES ($1, $2, 'granted', $3, $4, 'gems', 'consumable', 1, $2, now(), now(), 's', 'c', now(), '{}')
                RETURNING environment, transaction_id, submission_id
            )
            INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
            SELECT environment, transaction_id, transaction_id, submission_id FROM new
            """,
            [.text(customer.environment.rawValue), .text(order), .text(customer.account.text), .text(customer.app)])
        try await post(items, because: { .grant($0) }, to: customer, order: order, on: connection)
    }

    /// Takes back what an order brought, below zero where the policy says so.
    func takeBack(_ items: [(item: String, amount: Int64)], from account: String, order: String) async throws {
        try await pool.withTransaction { connection in
            try await Self.post(
                items.map { ($0.item, -$0.amount) }, because: { .revocation($0) }, to: Self.customer(account),
                order: order, on: connection)
        }
    }

    @inline(never)
    private static func post(
        _ items: [(item: String, amount: Int64)], because cause: (OrderKey) -> LedgerStore.Cause,
        to customer: Customer, order: String, on connection: PostgresConnection
    ) async throws {
        let key = OrderKey(environment: customer.environment, transactionId: order)
        try await LedgerStore.post(
            items.enumerated().map { index, item in
                LedgerStore.Entry(
                    cause: cause(key), sequence: Int32(index + 1), customer: customer, item: item.item,
                    amount: item.amount)
            }, on: connection)
    }

    func balance(_ item: String, of account: String, environment: String = "production") async throws -> Int64? {
        let result = try await pool.query(
            "SELECT amount FROM balances WHERE account = $1 AND app = $2 AND environment = $3 AND item = $4",
            [.text(account), .text(TestIntake.app), .text(environment), .text(item)])
        return try result.rows.first?.decode("amount")
    }

    func count(_ table: String) async throws -> Int {
        let result = try await pool.query("SELECT count(*) AS n FROM \(unescaped: table)")
        return try Int(#require(result.rows.first).decode("n", as: Int64.self))
    }

    /// Returns once so many statements wait for a lock.
    func untilWaiting(_ count: Int) async throws {
        while true {
            let result = try await pool.query(
                """
                SELECT count(*) AS n FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """)
            if try #require(result.rows.first).decode("n", as: Int64.self) >= Int64(count) { return }
            await Task.yield()
        }
    }
}

extension TestIntake {
    /// A body that spends.
    static func spending(
        _ items: [(item: String, amount: Int64)], reference: String? = nil, environment: String? = nil,
        app: String = TestIntake.app
    ) throws -> String {
        var fields: [String: Any] = [
            "app": app, "items": items.map { ["item": $0.item, "amount": $0.amount] as [String: Any] },
        ]
        fields["reference"] = reference
        fields["environment"] = environment
        return String(decoding: try JSONSerialization.data(withJSONObject: fields), as: UTF8.self)
    }

    /// Spends.
    func spend(
        _ items: [(item: String, amount: Int64)], of account: String = "player-1", key: String,
        reference: String? = nil, environment: String? = nil
    ) async throws -> Answer {
        try await spend(
            body: try Self.spending(items, reference: reference, environment: environment), of: account, key: key)
    }

    /// Posts a body to be spent; without a header where the key is nil.
    func spend(
        body: String, of account: String = "player-1", key: String?, token: String? = TestIntake.serverKey
    ) async throws -> Answer {
        var headers: HTTPFields = [:]
        if let key { headers[.idempotencyKey] = key }
        return try await send(.post, "/v1/accounts/\(account)/spend", token: token, body: body, headers: headers)
    }
}
