-- A year of a studio's books for deploy/try-console --million: so many orders (psql's variable `orders`) of one app, with
-- everything that belongs to them, as the services leave it. Nothing of it is due soon, so that the services leave it alone.
SET synchronous_commit = off;
CREATE TEMP TABLE made AS
SELECT n, kind,
    -- The newest first: some hundred in the last hour.
    now() - (n * interval '365 days' / :orders) AS at,
    -- A month between periods; one in seven ends before the next begins.
    CASE WHEN n % 7 = 0 THEN interval '30 days' ELSE interval '31 days' END AS paid,
    CASE WHEN kind = 'auto_renewable' THEN lpad((3000000000000000 + n % (:orders / 60 * 5))::text, 16, '0')
        ELSE lpad((2000000000000000 + n)::text, 16, '0') END AS lineage,
    lpad((2000000000000000 + n)::text, 16, '0') AS id,
    CASE WHEN kind = 'auto_renewable' THEN 'player-' || n % (:orders / 60 * 5) ELSE 'player-' || (n * 7919) % (:orders / 20) END AS player,
    CASE kind WHEN 'auto_renewable' THEN 'vip.monthly' WHEN 'non_consumable' THEN 'pro' ELSE 'gems.' || 100 * (1 + n % 6) END AS product,
    CASE WHEN n % 200 = 17 THEN 'parked' WHEN n % 100 = 18 THEN 'revoked' ELSE 'granted' END AS state,
    CASE WHEN n % 200 = 17 THEN (ARRAY['unclaimed', 'unclaimed', 'product_unknown', 'account_token_unknown'])[1 + n / 200 % 4]
        WHEN n % 100 = 18 THEN 'revoked_by_apple' END AS reason
FROM (SELECT n, CASE WHEN n % 5 = 1 THEN 'auto_renewable' WHEN n % 10 = 2 THEN 'non_consumable' ELSE 'consumable' END AS kind
    FROM generate_series(1, :orders::bigint) n) g;
ANALYZE made;

INSERT INTO catalogues (sha256, content)
SELECT 'of console_million ' || n, 'apps: {com.example.game: [{id: gems.100, type: consumable, grants: {gem: 100}}, '
    '{id: pro, type: non_consumable, entitlements: [pro]}, {id: vip.monthly, type: auto_renewable, entitlements: [vip]}]}'
FROM generate_series(1, 3) n ON CONFLICT DO NOTHING;

INSERT INTO submissions (id, state, app, account, kind, partition_key, correlation_id, received_at, settled_at, outcome, proof, is_server)
SELECT 'sub_' || id, 'fulfilled', 'com.example.game', player, 'signed_transaction', lineage, 'req_' || id, at, at,
    '{"state": "fulfilled", "finish": true, "transactions": []}', '', true
FROM made;
INSERT INTO submissions (id, state, app, account, kind, partition_key, correlation_id, received_at, settled_at, outcome, proof, reason,
    due_at)
SELECT 'sub_x' || id, s.state, 'com.example.game', player, 'transaction_id', lineage, 'req_x' || id, at,
    CASE s.state WHEN 'rejected' THEN at END,
    CASE s.state WHEN 'rejected' THEN '{"state": "rejected", "finish": false, "transactions": []}'::jsonb END, id,
    CASE s.state WHEN 'rejected' THEN 'bundle_mismatch' ELSE 'app_store_unavailable' END,
    CASE s.state WHEN 'received' THEN now() + interval '1 day' END
FROM made, LATERAL (SELECT CASE WHEN n % 10 = 5 THEN 'received' ELSE 'rejected' END AS state) s WHERE n % 500 < 6;

INSERT INTO orders (environment, transaction_id, state, reason, account, app, product_id, product_type, quantity,
    original_transaction_id, purchase_date, original_purchase_date, expires_date, signed_date, revocation_date, revoked_at,
    revocation_type, ownership, price_milliunits, currency, storefront, submission_id, correlation_id, created_at, granted_at,
    catalogue_version, transaction)
SELECT 'production', id, state, reason, CASE WHEN state <> 'parked' THEN player END, 'com.example.game', product, kind, 1, lineage, at, at,
    CASE kind WHEN 'auto_renewable' THEN at + paid END, at,
    CASE state WHEN 'revoked' THEN at + interval '3 days' END, CASE state WHEN 'revoked' THEN at + interval '3 days' END,
    CASE state WHEN 'revoked' THEN 'REFUND_FULL' END, 'PURCHASED',
    CASE kind WHEN 'auto_renewable' THEN 9990 ELSE 990 * (1 + n % 6) END, (ARRAY['USD', 'EUR', 'KRW', 'CNY'])[1 + n % 4],
    (ARRAY['USA', 'DEU', 'KOR', 'CHN'])[1 + n % 4], 'sub_' || id, 'req_' || id, at, CASE WHEN state <> 'parked' THEN at END,
    (SELECT max(version) FROM catalogues) - (n > :orders / 2)::int, '{}'
FROM made;
INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id, created_at)
SELECT 'production', id, id, 'sub_' || id, at FROM made;
INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount, created_at)
SELECT 'production', id, 'grant', 1, 'com.example.game', player, 'gem', 100, at FROM made WHERE kind = 'consumable' AND state <> 'parked'
ORDER BY n DESC;
INSERT INTO balances (environment, app, account, item, amount)
SELECT environment, app, account, item, sum(amount) FROM ledger_entries WHERE app = 'com.example.game'
GROUP BY environment, app, account, item ON CONFLICT DO NOTHING;
INSERT INTO subscriptions (environment, original_transaction_id, app, account, state, product_id, transaction_id, expires_date,
    access_until, standing)
SELECT DISTINCT ON (lineage) 'production', lineage, 'com.example.game', player,
    CASE WHEN state = 'revoked' THEN 'revoked' WHEN at + paid < now() THEN 'expired' ELSE 'active' END, product, id,
    at + paid, at + paid,
    jsonb_build_object('state', CASE WHEN at + paid < now() THEN 'expired' ELSE 'active' END, 'ownership', 'PURCHASED',
        'original_transaction_id', lineage, 'transaction_id', id, 'product_id', product,
        'purchased_at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'expires_at', to_char((at + paid) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
FROM made WHERE kind = 'auto_renewable' AND state <> 'parked' ORDER BY lineage, at DESC;
INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, granted_at, expires_at, end_told_at)
SELECT 'production', 'com.example.game', player, CASE kind WHEN 'auto_renewable' THEN 'vip' ELSE 'pro' END, id, at,
    CASE kind WHEN 'auto_renewable' THEN at + paid END, CASE kind WHEN 'auto_renewable' THEN now() END
FROM made WHERE kind <> 'consumable' AND state = 'granted';
INSERT INTO account_tokens (app, token, account, created_at)
SELECT DISTINCT ON (player) 'com.example.game', gen_random_uuid(), player, at FROM made ORDER BY player;

INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, created_at, body)
SELECT event_floor(at) || lpad(to_hex(n), 20, '0'), 'iap.transaction.fulfilled', 'production', 'com.example.game', player, n, id, lineage, at,
    '{"data":{}}'
FROM made WHERE state <> 'parked';
INSERT INTO webhook_deliveries (event_id, endpoint_id, state, due_at, attempts, last_status, created_at, delivered_at)
SELECT id, 'million', s.state, CASE s.state WHEN 'pending' THEN now() + interval '1 day' END, 1, 200, created_at,
    CASE s.state WHEN 'delivered' THEN created_at END
FROM events, LATERAL (SELECT CASE WHEN sequence % 1000 = 3 THEN 'abandoned' WHEN sequence % 2000 = 4 THEN 'pending' ELSE 'delivered' END
    AS state) s
WHERE app = 'com.example.game';
INSERT INTO webhook_attempts (event_id, endpoint_id, attempt, attempted_at, duration_ms, status)
SELECT event_id, endpoint_id, 1, created_at, 20, 200 FROM webhook_deliveries WHERE endpoint_id = 'million';
INSERT INTO apple_notifications (app, notification_uuid, environment, type, signed_date, submission_id, recorded_at)
SELECT 'com.example.game', 'million-' || n, 'production', (ARRAY['DID_RENEW', 'REFUND', 'SUBSCRIBED'])[1 + n % 3], at, 'sub_' || id, at
FROM made WHERE kind = 'auto_renewable';
INSERT INTO apple_calls (kind, environment, app, transaction_id, order_transaction_id, state, finished_at, requested_at, deadline_at)
SELECT 'consumption', 'production', 'com.example.game', id, id, 'done', at, at, at + interval '12 hours' FROM made WHERE state = 'revoked';
INSERT INTO audit_log (actor, action, subject, reason, app, created_at)
SELECT 'kim@studio.example by key console', 'redrive', 'sub_' || id, 'ticket', 'com.example.game', at FROM made WHERE n % 50 = 0;
DROP TABLE made;
ANALYZE;
