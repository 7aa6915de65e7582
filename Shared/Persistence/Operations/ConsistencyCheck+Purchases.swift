/// Rules of purchases: an order is one purchase, each of its transaction ids leads to it, and it granted once.
extension ConsistencyCheck {
    static let purchaseRules = [
        ownIds, idsOfOrders, keys, distinct, lineItems, broughtBy, idSources, ends, undone, grantedOnce, corrections,
    ]

    private static let ownIds = Rule(
        name: "orders_have_their_own_id", sentence: "every order is found by its own transaction id",
        sql: """
            SELECT format('%s %s: its id %s', o.environment, o.transaction_id,
                coalesce('leads to ' || i.order_transaction_id, 'is not recorded')) AS subject
            FROM orders o LEFT JOIN order_transactions i USING (environment, transaction_id)
            WHERE i.order_transaction_id IS DISTINCT FROM o.transaction_id
            """)

    private static let idsOfOrders = Rule(
        name: "transaction_ids_lead_to_orders", sentence: "every transaction id leads to an order of its environment",
        sql: """
            SELECT format('%s %s: order %s is not there', i.environment, i.transaction_id, i.order_transaction_id)
                AS subject
            FROM order_transactions i
            LEFT JOIN orders o ON (o.environment, o.transaction_id) = (i.environment, i.order_transaction_id)
            WHERE o.app IS NULL
            """)

    /// The keys that follow from a row of `orders o`, as `PurchaseKeys` derives them.
    private enum Derived {
        static let isPeriod =
            "(o.product_type = 'auto_renewable' OR o.product_type = 'unstated' AND o.expires_date IS NOT NULL)"
        static let key = """
            CASE WHEN o.product_type NOT IN ('non_consumable', 'auto_renewable', 'non_renewing', 'unstated') THEN NULL
                WHEN \(isPeriod) THEN 'p:' || o.original_transaction_id || ':' || o.web_order_line_item_id
                ELSE 'o:' || o.original_transaction_id END
            """
        static let fallback = """
            CASE WHEN \(isPeriod) THEN 'd:' || o.original_transaction_id || ':' || o.product_id || ':'
                || floor(extract(epoch FROM o.purchase_date))::bigint END
            """
        /// The orders whose data contradicts another order's: the other has their keys; they have none, or their own of before.
        static let contradicting = """
            SELECT i.environment, i.order_transaction_id AS transaction_id FROM purchase_conflicts c
            JOIN order_transactions i USING (environment, transaction_id) WHERE c.cause <> 'type_differs'
            """
    }

    private static let keys = Rule(
        name: "purchase_keys_follow_from_the_order",
        sentence:
            "an order has the purchase keys that follow from its row, unless it contradicts another order; the second of a "
            + "purchase may be another than Apple states by now, by a day at most",
        sql: """
            SELECT format('%s %s: keys %s and %s, should be %s and %s', environment, transaction_id,
                coalesce(purchase_key, 'none'), coalesce(fallback_key, 'none'), coalesce(derived_key, 'none'),
                coalesce(derived_fallback, 'none')) AS subject
            FROM (
                SELECT o.environment, o.transaction_id, o.purchase_key, o.fallback_key,
                    \(Derived.key) AS derived_key, \(Derived.fallback) AS derived_fallback
                FROM orders o) derived
            LEFT JOIN (SELECT DISTINCT * FROM (\(Derived.contradicting)) c) contradicting
                USING (environment, transaction_id)
            WHERE contradicting.environment IS NULL AND (purchase_key IS DISTINCT FROM derived_key
                OR regexp_replace(fallback_key, '-?[0-9]+$', '')
                    IS DISTINCT FROM regexp_replace(derived_fallback, '-?[0-9]+$', '')
                OR abs(substring(fallback_key FROM '-?[0-9]+$')::numeric
                    - substring(derived_fallback FROM '-?[0-9]+$')::numeric) > 86400)
            """)

    // By the columns, and by what they follow from: a mistake in one of the two is seen in the other.
    private static let distinct = Rule(
        name: "orders_are_distinct_purchases",
        sentence: "no two orders are one purchase, unless their data contradicts each other and a person is to look",
        sql: """
            SELECT format('%s %s: %s orders are one purchase, %s and %s: %s', environment, app, count(*),
                min(transaction_id), max(transaction_id), key) AS subject
            FROM (
                SELECT o.environment, o.app, o.transaction_id, unnest(ARRAY[o.purchase_key, o.fallback_key,
                    nullif(\(Derived.key), o.purchase_key), CASE WHEN o.web_order_line_item_id IS NULL
                        THEN nullif(\(Derived.fallback), o.fallback_key) END]) AS key
                FROM orders o
                WHERE NOT EXISTS (
                    SELECT FROM (\(Derived.contradicting)) c
                    WHERE (c.environment, c.transaction_id) = (o.environment, o.transaction_id))) keyed
            WHERE key IS NOT NULL
            GROUP BY environment, app, key HAVING min(transaction_id) <> max(transaction_id)
            """)

    private static let lineItems = Rule(
        name: "line_items_have_one_original",
        sentence:
            "no line item of Apple's is granted under two original transaction ids, but to family members; unless a person is to look",
        sql: """
            SELECT format('%s %s: line item %s is granted to %s orders, under %s and %s', environment, app,
                web_order_line_item_id, count(*), min(original_transaction_id), max(original_transaction_id)) AS subject
            FROM orders o
            WHERE state = 'granted' AND web_order_line_item_id IS NOT NULL AND \(Derived.isPeriod)
                AND ownership IS DISTINCT FROM 'FAMILY_SHARED'
                AND NOT EXISTS (SELECT FROM (\(Derived.contradicting)) c
                    WHERE (c.environment, c.transaction_id) = (o.environment, o.transaction_id))
            GROUP BY environment, app, web_order_line_item_id
            HAVING min(original_transaction_id) <> max(original_transaction_id)
            """)

    /// The time since when every submission is there, as SQL: older notifications and rejected ones may have been removed by
    /// retention.
    static let submissionsSince = """
        coalesce((SELECT max(dropped_before) FROM retention_marks WHERE name IN ('notifications', 'rejected')), '-infinity')
        """

    private static let broughtBy = Rule(
        name: "orders_have_their_submission",
        sentence: "every order has the submission or notification that brought it, of its own app",
        sql: """
            SELECT format('%s %s: submission %s is %s', o.environment, o.transaction_id, o.submission_id,
                coalesce('of ' || s.app, 'not there')) AS subject
            FROM orders o LEFT JOIN submissions s ON s.id = o.submission_id
            WHERE s.app IS DISTINCT FROM o.app AND (s.id IS NOT NULL OR o.created_at >= \(submissionsSince))
            """)

    private static let idSources = Rule(
        name: "transaction_ids_have_their_submission",
        sentence: "every transaction id has the submission or notification that told of it",
        sql: """
            SELECT format('%s %s: submission %s is not there', i.environment, i.transaction_id, i.submission_id)
                AS subject
            FROM order_transactions i LEFT JOIN submissions s ON s.id = i.submission_id
            WHERE s.id IS NULL AND i.created_at >= \(submissionsSince)
            """)

    // Where Apple cannot be asked, a device's word counts that was signed long enough afterwards: then its part has a date
    // of its own.
    private static let undone = Rule(
        name: "refunds_are_undone_by_apple",
        sentence:
            "no refund is undone but by Apple's server, or, where it cannot be asked, by what it signed much later",
        sql: """
            SELECT format('%s %s: granted again, and only a device says so', environment, transaction_id) AS subject
            FROM (
                SELECT environment, transaction_id FROM ledger_entries WHERE kind = 'reversal'
                UNION SELECT environment, transaction_id FROM events WHERE type = 'iap.refund.reversed') back
            JOIN orders o USING (environment, transaction_id)
            WHERE o.state = 'granted' AND o.transaction ->> 'teller' IS DISTINCT FROM 'server'
                AND NOT o.transaction ? 'refund_reversed_at'
                AND o.transaction #> '{sources,parts,revocation}' IS NULL
            """)

    private static let ends = Rule(
        name: "granted_periods_end", sentence: "every granted period of a subscription has an end",
        sql: """
            SELECT format('%s %s of %s', environment, transaction_id, account) AS subject FROM orders
            WHERE state = 'granted' AND product_type = 'auto_renewable' AND expires_date IS NULL
            """)

    private static let grantedOnce = Rule(
        name: "orders_grant_once", sentence: "an order granted each item once",
        sql: """
            SELECT format('%s %s, %s: %s lines bring %s', environment, transaction_id, item, count(*), sum(amount)) AS subject
            FROM ledger_entries WHERE kind = 'grant' GROUP BY environment, transaction_id, item HAVING count(*) > 1
            """)

    private static let corrections = Rule(
        name: "corrections_are_of_family_copies",
        sentence: "a correction takes what a family member's copy brought, and nothing else",
        sql: """
            SELECT format('%s %s, %s of %s: %s', l.environment, l.transaction_id, l.item, l.account, l.amount) AS subject
            FROM ledger_entries l
            LEFT JOIN orders o ON (o.environment, o.transaction_id) = (l.environment, l.transaction_id)
            WHERE l.kind = 'correction' AND coalesce(o.ownership, '') NOT IN ('FAMILY_SHARED', 'ASSIGNED')
            """)
}
