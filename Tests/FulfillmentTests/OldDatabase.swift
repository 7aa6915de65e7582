import Foundation
import Messages
import Postgres
import PurchaseModel

@testable import Persistence

/// A database as the version before owners and subscriptions (migration 3) left it, or the one before an order was a
/// purchase (migration 5).
struct OldDatabase: Sendable {
    private static let version: Int64 = 3

    let pool: PostgresPool

    /// Begins anew, at the old schema.
    func create() async throws {
        try await pool.withTransaction { connection in
            try await connection.executeScript(
                """
                DROP SCHEMA public CASCADE;
                CREATE SCHEMA public;
                CREATE TABLE schema_migrations (
                    version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())
                """)
            try await Self.migrate(from: 0, to: Self.version, on: connection)
            // Of Apple's servers: nobody waits for it.
            _ = try await connection.query(
                """
                INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof, state, settled_at,
                    outcome)
                VALUES ('sub_old', $1, '', 'server_notification', '', 'req_old', 'x', 'fulfilled', now(), '{}')
                """, [.text(Bench.app)])
        }
    }

    /// Has the version before an order was a purchase (migration 5) go on with it.
    func advance() async throws {
        try await pool.withTransaction { try await Self.migrate(from: Self.version, to: 5, on: $0) }
    }

    private static func migrate(from: Int64, to: Int64, on connection: PostgresConnection) async throws {
        for migration in Migrator.migrations where (from + 1...to).contains(migration.version) {
            try await connection.executeScript(migration.sql)
            _ = try await connection.query(
                "INSERT INTO schema_migrations (version, name) VALUES ($1, $2)",
                [.int8(migration.version), .text(migration.name)])
        }
    }

    /// Writes what migration 5's version wrote when Apple refunded one id: all it had brought is taken, and told.
    func refund(_ transaction: Transaction, of account: String, items: [Catalogue.ItemGrant] = []) async throws {
        var refunded = transaction
        refunded.signedDate += 1000
        refunded.revocationDate = refunded.signedDate
        let id = PostgresValue.text(refunded.transactionId)
        let customer = Customer(environment: .production, app: Bench.app, account: Account(stored: account))
        let statement = refunded
        try await pool.withTransaction { connection in
            _ = try await connection.query(
                """
                UPDATE orders SET state = 'revoked', reason = 'revoked_by_apple', revoked_at = now(),
                    revocation_date = $2, signed_date = $3, transaction = $4 WHERE transaction_id = $1
                """,
                [
                    id, .timestamptz(statement.revocationDate), .timestamptz(statement.signedDate),
                    .jsonb(String(decoding: try MessageCoding.encode(statement), as: UTF8.self)),
                ])
            _ = try await connection.query(
                """
                UPDATE entitlements SET revoked_at = now(), revoked_because = 'refund' WHERE transaction_id = $1
                """, [id])
            _ = try await connection.query(
                """
                UPDATE subscriptions SET state = 'revoked', due_at = NULL,
                    standing = jsonb_set(standing, '{state}', '"revoked"') WHERE transaction_id = $1
                """, [id])
            try await LedgerStore.post(
                items.enumerated().map { index, item in
                    LedgerStore.Entry(
                        cause: .revocation(
                            OrderKey(environment: .production, transactionId: statement.transactionId)),
                        sequence: Int32(index + 1), customer: customer, item: item.item, amount: -item.amount)
                }, on: connection)
            try await Self.hideOutbox(on: connection)
            _ = try await EventStore.write(
                [
                    EventDraft(
                        type: PurchaseEvent.refundGranted, environment: .production, app: Bench.app,
                        account: customer.account, correlationId: "req_old",
                        payload: PurchaseEvent.Payload(
                            transaction: statement, state: .revoked, reason: .revokedByApple,
                            entries: items.map { Catalogue.ItemGrant(item: $0.item, amount: -$0.amount) }))
                ], lease: .seconds(30), on: connection)
            try await Self.moveTimes(on: connection)
        }
    }

    /// Writes all that the older version wrote of a purchase that it granted.
    func grant(
        _ transaction: Transaction, to account: String, items: [Catalogue.ItemGrant] = [],
        entitlements: [String] = [], until: Date? = nil
    ) async throws {
        try await hold(transaction, .granted, nil, account: account)
        let environment = transaction.environment ?? .production
        let customer = Customer(environment: environment, app: transaction.bundleId, account: Account(stored: account))
        try await pool.withTransaction { connection in
            for (index, item) in items.enumerated() {
                _ = try await connection.query(
                    """
                    WITH entry AS (
                        INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount)
                        VALUES ($1, $2, 'grant', $3, $4, $5, $6, $7) RETURNING *
                    )
                    INSERT INTO balances (environment, app, account, item, amount)
                    SELECT environment, app, account, item, amount FROM entry
                    ON CONFLICT (account, app, environment, item)
                        DO UPDATE SET amount = balances.amount + excluded.amount
                    """,
                    [
                        .text(environment.rawValue), .text(transaction.transactionId), .int4(Int32(index + 1)),
                        .text(transaction.bundleId), .text(account), .text(item.item), .int8(item.amount),
                    ])
            }
            _ = try await connection.query(
                """
                INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, expires_at)
                SELECT $1, $2, $3, entitlement, $4, $5 FROM unnest($6::text[]) AS entitlement
                """,
                [
                    .text(environment.rawValue), .text(transaction.bundleId), .text(account),
                    .text(transaction.transactionId), .timestamptz(until ?? transaction.expiresDate),
                    .textArray(entitlements),
                ])
            let sequence = try await EventStore.reserveSequences([customer: 1], on: connection)[customer] ?? 0
            let event = PurchaseEvent(
                id: "evt_000000000000_\(environment.rawValue)_\(transaction.transactionId)",
                type: PurchaseEvent.fulfilled,
                timestamp: Date(), environment: environment, app: transaction.bundleId,
                customer: PurchaseEvent.Customer(
                    id: account, sequence: sequence, token: transaction.appAccountToken),
                correlationId: "req_old",
                data: PurchaseEvent.Payload(
                    transaction: transaction, state: .granted, entries: items, entitlements: entitlements))
            try await Self.hideOutbox(on: connection)
            _ = try await EventStore.insert([event], lease: .seconds(30), on: connection)
            try await Self.moveTimes(on: connection)
        }
    }

    /// Lets today's store write events here, where there is no outbox yet.
    private static func hideOutbox(on connection: PostgresConnection) async throws {
        try await connection.executeScript(
            """
            CREATE TEMPORARY TABLE event_outbox (event_id text, due_at timestamptz, attempts integer DEFAULT 0)
            ON COMMIT DROP
            """)
    }

    /// Puts the times where the older version has them.
    private static func moveTimes(on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            "UPDATE events SET due_at = new.due_at FROM event_outbox new WHERE new.event_id = events.id")
    }

    /// Writes an order that brought nothing, or nothing yet.
    func hold(
        _ transaction: Transaction, _ state: OrderState, _ reason: ReasonCode?, account: String?
    ) async throws {
        var transaction = transaction
        transaction.revocationDate = state == .revoked ? transaction.signedDate : nil
        let environment = transaction.environment ?? .production
        _ = try await pool.query(
            """
            INSERT INTO orders (environment, transaction_id, state, reason, account, app, product_id, product_type,
                quantity, original_transaction_id, purchase_date, expires_date, revocation_date, signed_date,
                app_account_token, price_milliunits, currency, storefront, submission_id, correlation_id, transaction,
                granted_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $10, $11, $12, $13, $14, $15, $16, $17, 'sub_old', 'req_old',
                $18::jsonb, CASE WHEN $3 = 'granted' THEN now() END)
            """,
            [
                .text(environment.rawValue), .text(transaction.transactionId), .text(state.rawValue),
                .text(reason?.rawValue), .text(account), .text(transaction.bundleId), .text(transaction.productId),
                .text(transaction.productType.rawValue), .text(transaction.originalTransactionId),
                .timestamptz(transaction.purchaseDate), .timestamptz(transaction.expiresDate),
                .timestamptz(transaction.revocationDate), .timestamptz(transaction.signedDate),
                .uuid(transaction.appAccountToken), .int8(transaction.priceMilliunits), .text(transaction.currency),
                .text(transaction.storefront),
                .jsonb(String(decoding: try MessageCoding.encode(transaction), as: UTF8.self)),
            ])
    }
}
