import Postgres
import PurchaseModel

/// What an account has and had: ledger, balances, spends, entitlements, subscriptions.
extension ForgettingStore {
    /// Entries and balances move together, so that balances equal entries at every moment.
    static func forgetLedger(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        let names = names(request)
        // Whoever spends holds a balance: its entries are seen by the next look.
        _ = try await connection.query(
            """
            SELECT 1 AS one FROM balances WHERE account IN ($1, $3) AND app = $2
            ORDER BY account, app, environment, item FOR UPDATE
            """, names)
        changed["ledger_entries"] = try await rows(
            """
            WITH moved AS (
                UPDATE ledger_entries SET account = $3 WHERE id = ANY($4) AND account = $1 AND app = $2
                RETURNING environment, item, amount
            ), sums AS (
                SELECT environment, item, sum(amount)::int8 AS amount FROM moved GROUP BY 1, 2
            ), given AS (
                INSERT INTO balances AS b (environment, app, account, item, amount)
                SELECT environment, $2, account, item, amount FROM (
                    SELECT environment, $1 AS account, item, -amount AS amount FROM sums
                    UNION ALL SELECT environment, $3, item, amount FROM sums) both_sides
                ORDER BY account, environment, item
                ON CONFLICT (account, app, environment, item) DO UPDATE SET amount = b.amount + excluded.amount
            )
            SELECT 1 AS one FROM moved
            """, names + [.int8Array(traces.entries)], on: connection)
        changed["balances"] = try await rows(
            """
            WITH gone AS (
                DELETE FROM balances WHERE account = $1 AND app = $2 AND amount = 0 RETURNING environment, item
            ), given AS (
                INSERT INTO balances AS b (environment, app, account, item, amount)
                SELECT environment, $2, $3, item, 0 FROM gone ORDER BY environment, item
                ON CONFLICT (account, app, environment, item) DO NOTHING
            )
            SELECT 1 AS one FROM gone
            """, names, on: connection)
        // The studio's own names of a request and of what was bought may name the player.
        changed["spends"] = try await rows(
            """
            UPDATE spends SET account = $3, idempotency_key = 'forgotten-' || id, request_sha256 = '', reference = NULL
            WHERE id IN (SELECT id FROM spends WHERE account = $1 AND app = $2 AND created_at <= \(moment(4))
                ORDER BY id LIMIT \(Limit.rows))
            RETURNING 1 AS one
            """, names + [.text(request.id)], on: connection)
    }

    static func forgetRights(
        of request: ForgetRequestStore.Due, _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        let names = names(request)
        changed["entitlements"] = try await rows(
            """
            WITH gone AS (
                DELETE FROM entitlements WHERE (account, app, environment, entitlement, transaction_id) IN (
                    SELECT account, app, environment, entitlement, transaction_id FROM entitlements
                    WHERE account = $1 AND app = $2 LIMIT \(Limit.rows))
                RETURNING *
            ), renamed AS (
                INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, granted_at, expires_at,
                    revoked_at, revoked_because, end_told_at)
                SELECT environment, app, $3, entitlement, transaction_id, granted_at, expires_at, revoked_at,
                    revoked_because, end_told_at
                FROM gone ON CONFLICT DO NOTHING
            )
            SELECT 1 AS one FROM gone
            """, names, on: connection)
        changed["subscriptions"] = try await rows(
            """
            UPDATE subscriptions SET account = $3 WHERE (environment, original_transaction_id) IN (
                SELECT environment, original_transaction_id FROM subscriptions WHERE account = $1 AND app = $2
                ORDER BY 1, 2 LIMIT \(Limit.rows) FOR UPDATE)
            RETURNING 1 AS one
            """, names, on: connection)
    }
}
