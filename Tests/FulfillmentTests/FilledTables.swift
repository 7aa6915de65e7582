import Postgres

/// Tables that grow, filled straight: for tests of what is read of them, not of what is in them.
enum FilledTables {
    /// Purchases; of every ten two are periods of a subscription, five of each, two are for ever, the others consumables.
    static let count = 20_000

    /// Fills, and has the server count.
    static func fill(_ pool: PostgresPool) async throws {
        try await pool.withConnection { connection in
            for script in [numbers, orders, owners, subscriptions, ledger, events] {
                try await connection.executeScript(script)
            }
            try await connection.executeScript("ANALYZE")
            // A session's own reads may be counted up to ten seconds later, within what is measured next.
            try await connection.executeScript("SELECT pg_stat_force_next_flush()")
        }
    }

    // One in a hundred is parked, for one of three reasons.
    private static let numbers = """
        CREATE TABLE numbers AS SELECT n::text AS id, n, 'production' AS environment, '\(Bench.app)' AS app,
            n % 10 AS kind, md5(n::text)::uuid AS token, now() - n * interval '1 minute' AS bought,
            CASE WHEN n % 100 = 0 THEN 'parked' ELSE 'granted' END AS state,
            CASE WHEN n % 100 = 0 THEN (ARRAY['unclaimed', 'account_token_unknown', 'product_unknown'])[1 + n / 100 % 3]
                END AS reason,
            'player' || CASE WHEN n % 10 < 8 THEN n ELSE n / 50 * 10 + n % 10 END % (\(count) / 5) AS account,
            (CASE WHEN n % 10 < 8 THEN n ELSE n / 50 * 50 + n % 10 END)::text AS original,
            CASE WHEN n % 10 >= 8 THEN now() + (n % 50 - 40) * interval '1 day' - interval '1 minute' END AS ends
        FROM generate_series(1, \(count)) AS n;
        INSERT INTO account_tokens (app, token, account) SELECT app, token, account FROM numbers WHERE reason IS NULL;
        TRUNCATE release_requests;
        INSERT INTO purchase_intents (id, app, account, product_id) SELECT token, app, account, 'gems.100' FROM numbers;
        INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof, state, settled_at, outcome)
        SELECT 'sub' || n, app, account, 'signed_transaction', original, 'req', repeat('x', 5000),
            CASE state WHEN 'parked' THEN 'parked' ELSE 'fulfilled' END, bought,
            jsonb_build_object('state', 'fulfilled', 'finish', true, 'transactions', '[]'::jsonb)
        FROM numbers;
        """

    private static let orders = """
        INSERT INTO orders (environment, transaction_id, state, reason, account, app, product_id, product_type, quantity,
            original_transaction_id, purchase_date, expires_date, signed_date, app_account_token, price_milliunits,
            currency, storefront, submission_id, correlation_id, granted_at, ownership, app_transaction_id, created_at,
            purchase_key, fallback_key, transaction)
        SELECT environment, id, state, reason, CASE WHEN reason IS NULL OR reason = 'product_unknown' THEN account END, app,
            CASE WHEN reason = 'product_unknown' THEN 'unheard' WHEN kind < 6 THEN 'gems.100' WHEN kind < 8 THEN 'pro'
                ELSE 'basic' END,
            CASE WHEN kind < 6 THEN 'consumable' WHEN kind < 8 THEN 'non_consumable' ELSE 'auto_renewable' END,
            1, original, bought, ends, bought, CASE WHEN reason IS DISTINCT FROM 'unclaimed' THEN token END, 990, 'EUR', 'ITA',
            'sub' || n, 'req', CASE WHEN state = 'granted' THEN bought END, 'PURCHASED', 'app' || account, bought,
            CASE WHEN kind IN (6, 7) THEN 'o:' || original END,
            CASE WHEN kind >= 8 THEN 'd:' || original || ':basic:' || floor(extract(epoch FROM bought))::int8 END,
            jsonb_build_object('transaction_id', id, 'environment', environment, 'original_transaction_id', original,
                'bundle_id', app, 'product_id', 'gems.100', 'product_type', 'consumable', 'quantity', 1,
                'purchased_at', '2023-11-14T22:13:20.000Z', 'signed_at', '2023-11-14T22:13:21.000Z')
        FROM numbers;
        INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
        SELECT environment, id, id, 'sub' || n FROM numbers;
        INSERT INTO submission_transactions SELECT environment, id, 'sub' || n FROM numbers WHERE state = 'parked';
        """

    private static let owners = """
        INSERT INTO lineages (environment, original_transaction_id, app, account, cause)
        SELECT DISTINCT ON (original) environment, original, app, account, 'possession' FROM numbers WHERE kind >= 6;
        INSERT INTO binding_history (environment, original_transaction_id, app, to_account, cause)
        SELECT environment, original_transaction_id, app, account, cause FROM lineages;
        INSERT INTO lineage_claims (environment, original_transaction_id, account, transaction_id, signed_date,
            submission_id)
        SELECT environment, original_transaction_id, account, original_transaction_id, now(),
            'sub' || original_transaction_id
        FROM lineages;
        INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, expires_at, end_told_at)
        SELECT environment, app, account, 'pro', id, ends, CASE WHEN ends < now() THEN now() END
        FROM numbers WHERE kind >= 6 AND state = 'granted';
        """

    private static let subscriptions = """
        INSERT INTO renewal_statements (environment, original_transaction_id)
        SELECT environment, original_transaction_id FROM lineages WHERE original_transaction_id ~ '[89]$';
        INSERT INTO subscriptions (environment, original_transaction_id, app, account, state, product_id, transaction_id,
            expires_date, access_until, due_at, standing)
        SELECT environment, original_transaction_id, app, account, 'active', 'basic', original_transaction_id,
            'infinity', 'infinity', 'infinity', jsonb_build_object('original_transaction_id', original_transaction_id,
                'transaction_id', original_transaction_id, 'product_id', 'basic', 'state', 'active',
                'purchased_at', '2023-11-14T22:13:20.000Z', 'expires_at', '2099-01-01T00:00:00.000Z')
        FROM lineages WHERE original_transaction_id ~ '[89]$';
        """

    private static let ledger = """
        INSERT INTO spends (environment, app, account, idempotency_key, request_sha256, answer)
        SELECT environment, app, account, id, 'x', '{}' FROM numbers;
        INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount)
        SELECT environment, id, 'grant', 1, app, account, 'gem', 100 FROM numbers WHERE kind < 6 AND state = 'granted';
        INSERT INTO ledger_entries (environment, spend_id, kind, book, sequence, app, account, item, amount)
        SELECT environment, id, 'spend', 'spent', 1, app, account, 'gem', -1 FROM spends;
        INSERT INTO balances SELECT environment, app, account, item, sum(amount) FROM ledger_entries GROUP BY 1, 2, 3, 4;
        """

    // A quarter of the deliveries wait for an endpoint that does not answer.
    private static let events = """
        INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
        SELECT 'evt' || n, 'iap.transaction.fulfilled', environment, app, account,
            row_number() OVER (PARTITION BY account ORDER BY n), id, id, '{"data": {}}'
        FROM numbers;
        INSERT INTO account_sequences SELECT environment, app, account, max(sequence) FROM events GROUP BY 1, 2, 3;
        INSERT INTO webhook_endpoints (id) VALUES ('up'), ('down');
        UPDATE webhook_endpoints SET disabled_at = now(), is_holding = true WHERE id = 'down';
        INSERT INTO webhook_deliveries (event_id, endpoint_id, state, due_at, attempts)
        SELECT 'evt' || n, 'up', CASE WHEN n % 1000 = 1 THEN 'abandoned' ELSE 'delivered' END, NULL, 1 FROM numbers
        UNION ALL SELECT 'evt' || n, 'down', 'pending', bought, 3 FROM numbers WHERE n % 4 = 0;
        DROP TABLE numbers;
        """
}
