/// A small history in which every rule of the audit has something to look at, and holds.
///
/// anna bought gems three times (one was refunded by half, one in full and given back), things that ben and cleo have
/// now, too, and a subscription; consent for dora was withdrawn; nobody claimed p1; gina's chest b1, of which b2 and b3 are
/// more ids, is a family member's copy; x1 contradicts n2.
enum AuditHistory {
    static let sql = audit + submissions + orders + purchases + lineages + ledger + entitlements + events

    private static let audit = """
        INSERT INTO account_tokens (app, token, account) VALUES ('a', '6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'anna');
        INSERT INTO audit_log (actor, action, subject, reason)
        VALUES ('eve', 'adjust', 'production a anna', 'an apology');
        INSERT INTO spends (environment, app, account, idempotency_key, request_sha256, answer)
        VALUES ('production', 'a', 'anna', 'k1', 'hash', '{"items": [{"item": "gem", "amount": 30}], "balances": []}');

        """

    private static let orders = """
        INSERT INTO orders (environment, transaction_id, state, reason, account, app, product_id, product_type, quantity,
            original_transaction_id, purchase_date, expires_date, signed_date, app_account_token, app_transaction_id,
            granted_at, submission_id, correlation_id, transaction)
        SELECT 'production', id, state, reason, account, 'a', product, type, 1, original,
            CASE id WHEN 's2' THEN '2026-02-01Z' ELSE '2026-01-01Z' END::timestamptz, expires::timestamptz, '2026-01-02',
            token::uuid, child, granted::timestamptz, 'sub_' || id, 'r',
            CASE id WHEN 'c3' THEN '{"teller":"server"}' ELSE '{}' END::jsonb
        FROM (VALUES
            ('c1', 'granted', NULL, 'anna', 'gems', 'consumable', 'c1', NULL, '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
                NULL, '2026-01-03'),
            ('c2', 'revoked', 'revoked_by_apple', 'anna', 'gems', 'consumable', 'c2', NULL, NULL, NULL, '2026-01-03'),
            ('c3', 'granted', NULL, 'anna', 'gems', 'consumable', 'c3', NULL, NULL, NULL, '2026-01-03'),
            ('c4', 'revoked', 'revoked_by_apple', NULL, 'gems', 'consumable', 'c4', NULL, NULL, NULL, NULL),
            ('n1', 'granted', NULL, 'ben', 'pro', 'non_consumable', 'n1', NULL, '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
                NULL, '2026-01-03'),
            ('n2', 'granted', NULL, 'anna', 'hat', 'non_consumable', 'n2', NULL, NULL, NULL, '2026-01-03'),
            ('n3', 'revoked', 'revoked_by_apple', 'anna', 'hat', 'non_consumable', 'n3', NULL, NULL, NULL, '2026-01-03'),
            ('k1', 'granted', NULL, 'dora', 'hat', 'non_consumable', 'k1', NULL, NULL, 'child', '2026-01-03'),
            ('s1', 'granted', NULL, 'anna', 'plus', 'auto_renewable', 's1', '2026-02-01', NULL, NULL, '2026-01-03'),
            ('s2', 'granted', NULL, 'anna', 'plus', 'auto_renewable', 's1', '2126-03-01', NULL, NULL, '2026-02-01'),
            ('p1', 'parked', 'unclaimed', NULL, 'pro', 'non_consumable', 'p1', NULL, NULL, NULL, NULL),
            ('b1', 'granted', NULL, 'gina', 'chest', 'non_consumable', 'b1', NULL, NULL, NULL, '2026-01-03'),
            ('x1', 'parked', 'purchase_ambiguous', 'cleo', 'hat', 'non_consumable', 'n2', NULL, NULL, NULL, NULL)
        ) AS new (id, state, reason, account, product, type, original, expires, token, child, granted);
        INSERT INTO subscriptions (environment, original_transaction_id, app, account, state, product_id, transaction_id,
            expires_date, access_until, due_at, standing)
        VALUES ('production', 's1', 'a', 'anna', 'active', 'plus', 's2', '2126-03-01', '2126-03-01', '2126-03-01', '{}');
        INSERT INTO rescinded_consents
        VALUES ('production', 'a', 'a:child', '2026-01-05'), ('production', 'a', 't:k1', '2026-01-05');

        """

    private static let purchases = """
        INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
        SELECT environment, transaction_id, transaction_id, submission_id FROM orders
        UNION ALL VALUES ('production', 'b2', 'b1', 'sub_b2'), ('production', 'b3', 'b1', 'sub_b3');
        UPDATE orders SET web_order_line_item_id = 'w' || right(transaction_id, 1) WHERE product_id = 'plus';
        UPDATE orders SET purchase_key = key, fallback_key = fallback
        FROM (VALUES ('n1', 'o:n1', NULL), ('n2', 'o:n2', NULL), ('n3', 'o:n3', NULL), ('k1', 'o:k1', NULL),
            ('p1', 'o:p1', NULL), ('b1', 'o:b1', NULL), ('s1', 'p:s1:w1', 'd:s1:plus:1767225600'),
            ('s2', 'p:s1:w2', 'd:s1:plus:1769904000')) AS new (id, key, fallback) WHERE transaction_id = id;
        UPDATE orders SET ownership = 'FAMILY_SHARED' WHERE transaction_id = 'b1';
        INSERT INTO purchase_conflicts (environment, app, transaction_id, order_transaction_id, cause, submission_id)
        VALUES ('production', 'a', 'x1', 'n2', 'two_orders', 'sub_x1');

        """

    private static let lineages = """
        INSERT INTO lineages (environment, original_transaction_id, app, account, cause, bound_at)
        VALUES ('production', 'n1', 'a', 'ben', 'transfer', now()), ('production', 'n2', 'a', 'anna', 'possession', now()),
            ('production', 'n3', 'a', 'anna', 'possession', now()), ('production', 's1', 'a', 'anna', 'possession', now()),
            ('production', 'k1', 'a', 'dora', 'possession', now()), ('production', 'p1', 'a', NULL, NULL, NULL),
            ('production', 'b1', 'a', 'gina', 'possession', now());
        INSERT INTO binding_history (environment, original_transaction_id, app, from_account, to_account, cause)
        VALUES ('production', 'n1', 'a', NULL, 'anna', 'token'), ('production', 'n2', 'a', NULL, 'anna', 'possession'),
            ('production', 'n3', 'a', NULL, 'anna', 'possession'), ('production', 's1', 'a', NULL, 'anna', 'possession'),
            ('production', 'k1', 'a', NULL, 'dora', 'possession'), ('production', 'n1', 'a', 'anna', 'ben', 'transfer'),
            ('production', 'n2', 'a', 'anna', 'cleo', 'share'), ('production', 'b1', 'a', NULL, 'gina', 'possession');
        INSERT INTO lineage_shares (environment, original_transaction_id, app, account)
        VALUES ('production', 'n2', 'a', 'cleo');

        """

    private static let ledger = """
        INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount, book, spend_id,
            audit_id)
        SELECT 'production', id, kind, sequence, 'a', CASE id WHEN 'b1' THEN 'gina' ELSE 'anna' END, item, amount,
            CASE kind WHEN 'spend' THEN 'spent' ELSE 'issued' END, CASE kind WHEN 'spend' THEN 1 END,
            CASE kind WHEN 'adjustment' THEN 1 END
        FROM (VALUES ('c1', 'grant', 1, 'gem', 100), ('c2', 'grant', 1, 'gem', 100), ('c2', 'revocation', 1, 'gem', -50),
            ('c3', 'grant', 1, 'gem', 100), ('c3', 'revocation', 1, 'gem', -100), ('c3', 'reversal', 1, 'gem', 100),
            ('n1', 'grant', 1, 'badge', 1), (NULL, 'spend', 1, 'gem', -30), (NULL, 'adjustment', 1, 'gem', 5),
            ('b1', 'grant', 1, 'coin', 20), ('b1', 'correction', 1, 'coin', -15)
        ) AS new (id, kind, sequence, item, amount);
        INSERT INTO balances VALUES ('production', 'a', 'anna', 'gem', 225), ('production', 'a', 'anna', 'badge', 1),
            ('production', 'a', 'gina', 'coin', 5);

        """

    private static let entitlements = """
        INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, expires_at, revoked_at,
            revoked_because)
        SELECT 'production', 'a', account, entitlement, id, expires::timestamptz, revoked::timestamptz, because
        FROM (VALUES ('ben', 'pro', 'n1', NULL, NULL, NULL), ('anna', 'hat', 'n2', NULL, NULL, NULL),
            ('cleo', 'hat', 'n2', NULL, NULL, NULL), ('anna', 'hat', 'n3', NULL, '2026-01-04', 'refund'),
            ('dora', 'hat', 'k1', NULL, '2026-01-05', 'consent_rescinded'),
            ('anna', 'plus', 's1', '2026-02-01', NULL, NULL), ('anna', 'plus', 's2', '2126-03-01', NULL, NULL)
        ) AS new (account, entitlement, id, expires, revoked, because);

        """

    private static let events = """
        INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
        SELECT 'evt_' || place, type, 'production', 'a', account, row_number() OVER (PARTITION BY account ORDER BY place),
            id, id, jsonb_build_object('customer', jsonb_build_object('id', account, 'app_account_token', token),
                'data', jsonb_build_object('entries', entries::jsonb, 'entitlements', CASE WHEN id = 'n1' THEN '["pro"]'::jsonb
                    WHEN id IN ('n2', 'n3', 'k1') THEN '["hat"]' WHEN id IN ('s1', 's2') THEN '["plus"]'
                    ELSE '[]' END))::text
        FROM (VALUES
            (1, 'iap.transaction.fulfilled', 'anna', 'c1', '6ba7b810', '[{"item": "gem", "amount": 100}]'),
            (2, 'iap.transaction.fulfilled', 'anna', 'c2', NULL, '[{"item": "gem", "amount": 100}]'),
            (3, 'iap.transaction.fulfilled', 'anna', 'c3', NULL, '[{"item": "gem", "amount": 100}]'),
            (4, 'iap.transaction.fulfilled', 'anna', 'n1', '6ba7b810', '[{"item": "badge", "amount": 1}]'),
            (5, 'iap.transaction.fulfilled', 'anna', 'n2', NULL, '[]'),
            (6, 'iap.transaction.fulfilled', 'anna', 'n3', NULL, '[]'),
            (7, 'iap.transaction.fulfilled', 'dora', 'k1', NULL, '[]'),
            (8, 'iap.transaction.fulfilled', 'anna', 's1', NULL, '[]'),
            (9, 'iap.refund.granted', 'anna', 'c2', NULL, '[{"item": "gem", "amount": -50}]'),
            (10, 'iap.refund.granted', 'anna', 'c3', NULL, '[{"item": "gem", "amount": -100}]'),
            (11, 'iap.refund.reversed', 'anna', 'c3', NULL, '[{"item": "gem", "amount": 100}]'),
            (12, 'iap.refund.granted', 'anna', 'n3', NULL, '[]'),
            (13, 'iap.customer.transferred', 'anna', 'n1', NULL, '[]'),
            (14, 'iap.customer.transferred', 'ben', 'n1', NULL, '[]'),
            (15, 'iap.customer.shared', 'cleo', 'n2', NULL, '[]'),
            (16, 'iap.consent.rescinded', 'dora', 'k1', NULL, '[]'),
            (17, 'iap.transaction.fulfilled', 'anna', 's2', NULL, '[]'),
            (18, 'iap.account.adjusted', 'anna', '', NULL, '[{"item": "gem", "amount": 5}]'),
            (19, 'iap.transaction.fulfilled', 'gina', 'b1', NULL, '[{"item": "coin", "amount": 20}]')
        ) AS new (place, type, account, id, token, entries);
        INSERT INTO account_sequences (environment, app, account, last_sequence)
        SELECT environment, app, account, max(sequence) FROM events GROUP BY 1, 2, 3;

        """

    private static let submissions = """
        INSERT INTO submissions (id, state, app, account, kind, partition_key, correlation_id, reason, outcome, proof)
        SELECT 'sub_' || id, state, 'a', account, kind, 'k', 'r', reason,
            jsonb_build_object('transactions', jsonb_build_array(
                jsonb_build_object('environment', 'production', 'transaction_id', right(id, 2)))), ''
        FROM (VALUES ('c1', 'fulfilled', 'anna', 'signed_transaction', NULL),
            ('n1', 'fulfilled', 'anna', 'signed_transaction', NULL),
            ('cleo_n2', 'fulfilled', 'cleo', 'signed_transaction', NULL),
            ('p1', 'parked', 'fay', 'receipt', 'claim_unnamed'),
            ('b1', 'fulfilled', 'gina', 'signed_transaction', NULL), ('b2', 'fulfilled', 'gina', 'receipt', NULL),
            ('b3', 'fulfilled', 'gina', 'transaction_id', NULL),
            ('x1', 'parked', 'cleo', 'signed_transaction', 'purchase_ambiguous')) AS new (id, state, account, kind, reason)
        UNION ALL
        SELECT 'sub_' || id, 'fulfilled', 'a', '', 'server_notification', 'k', 'r', NULL, '{"transactions": []}', ''
        FROM unnest(ARRAY['c2', 'c3', 'c4', 'n2', 'n3', 'k1', 's1', 's2']) AS new (id);
        INSERT INTO submission_transactions VALUES ('production', 'p1', 'sub_p1'), ('production', 'x1', 'sub_x1');

        """
}
