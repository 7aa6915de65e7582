import Postgres
import PurchaseModel

/// What an account has and had: ledger, balances, spends, entitlements, subscriptions.
extension ForgettingStore {
    /// Entries and balances move together, so that balances equal entries at every moment.
    static func forgetLedger(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        // Whoever spends holds a balance: its entries are seen by the next look.
        _ = try await connection.query(
            """
            SELECT FROM balances WHERE account IN (\(request.account), \(request.pseudonym)) AND app = \(request.app)
            ORDER BY account, app, environment, item FOR UPDATE
            """)
        changed["ledger_entries"] = try await rows(
            """
            WITH moved AS (
                UPDATE ledger_entries SET account = \(request.pseudonym) WHERE id = ANY(\(traces.entries))
                    AND account = \(request.account) AND app = \(request.app)
                RETURNING environment, item, amount
            ), sums AS (
                SELECT environment, item, sum(amount)::int8 AS amount FROM moved GROUP BY 1, 2
            ), given AS (
                INSERT INTO balances AS b (environment, app, account, item, amount)
                SELECT environment, \(request.app), account, item, amount FROM (
                    SELECT environment, \(request.account) AS account, item, -amount AS amount FROM sums
                    UNION ALL SELECT environment, \(request.pseudonym), item, amount FROM sums) both_sides
                ORDER BY account, environment, item
                ON CONFLICT (account, app, environment, item) DO UPDATE SET amount = b.amount + excluded.amount
            )
            SELECT FROM moved
            """, on: connection)
        changed["balances"] = try await rows(
            """
            WITH gone AS (
                DELETE FROM balances WHERE account = \(request.account) AND app = \(request.app)
                    AND amount = 0 RETURNING environment, item
            ), given AS (
                INSERT INTO balances AS b (environment, app, account, item, amount)
                SELECT environment, \(request.app), \(request.pseudonym), item, 0 FROM gone ORDER BY environment, item
                ON CONFLICT (account, app, environment, item) DO NOTHING
            )
            SELECT FROM gone
            """, on: connection)
        // The studio's own names of a request and of what was bought may name the player.
        changed["spends"] = try await rows(
            """
            UPDATE spends SET account = \(request.pseudonym), idempotency_key = 'forgotten-' || id,
                request_sha256 = '', reference = NULL
            WHERE id IN (SELECT id FROM spends WHERE account = \(request.account) AND app = \(request.app)
                AND created_at <= \(moment(request))
                ORDER BY id LIMIT \(Limit.rows))
            """, on: connection)
    }

    static func forgetRights(
        of request: ForgetRequestStore.Due, _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        changed["entitlements"] = try await rows(
            """
            WITH gone AS (
                DELETE FROM entitlements WHERE (account, app, environment, entitlement, transaction_id) IN (
                    SELECT account, app, environment, entitlement, transaction_id FROM entitlements
                    WHERE account = \(request.account) AND app = \(request.app)
                        -- Fulfillment gives nothing by the name meanwhile; a person may.
                        AND (audit_id IS NULL OR granted_at <= \(moment(request))) LIMIT \(Limit.rows))
                RETURNING *
            ), renamed AS (
                INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, granted_at, expires_at,
                    revoked_at, revoked_because, end_told_at, audit_id)
                SELECT environment, app, \(request.pseudonym), entitlement, transaction_id, granted_at, expires_at, revoked_at,
                    revoked_because, end_told_at, audit_id
                FROM gone ON CONFLICT DO NOTHING
            )
            SELECT FROM gone
            """, on: connection)
        changed["subscriptions"] = try await rows(
            """
            UPDATE subscriptions SET account = \(request.pseudonym) WHERE (environment, original_transaction_id) IN (
                SELECT environment, original_transaction_id FROM subscriptions WHERE account = \(request.account)
                    AND app = \(request.app)
                ORDER BY 1, 2 LIMIT \(Limit.rows) FOR UPDATE)
            """, on: connection)
    }
}
