package import Postgres

/// Everything that is known about one submission, transaction or event, gathered from all tables for an operator.
package struct InspectionStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Looks up a submission's id, an event's id, or any of Apple's transaction ids of an order, in either environment.
    ///
    /// A transaction that nothing is known of yet but that an app asked about by its id is found by those submissions, and so
    /// is an order id of Apple's e-mail.
    ///
    /// It is one statement, so all parts are of the same moment. Proofs and event bodies are left out: they hold signed
    /// data, and whatever a person needs of them is in columns.
    ///
    /// - Returns: a JSON object of lists, each named for its table and with columns as keys (`submissions`, `orders`,
    ///   `order_transactions`, `purchase_conflicts`, `ledger_entries`, `balances`, `entitlements`, `bindings`,
    ///   `subscriptions`, `events`, `deliveries`, `audit_log`); nil when no table knows the id.
    /// - Throws: `PostgresError`.
    package func inspect(_ id: String) async throws -> String? {
        try await pool.withTransaction { connection in
            try await connection.executeScript(Self.settings)
            let result = try await connection.query(Self.statement(id))
            return try result.rows.first?.decode(String.self)
        }
    }

    /// The planner cannot know that an id leads to a handful of rows, and would read tables whole for the thousands that it
    /// expects: every step goes by an index.
    static let settings = """
        SET TRANSACTION READ ONLY;
        SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_seqscan = off; SET LOCAL jit = off
        """

    /// Each way to a submission goes by an index: together by OR they would read the table whole.
    private static func submissionIds(_ id: SQL) -> SQL {
        """
        SELECT \(id) AS id
            UNION SELECT id FROM submissions
            WHERE coalesce(named_transaction_id, partition_key) = ANY(ARRAY(SELECT number FROM numbers))
                AND (named_transaction_id IS NOT NULL OR kind IN ('transaction_id', 'order_id'))
            UNION SELECT submission_id FROM found_orders
            UNION SELECT submission_id FROM found_ids
            UNION SELECT submission_id FROM found_conflicts
            UNION SELECT l.submission_id FROM submission_transactions l JOIN keys USING (environment, transaction_id)
        """
    }

    private static func statement(_ asked: String) -> SQL {
        let id = SQL.once(asked)
        return """
            WITH \(purchases(id)), \(rows(id))
            SELECT \(dossier)::text AS dossier
            WHERE EXISTS (SELECT FROM found_submissions) OR EXISTS (SELECT FROM found_orders)
                OR EXISTS (SELECT FROM found_events) OR EXISTS (SELECT FROM found_conflicts)
            """
    }

    /// The orders and submissions that the id leads to.
    private static func purchases(_ id: SQL) -> SQL {
        """
        asked AS (
            SELECT environment, \(id) AS transaction_id FROM unnest(ARRAY['production', 'sandbox']) AS e (environment)
            UNION SELECT environment, transaction_id FROM submission_transactions WHERE submission_id = \(id)
            UNION SELECT environment, transaction_id FROM events WHERE id = \(id)
            UNION SELECT t.environment, t.transaction_id FROM submissions, jsonb_to_recordset(outcome -> 'transactions')
                AS t (environment text, transaction_id text) WHERE id = \(id) AND t.environment IS NOT NULL
        ), keys AS (
            SELECT environment, transaction_id FROM asked
            UNION SELECT i.environment, i.order_transaction_id FROM asked
            JOIN order_transactions i USING (environment, transaction_id)
            UNION SELECT c.environment, c.order_transaction_id FROM asked
            JOIN purchase_conflicts c USING (environment, transaction_id)
            UNION SELECT o.environment, o.transaction_id FROM lineage_members m
            JOIN orders o ON (o.environment, o.original_transaction_id) = (m.environment, m.lineage_id)
            WHERE (m.environment, m.original_transaction_id) IN (('production', \(id)), ('sandbox', \(id)))
        ), found_ids AS (
            SELECT i.environment, i.transaction_id, i.order_transaction_id, i.submission_id, i.created_at
            FROM (
                SELECT i.* FROM order_transactions i JOIN keys USING (environment, transaction_id)
                UNION SELECT i.* FROM order_transactions i
                JOIN keys k ON (k.environment, k.transaction_id) = (i.environment, i.order_transaction_id)
                WHERE i.transaction_id <> i.order_transaction_id) i
        ), found_conflicts AS (
            SELECT c.id, c.environment, c.app, c.transaction_id, c.order_transaction_id, c.cause, c.submission_id,
                c.created_at, c.resolved_at
            FROM purchase_conflicts c
            WHERE EXISTS (SELECT FROM keys k WHERE k.environment = c.environment
                AND k.transaction_id IN (c.transaction_id, c.order_transaction_id))
        ), adjustments AS (
            SELECT substring(body::jsonb ->> 'correlation_id' FROM '^adjustment_([0-9]{1,18})$')::bigint AS audit_id
            FROM events WHERE id = \(id) AND transaction_id IS NULL
        ), found_orders AS (
            SELECT environment, transaction_id, state, reason, account, app, product_id, product_type, quantity,
                original_transaction_id, purchase_date, expires_date, revocation_date, revocation_type, ownership,
                transaction ->> 'bundle_field' AS bundle_field,
                revocation_percentage, revoked_at, app_account_token, price_milliunits, currency, storefront,
                submission_id, correlation_id, created_at, granted_at, granted_elsewhere, test_purchase
            FROM orders JOIN keys USING (environment, transaction_id)
        ), numbers AS (
            SELECT \(id) AS number UNION SELECT transaction_id FROM found_ids
        ), found_submission_ids AS (
            \(submissionIds(id))
        ), found_submissions AS (
            SELECT id, state, reason, app, account, kind, attempts, due_at, received_at, settled_at, correlation_id,
                named_transaction_id, expected_environment, alarmed_at,
                octet_length(\(SubmissionStore.wholeProof)) AS proof_bytes, outcome
            FROM submissions
            WHERE id = ANY(ARRAY(SELECT id FROM found_submission_ids))
        )
        """
    }

    /// What is known of them.
    private static func rows(_ id: SQL) -> SQL {
        """
        found_entries AS (
            SELECT id, environment, transaction_id, kind, sequence, app, account, item, amount, created_at
            FROM ledger_entries JOIN keys USING (environment, transaction_id)
            UNION ALL
            SELECT id, environment, transaction_id, kind, sequence, app, account, item, amount, created_at
            FROM ledger_entries JOIN adjustments USING (audit_id)
        ), owners AS (
            SELECT environment, app, account FROM found_orders WHERE account IS NOT NULL
            UNION SELECT environment, app, account FROM found_entries
        ), found_balances AS (
            SELECT environment, app, account, item, amount FROM balances JOIN owners USING (account, app, environment)
        ), found_entitlements AS (
            SELECT environment, app, account, entitlement, transaction_id, granted_at, expires_at, revoked_at,
                revoked_because
            FROM entitlements JOIN owners USING (account, app, environment)
            UNION
            SELECT environment, app, account, entitlement, transaction_id, granted_at, expires_at, revoked_at,
                revoked_because
            FROM entitlements JOIN keys USING (environment, transaction_id)
        ), lineages_of_orders AS (
            SELECT DISTINCT environment, original_transaction_id FROM found_orders
            UNION SELECT m.environment, m.original_transaction_id FROM found_orders o
            JOIN lineage_members m ON (m.environment, m.lineage_id) = (o.environment, o.original_transaction_id)
        ), found_bindings AS (
            SELECT id, environment, original_transaction_id, from_account, to_account, cause, policy, submission_id,
                audit_id, created_at
            FROM binding_history JOIN lineages_of_orders USING (environment, original_transaction_id)
        ), found_subscriptions AS (
            SELECT environment, original_transaction_id, account, state, product_id, transaction_id, expires_date,
                access_until, changed_at
            FROM subscriptions JOIN lineages_of_orders USING (environment, original_transaction_id)
        ), found_events AS (
            SELECT id, type, environment, transaction_id, app, account, sequence, o.due_at,
                coalesce(o.attempts, 0) AS attempts, created_at
            FROM (
                SELECT events.* FROM events JOIN keys USING (environment, transaction_id)
                UNION
                SELECT * FROM events WHERE id = \(id)
            ) e LEFT JOIN event_outbox o ON o.event_id = e.id
        ), found_deliveries AS (
            SELECT event_id, endpoint_id, state, nullif(due_at, \(DeliveryStore.behind)) AS due_at, attempts, last_status,
                last_error, created_at, delivered_at
            FROM webhook_deliveries WHERE event_id IN (SELECT id FROM found_events)
        ), found_calls AS (
            SELECT c.id, c.kind, c.environment, c.transaction_id, c.state, c.attempts, c.status, c.code, c.outcome,
                c.request_reason, c.deadline_at, c.body, c.created_at, c.finished_at
            FROM apple_calls c JOIN keys k
                ON (c.environment, c.order_transaction_id) = (k.environment, k.transaction_id)
        ), found_audit AS (
            SELECT actor, action, subject, reason, created_at FROM audit_log
            WHERE subject IN (SELECT id FROM found_submissions)
                OR id IN (SELECT audit_id FROM adjustments
                    UNION SELECT audit_id FROM found_bindings
                    UNION SELECT audit_id FROM operator_claims JOIN keys USING (environment, transaction_id))
        )
        """
    }

    private static let dossier: SQL = """
        jsonb_build_object(
            'submissions', (SELECT coalesce(jsonb_agg(s ORDER BY s.received_at), '[]') FROM found_submissions s),
            'orders', (SELECT coalesce(jsonb_agg(o ORDER BY o.created_at), '[]') FROM found_orders o),
            'order_transactions', (SELECT coalesce(jsonb_agg(i ORDER BY i.order_transaction_id,
                i.transaction_id <> i.order_transaction_id, i.transaction_id COLLATE "C"), '[]') FROM found_ids i),
            'purchase_conflicts', (SELECT coalesce(jsonb_agg(c ORDER BY c.id), '[]') FROM found_conflicts c),
            'ledger_entries', (SELECT coalesce(jsonb_agg(l ORDER BY l.id), '[]') FROM found_entries l),
            'balances', (SELECT coalesce(jsonb_agg(b ORDER BY b.account, b.item), '[]') FROM found_balances b),
            'entitlements', (SELECT coalesce(jsonb_agg(e ORDER BY e.granted_at), '[]') FROM found_entitlements e),
            'bindings', (SELECT coalesce(jsonb_agg(b ORDER BY b.id), '[]') FROM found_bindings b),
            'subscriptions', (SELECT coalesce(jsonb_agg(s ORDER BY s.changed_at), '[]') FROM found_subscriptions s),
            'events', (SELECT coalesce(jsonb_agg(e ORDER BY e.created_at, e.id), '[]') FROM found_events e),
            'deliveries', (SELECT coalesce(jsonb_agg(d ORDER BY d.created_at), '[]') FROM found_deliveries d),
            'apple_calls', (SELECT coalesce(jsonb_agg(c ORDER BY c.id), '[]') FROM found_calls c),
            'audit_log', (SELECT coalesce(jsonb_agg(a ORDER BY a.created_at), '[]') FROM found_audit a)
        )
        """
}
