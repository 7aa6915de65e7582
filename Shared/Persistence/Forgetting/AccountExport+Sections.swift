import Postgres

/// Which rows are an account's. Every table that can name one has its list: a test compares them with the schema.
extension AccountExport {
    var sections: [Section] { posts + owners + holdings + announced }

    private var posts: [Section] {
        [
            Section(
                table: "account_tokens",
                sql:
                    "SELECT token::text AS key, token, created_at FROM account_tokens WHERE account = \(account) AND app = \(app)"
            ),
            Section(
                table: "purchase_intents",
                sql: """
                    SELECT id::text AS key, id, product_id, reference, created_at FROM purchase_intents
                    WHERE account = \(account) AND app = \(app)
                    """),
            Section(
                table: "account_consents",
                sql: """
                    SELECT app AS key, consented, changed_at FROM account_consents WHERE account = \(account) AND app = \(app)
                    """),
            Section(
                table: "submissions",
                sql: """
                    SELECT id AS key, id, state, reason, kind, correlation_id, received_at, settled_at, named_transaction_id,
                        expected_environment, is_imported, outcome, nullif(\(SubmissionStore.wholeProof), '') AS proof
                    FROM submissions WHERE account = \(account) AND app = \(app) AND account <> ''
                    """),
            Section(
                table: "import_lines",
                sql: """
                    SELECT lpad(l.import_id::text, 19, '0') || ' ' || lpad(l.line::text, 19, '0') AS key, l.import_id, l.line,
                        l.submission_id, l.transaction_id, l.product_id, l.quantity, l.items, l.is_granted
                    FROM submissions s JOIN import_lines l ON l.submission_id = s.id
                    WHERE s.account = \(account) AND s.app = \(app) AND s.account <> ''
                    """),
        ]
    }

    // Another account is nobody else's to know.
    private func own(_ column: SQL) -> SQL {
        "CASE WHEN \(column) = \(account) THEN \(column) WHEN \(column) IS NOT NULL THEN \(Self.anothers) END"
    }

    /// What stands for every other account.
    static let anothers = "another account"

    private var owners: [Section] {
        [
            Section(
                table: "orders",
                sql: """
                    SELECT o.environment || ' ' || o.transaction_id AS key, o.environment, o.transaction_id, ARRAY(
                            SELECT o.transaction_id UNION SELECT i.transaction_id FROM order_transactions i
                            WHERE (i.environment, i.order_transaction_id) = (o.environment, o.transaction_id)
                                AND i.transaction_id <> i.order_transaction_id ORDER BY 1) AS transaction_ids,
                        o.state, o.reason, o.product_id, o.product_type, o.quantity, o.original_transaction_id,
                        o.purchase_date, o.expires_date, o.revocation_date, o.revoked_at, o.app_account_token,
                        o.price_milliunits, o.currency, o.storefront, o.ownership, o.app_transaction_id, o.submission_id,
                        o.correlation_id, o.created_at, o.granted_at, o.granted_elsewhere, o.test_purchase, o.transaction
                    FROM orders o WHERE o.account = \(account) AND o.app = \(app)
                    """),
            Section(
                table: "lineages",
                sql: """
                    SELECT environment || ' ' || original_transaction_id AS key, environment, original_transaction_id, cause,
                        token, bound_at
                    FROM lineages WHERE account = \(account) AND app = \(app)
                        AND (environment, original_transaction_id) IN (\(lineages))
                    """),
            Section(
                table: "lineage_shares",
                sql: """
                    SELECT environment || ' ' || original_transaction_id AS key, environment, original_transaction_id,
                        created_at
                    FROM lineage_shares WHERE account = \(account) AND app = \(app)
                    """),
            Section(
                table: "lineage_claims",
                sql: """
                    SELECT environment || ' ' || original_transaction_id || ' ' || transaction_id || ' ' || signed_date AS key,
                        environment, original_transaction_id, transaction_id, signed_date, submission_id, refused, created_at
                    FROM lineage_claims WHERE account = \(account)
                        AND (environment, original_transaction_id) IN (\(lineages))
                    """),
            Section(
                table: "binding_history",
                sql: """
                    SELECT lpad(id::text, 19, '0') AS key, environment, original_transaction_id, \(own("from_account"))
                        AS from_account, \(own("to_account")) AS to_account, cause, policy, created_at
                    FROM binding_history WHERE (from_account = \(account) OR to_account = \(account)) AND app = \(app)
                        AND (environment, original_transaction_id) IN (\(lineages))
                    """),
            Section(
                table: "renewal_statements",
                sql: """
                    SELECT environment || ' ' || original_transaction_id AS key, environment, original_transaction_id,
                        signed_date, statement
                    FROM renewal_statements r WHERE statement IS NOT NULL AND EXISTS (
                        SELECT FROM lineages l WHERE l.account = \(account) AND l.app = \(app)
                            AND (l.environment, l.original_transaction_id) = (r.environment, r.original_transaction_id))
                        AND (environment, original_transaction_id) IN (\(lineages))
                    """),
            Section(
                table: "subscriptions",
                sql: """
                    SELECT environment || ' ' || original_transaction_id AS key, environment, original_transaction_id, state,
                        product_id, transaction_id, expires_date, access_until, changed_at, standing
                    FROM subscriptions WHERE account = \(account) AND app = \(app)
                    """),
        ]
    }

    /// Every lineage that it ever had to do with, by indexes: what it bought, was told of, and shares; a consumable's own id.
    private var lineages: SQL {
        """
        SELECT environment, original_transaction_id FROM orders WHERE account = \(account) AND app = \(app)
        UNION SELECT environment, original_transaction_id FROM lineage_shares WHERE account = \(account) AND app = \(app)
        UNION SELECT environment, original_transaction_id FROM subscriptions WHERE account = \(account) AND app = \(app)
        UNION SELECT o.environment, o.original_transaction_id FROM (\(transactions)) t
        JOIN orders o ON (o.environment, o.transaction_id) = (t.environment, t.transaction_id)
        """
    }

    /// Every order that it ever had to do with.
    private var transactions: SQL {
        """
        SELECT environment, transaction_id FROM orders WHERE account = \(account) AND app = \(app)
        UNION SELECT environment, transaction_id FROM events
        WHERE account = \(account) AND app = \(app) AND transaction_id IS NOT NULL
        UNION SELECT i.environment, i.order_transaction_id FROM submissions s
        CROSS JOIN LATERAL jsonb_to_recordset(s.outcome -> 'transactions') AS t (environment text, transaction_id text)
        JOIN order_transactions i
            ON (i.environment, i.transaction_id) = (coalesce(t.environment, 'production'), t.transaction_id)
        WHERE s.account = \(account) AND s.app = \(app) AND s.account <> ''
        """
    }

    private var holdings: [Section] {
        [
            Section(
                table: "entitlements",
                sql: """
                    SELECT environment || ' ' || entitlement || ' ' || transaction_id AS key, environment, entitlement,
                        transaction_id, granted_at, expires_at, revoked_at, revoked_because
                    FROM entitlements WHERE account = \(account) AND app = \(app)
                    """),
            Section(
                table: "ledger_entries",
                sql: """
                    SELECT lpad(l.id::text, 19, '0') AS key, l.id, l.environment, l.kind, l.transaction_id, l.spend_id, l.audit_id,
                        l.item, l.amount, l.created_at
                    FROM ledger_entries l WHERE l.account = \(account) AND l.app = \(app) AND l.id IN (
                        SELECT e.id FROM (\(transactions)) t JOIN ledger_entries e USING (environment, transaction_id)
                        UNION SELECT e.id FROM spends s JOIN ledger_entries e ON e.spend_id = s.id
                        WHERE s.account = \(account) AND s.app = \(app)
                        UNION SELECT e.id FROM (\(acts)) a JOIN ledger_entries e ON e.audit_id = a.id)
                    """),
            Section(
                table: "balances",
                sql: """
                    SELECT environment || ' ' || item AS key, environment, item, amount FROM balances
                    WHERE account = \(account) AND app = \(app)
                    """),
            Section(
                table: "spends",
                sql: """
                    SELECT lpad(id::text, 19, '0') AS key, id, environment, idempotency_key, reference, answer, created_at
                    FROM spends WHERE account = \(account) AND app = \(app)
                    """),
        ]
    }

    private var announced: [Section] {
        [
            Section(
                table: "events",
                sql: """
                    SELECT environment || lpad(sequence::text, 19, '0') AS key, id, type, environment, sequence, transaction_id,
                        created_at, CASE WHEN body::jsonb #> '{data,binding}' IS NULL THEN body::jsonb ELSE jsonb_set(
                            body::jsonb, '{data,binding}', body::jsonb #> '{data,binding}' || jsonb_build_object(
                                'from', \(own("body::jsonb #>> '{data,binding,from}'")),
                                'to', \(own("body::jsonb #>> '{data,binding,to}'")))) END AS body
                    FROM events WHERE account = \(account) AND app = \(app)
                    """),
            Section(
                table: "webhook_deliveries",
                sql: """
                    SELECT e.environment || lpad(e.sequence::text, 19, '0') || ' ' || d.endpoint_id AS key, d.event_id,
                        d.endpoint_id, d.state, d.attempts, d.created_at, d.delivered_at
                    FROM events e JOIN webhook_deliveries d ON d.event_id = e.id WHERE e.account = \(account) AND e.app = \(app)
                    """),
            Section(
                table: "apple_calls",
                sql: """
                    SELECT lpad(c.id::text, 19, '0') AS key, c.kind, c.environment, c.transaction_id, c.state, c.created_at,
                        c.finished_at, c.outcome, c.requested_at, c.request_reason, c.answer, c.body, c.account_token
                    FROM orders o JOIN apple_calls c
                        ON (c.environment, c.order_transaction_id) = (o.environment, o.transaction_id)
                    WHERE o.account = \(account) AND o.app = \(app)
                    """),
            Section(
                table: "operator_claims",
                sql: """
                    SELECT lpad(c.audit_id::text, 19, '0') AS key, c.audit_id, c.environment, c.transaction_id, c.created_at
                    FROM operator_claims c JOIN orders o USING (environment, transaction_id)
                    WHERE c.account = \(account) AND o.app = \(app)
                    """),
            // Who of the staff acted, or looked, is theirs to say.
            Section(
                table: "audit_log",
                sql: """
                    SELECT lpad(a.id::text, 19, '0') AS key, a.id, a.action, a.reason, a.created_at
                    FROM audit_log a WHERE a.id IN (\(acts))
                    """),
            Section(
                table: "views",
                sql: """
                    SELECT lpad(id::text, 19, '0') AS key, id, route, environment, transaction_id, created_at FROM views
                    WHERE account = \(account) AND app = \(app)
                    """),
        ]
    }

    /// The acts by hand that were about it.
    private var acts: SQL {
        """
        SELECT id FROM audit_log
        WHERE action IN ('adjust', 'sweep')
            AND subject IN ('production ' || \(app) || ' ' || \(account), 'sandbox ' || \(app) || ' ' || \(account), 'both ' || \(app) || ' ' || \(account))
        UNION SELECT c.audit_id AS id FROM operator_claims c JOIN orders o USING (environment, transaction_id)
        WHERE c.account = \(account) AND o.app = \(app)
        UNION SELECT a.id FROM audit_log a
        JOIN submissions s ON s.id = a.subject AND s.account = \(account) AND s.app = \(app) AND s.account <> ''
        WHERE a.action = 'redrive'
        """
    }
}
