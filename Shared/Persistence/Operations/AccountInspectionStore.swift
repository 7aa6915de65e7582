package import Postgres
package import PurchaseModel

/// What an operator is shown of an account: what it bought and has, what waits, and what was refused.
package struct AccountInspectionStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Gathers it by indexes; proofs and bodies of events are left out.
    ///
    /// - Parameters:
    ///   - app: a bundle id; every app that knows the name without it.
    ///   - limit: the most rows of each list, the newest. `counts` says how many there are.
    /// - Returns: a JSON object of lists, named and with columns as those of `InspectionStore`; beside them `counts`,
    ///   `account_tokens`, `purchase_intents`, `shares`, `spends` and `consents`. Of submissions those alone that are not
    ///   fulfilled, and of deliveries those that did not arrive.
    /// - Throws: `PostgresError`.
    package func inspect(_ account: Account, app: String?, limit: Int) async throws -> String {
        try await pool.withTransaction { connection in
            try await connection.executeScript(InspectionStore.settings)
            let result = try await connection.query(Self.statement(account, app: app, limit: limit))
            return try result.rows.first?.decode(String.self) ?? "{}"
        }
    }

    private static func purchases(_ isTheirs: SQL, _ limit: Int) -> SQL {
        """
        all_orders AS (
            SELECT environment, transaction_id, state, reason, account, app, product_id, product_type, quantity,
                original_transaction_id, purchase_date, expires_date, revocation_date, revocation_type, ownership,
                transaction ->> 'bundle_field' AS bundle_field,
                revocation_percentage, revoked_at, app_account_token, price_milliunits, currency, storefront,
                submission_id, correlation_id, created_at, granted_at, granted_elsewhere, test_purchase
            FROM orders WHERE \(isTheirs)
        ), found_orders AS (
            SELECT * FROM all_orders ORDER BY purchase_date DESC LIMIT \(limit)
        ), all_submissions AS (
            SELECT id, state, reason, app, account, kind, attempts, due_at, received_at, settled_at, correlation_id,
                named_transaction_id, expected_environment, alarmed_at, 0 AS proof_bytes
            FROM submissions WHERE \(isTheirs) AND account <> ''
        ), found_submissions AS (
            SELECT * FROM all_submissions WHERE state <> 'fulfilled' ORDER BY received_at DESC LIMIT \(limit)
        ), found_calls AS (
            SELECT c.id, c.kind, c.environment, c.transaction_id, c.state, c.attempts, c.status, c.code, c.outcome,
                c.request_reason, c.deadline_at, c.body, c.created_at, c.finished_at
            FROM apple_calls c JOIN found_orders o
                ON (c.environment, c.order_transaction_id) = (o.environment, o.transaction_id)
        )
        """
    }

    private static func holdings(_ isTheirs: SQL, _ limit: Int) -> SQL {
        """
        found_balances AS (
            SELECT environment, app, account, item, amount FROM balances
            WHERE \(isTheirs) ORDER BY item LIMIT \(limit)
        ), found_entitlements AS (
            SELECT environment, app, account, entitlement, transaction_id, granted_at, expires_at, revoked_at,
                revoked_because
            FROM entitlements WHERE \(isTheirs) ORDER BY granted_at DESC LIMIT \(limit)
        ), found_subscriptions AS (
            SELECT environment, original_transaction_id, account, state, product_id, transaction_id, expires_date,
                access_until, changed_at
            FROM subscriptions WHERE \(isTheirs) ORDER BY changed_at DESC LIMIT \(limit)
        ), found_tokens AS (
            SELECT app, account, token, created_at FROM account_tokens
            WHERE \(isTheirs) ORDER BY created_at DESC LIMIT \(limit)
        ), found_intents AS (
            SELECT id, app, account, product_id, created_at FROM purchase_intents
            WHERE \(isTheirs) ORDER BY created_at DESC LIMIT \(limit)
        ), found_shares AS (
            SELECT environment, original_transaction_id, app, account, created_at FROM lineage_shares
            WHERE \(isTheirs) ORDER BY created_at DESC LIMIT \(limit)
        ), found_spends AS (
            SELECT id, environment, app, account, idempotency_key, reference, created_at FROM spends
            WHERE \(isTheirs) ORDER BY id DESC LIMIT \(limit)
        ), found_consents AS (
            SELECT app, account, consented, changed_at FROM account_consents
            WHERE \(isTheirs)
        )
        """
    }

    private static func announcements(_ isTheirs: SQL, _ limit: Int) -> SQL {
        """
        found_events AS (
            SELECT e.id, type, environment, transaction_id, app, account, sequence, o.due_at,
                coalesce(o.attempts, 0) AS attempts, created_at
            FROM (SELECT * FROM events WHERE \(isTheirs)
                ORDER BY created_at DESC LIMIT \(limit)) e
            LEFT JOIN event_outbox o ON o.event_id = e.id
        ), found_deliveries AS (
            SELECT event_id, endpoint_id, state, nullif(due_at, \(DeliveryStore.behind)) AS due_at, attempts, last_status,
                last_error, created_at, delivered_at
            FROM webhook_deliveries WHERE event_id IN (SELECT id FROM found_events) AND state <> 'delivered'
        ), counted AS (
            SELECT 'orders_' || state AS name, count(*) AS count FROM all_orders GROUP BY state
            UNION ALL SELECT 'submissions_' || state, count(*) FROM all_submissions GROUP BY state
        )
        """
    }

    static func statement(_ account: Account, app: String?, limit: Int) -> SQL {
        let account = SQL.once(account)
        let app = SQL.once(app)
        let isTheirs: SQL = "account = \(account) AND (\(app) IS NULL OR app = \(app))"
        return """
            WITH \(purchases(isTheirs, limit)), \(holdings(isTheirs, limit)), \(announcements(isTheirs, limit))
            SELECT jsonb_build_object(
                'counts', (SELECT coalesce(jsonb_object_agg(name, count), '{}') FROM counted),
                'submissions', (SELECT coalesce(jsonb_agg(s ORDER BY s.received_at), '[]') FROM found_submissions s),
                'orders', (SELECT coalesce(jsonb_agg(o ORDER BY o.purchase_date), '[]') FROM found_orders o),
                'order_transactions', '[]'::jsonb, 'purchase_conflicts', '[]'::jsonb, 'ledger_entries', '[]'::jsonb,
                'bindings', '[]'::jsonb, 'audit_log', '[]'::jsonb,
                'balances', (SELECT coalesce(jsonb_agg(b ORDER BY b.item), '[]') FROM found_balances b),
                'entitlements', (SELECT coalesce(jsonb_agg(e ORDER BY e.granted_at), '[]') FROM found_entitlements e),
                'subscriptions', (SELECT coalesce(jsonb_agg(s ORDER BY s.changed_at), '[]') FROM found_subscriptions s),
                'account_tokens', (SELECT coalesce(jsonb_agg(t ORDER BY t.created_at), '[]') FROM found_tokens t),
                'purchase_intents', (SELECT coalesce(jsonb_agg(i ORDER BY i.created_at), '[]') FROM found_intents i),
                'shares', (SELECT coalesce(jsonb_agg(s ORDER BY s.created_at), '[]') FROM found_shares s),
                'spends', (SELECT coalesce(jsonb_agg(s ORDER BY s.id), '[]') FROM found_spends s),
                'consents', (SELECT coalesce(jsonb_agg(c), '[]') FROM found_consents c),
                'events', (SELECT coalesce(jsonb_agg(e ORDER BY e.created_at, e.id), '[]') FROM found_events e),
                'deliveries', (SELECT coalesce(jsonb_agg(d ORDER BY d.created_at), '[]') FROM found_deliveries d),
                'apple_calls', (SELECT coalesce(jsonb_agg(c ORDER BY c.id), '[]') FROM found_calls c)
            )::text AS dossier
            """
    }
}
