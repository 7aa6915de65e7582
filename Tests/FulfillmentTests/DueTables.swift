import Foundation
import Postgres

/// Tables of which most rows are due, filled straight: what an outage of hours leaves.
enum DueTables {
    /// Rows that are due of each queue; `COUNTERSIGN_DUE_ROWS` asks for more, such as 10,000,000.
    static let count = ProcessInfo.processInfo.environment["COUNTERSIGN_DUE_ROWS"].flatMap { Int($0) } ?? 100_000
    /// Rows of queues that follow from purchases, which nobody has ten million of.
    private static let others = max(100_000, count / 10)

    /// Fills, and has the server count.
    static func fill(_ pool: PostgresPool) async throws {
        try await pool.withConnection { connection in
            try await connection.executeScript("SET statement_timeout = 0")
            for script in [quiet, submissions, orders, clock, events] { try await connection.executeScript(script) }
            try await connection.executeScript("VACUUM ANALYZE")
        }
    }

    // While autovacuum looks at a table, entries of rows that are gone stay, and are counted as read.
    private static let quiet = """
        DO $$ DECLARE name regclass; BEGIN
            FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
                EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', name);
            END LOOP;
        END $$
        """

    // A third was asked about and has an alarm, for one of three reasons; a third is as old and has none; the rest is young.
    // Beside them as many that were rejected, or are parked, for one of three reasons.
    private static let submissions = """
        INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof, received_at, due_at, attempts,
            alarmed_at, reason)
        SELECT 'due' || n, '\(Bench.app)', 'player' || n, 'signed_transaction', 'p', 'req', 'x',
            now() - CASE WHEN n % 3 < 2 THEN interval '2 hours' ELSE interval '50 minutes' END - n * interval '1 millisecond',
            now() - interval '1 hour' + n * interval '1 millisecond', n % 5, CASE WHEN n % 3 = 0 THEN now() END,
            CASE WHEN n % 3 = 0 THEN (ARRAY[NULL, 'rate_limited', 'app_store_unavailable'])[1 + n / 3 % 3] END
        FROM generate_series(1, \(count)) AS n;
        INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof, state, settled_at, outcome,
            reason)
        SELECT 'settled' || n, '\(Bench.app)', 'player' || n, 'signed_transaction', 'p', 'req', 'x',
            CASE WHEN n % 2 = 0 THEN 'rejected' ELSE 'parked' END, now() - n * interval '1 millisecond', '{}',
            (ARRAY['bundle_mismatch', 'claim_unnamed', 'possession_unproven'])[1 + n / 2 % 3]
        FROM generate_series(1, \(others)) AS n;
        """

    // Of nobody's tokens, of a product that nobody knows, claimed by nobody: nothing of it can have changed.
    private static let orders = """
        INSERT INTO orders (environment, transaction_id, state, reason, account, app, product_id, product_type, quantity,
            original_transaction_id, purchase_date, signed_date, app_account_token, submission_id, correlation_id,
            created_at, transaction)
        SELECT 'production', 'parked' || n, 'parked', reason, CASE reason WHEN 'product_unknown' THEN 'player' || n END,
            '\(Bench.app)', CASE reason WHEN 'product_unknown' THEN 'unheard' ELSE 'gems.100' END, 'consumable', 1,
            'parked' || n, now(), now(), CASE reason WHEN 'account_token_unknown' THEN md5(n::text)::uuid END, 'sub', 'req',
            now() - n * interval '1 millisecond',
            jsonb_build_object('transaction_id', 'parked' || n, 'environment', 'production', 'original_transaction_id',
                'parked' || n, 'bundle_id', '\(Bench.app)', 'product_id', 'gems.100', 'product_type', 'consumable',
                'quantity', 1, 'purchased_at', '2023-11-14T22:13:20.000Z', 'signed_at', '2023-11-14T22:13:21.000Z')
        FROM (SELECT n, (ARRAY['unclaimed', 'account_token_unknown', 'product_unknown'])[1 + n % 3] AS reason
            FROM generate_series(1, \(others)) AS n) numbers;
        INSERT INTO account_tokens (app, token, account)
        SELECT '\(Bench.app)', md5('other' || n)::uuid, 'player' || n FROM generate_series(1, \(others)) AS n;
        """

    private static let clock = """
        INSERT INTO subscriptions (environment, original_transaction_id, app, account, state, product_id, transaction_id,
            expires_date, access_until, due_at, standing)
        SELECT 'production', 'due' || n, '\(Bench.app)', 'player' || n, 'active', 'basic', 'due' || n, now(), now(),
            now() - n * interval '1 millisecond', jsonb_build_object('original_transaction_id', 'due' || n,
                'transaction_id', 'due' || n, 'product_id', 'basic', 'state', 'active',
                'purchased_at', '2023-11-14T22:13:20.000Z', 'expires_at', '2024-01-01T00:00:00.000Z')
        FROM generate_series(1, \(others)) AS n;
        INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, expires_at)
        SELECT 'production', '\(Bench.app)', 'player' || n, 'pro', 'parked' || n, now() - n * interval '1 millisecond'
        FROM generate_series(1, \(others)) AS n;
        WITH line AS (
            INSERT INTO audit_log (actor, action, subject, reason)
            SELECT 'test', 'claim', n::text, 'a letter' FROM generate_series(1, \(others)) AS n RETURNING id
        )
        INSERT INTO operator_claims (audit_id, environment, transaction_id, account, due_at)
        SELECT id, 'production', 'gone' || id, 'player', now() - id * interval '1 millisecond' FROM line;
        """

    private static let events = """
        INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
        SELECT 'evt' || n, 'iap.transaction.fulfilled', 'production', '\(Bench.app)', 'player' || n, 1, 't', 'p',
            '{"data": {}}'
        FROM generate_series(1, \(others)) AS n;
        INSERT INTO account_sequences (environment, app, account, last_sequence)
        SELECT environment, app, account, 1 FROM events;
        DELETE FROM release_requests;
        INSERT INTO apple_calls (kind, environment, app, transaction_id, order_transaction_id, state, due_at)
        SELECT 'finish', 'production', '\(Bench.app)', 'call' || n, 'call' || n, 'ready', now() - interval '1 hour'
        FROM generate_series(1, \(others)) AS n;
        INSERT INTO notification_forwards (app, notification_uuid, due_at)
        SELECT '\(Bench.app)', 'forward' || n, now() - interval '1 hour' FROM generate_series(1, \(others)) AS n;
        INSERT INTO sweep_requests (id, app, subjects, requested_at)
        SELECT 'swp_' || n, '\(Bench.app)', '{}', now() - interval '1 hour' FROM generate_series(1, \(others)) AS n;
        INSERT INTO event_outbox (event_id, due_at) SELECT id, now() - interval '1 hour' FROM events;
        INSERT INTO webhook_endpoints (id, disabled_at) VALUES ('up', NULL), ('down', now());
        INSERT INTO webhook_deliveries (event_id, endpoint_id, due_at)
        SELECT events.id, endpoints.id, now() - interval '1 hour' FROM events, webhook_endpoints AS endpoints;
        """
}
