/// Rules of purchases: an order is one purchase, each of its transaction ids leads to it, and it granted once.
extension ConsistencyCheck {
    static let purchaseRules = [
        ownIds, idsOfOrders, keys, distinct, lineItems, merged, broughtBy, idSources, ends,
    ]
    static let doubleGrantRules = [grantedOnce, doublesDecided, corrections]

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

    /// The keys that follow from a row of `orders o`, as migration 6 and `PurchaseKeys` derive them.
    private enum Derived {
        static let isPeriod =
            "(o.product_type = 'auto_renewable' OR o.product_type = 'unstated' AND o.expires_date IS NOT NULL)"
        static let key = """
            CASE WHEN o.product_type = 'consumable' THEN NULL
                WHEN \(isPeriod) THEN 'p:' || o.original_transaction_id || ':' || o.web_order_line_item_id
                ELSE 'o:' || o.original_transaction_id END
            """
        static let fallback = """
            CASE WHEN \(isPeriod) THEN 'd:' || o.original_transaction_id || ':' || o.product_id || ':'
                || floor(extract(epoch FROM o.purchase_date))::bigint END
            """
        /// The orders whose data contradicts another order's: they have no keys, since the other has them.
        static let contradicting = """
            SELECT i.environment, i.order_transaction_id AS transaction_id FROM purchase_conflicts c
            JOIN order_transactions i USING (environment, transaction_id)
            """
    }

    private static let keys = Rule(
        name: "purchase_keys_follow_from_the_order",
        sentence:
            "an order has the purchase keys that follow from its row, but for those of an order that it contradicts, and the "
            + "second of a purchase that Apple states otherwise by now, by a day at most",
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
            WHERE purchase_key IS DISTINCT FROM derived_key
                    AND NOT (purchase_key IS NULL AND contradicting.environment IS NOT NULL)
                OR (regexp_replace(fallback_key, '-?[0-9]+$', '')
                        IS DISTINCT FROM regexp_replace(derived_fallback, '-?[0-9]+$', '')
                    OR abs(substring(fallback_key FROM '-?[0-9]+$')::numeric
                        - substring(derived_fallback FROM '-?[0-9]+$')::numeric) > 86400)
                    AND NOT (fallback_key IS NULL AND contradicting.environment IS NOT NULL)
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

    private static let merged = Rule(
        name: "merged_orders_are_gone",
        sentence: "an order that was merged is none any more, and its id leads to the order that took it in",
        sql: """
            SELECT format('%s %s, merged into %s: %s', m.environment, m.transaction_id, m.order_transaction_id,
                CASE WHEN o.app IS NOT NULL THEN 'is an order'
                    ELSE coalesce('its id leads to ' || i.order_transaction_id, 'its id is not recorded') END) AS subject
            FROM merged_orders m
            LEFT JOIN orders o USING (environment, transaction_id)
            LEFT JOIN order_transactions i USING (environment, transaction_id)
            WHERE o.app IS NOT NULL OR i.order_transaction_id IS DISTINCT FROM m.order_transaction_id
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

    private static let ends = Rule(
        name: "granted_periods_end", sentence: "every granted period of a subscription has an end",
        sql: """
            SELECT format('%s %s of %s', environment, transaction_id, account) AS subject FROM orders
            WHERE state = 'granted' AND product_type = 'auto_renewable' AND expires_date IS NULL
            """)

    // What remains of the lines of one item without the largest was granted too much, to whichever account, unless a
    // refund took it.
    private static let grantedOnce = Rule(
        name: "orders_grant_once",
        sentence: "an order granted each item once; what was granted twice before orders were merged is recorded",
        sql: """
            SELECT format('%s %s, %s: %s lines bring %s, recorded as double %s', environment, transaction_id, item, lines,
                granted, coalesce(recorded, 0)) AS subject
            FROM (
                SELECT environment, transaction_id, item, count(*) FILTER (WHERE kind = 'grant') AS lines,
                    sum(amount) AS granted, max(amount) FILTER (WHERE kind = 'grant') AS largest
                FROM ledger_entries WHERE kind IN ('grant', 'revocation', 'reversal') GROUP BY 1, 2, 3
                HAVING count(*) FILTER (WHERE kind = 'grant') > 1) l
            LEFT JOIN (
                SELECT environment, order_transaction_id AS transaction_id, item, sum(amount) AS recorded
                FROM double_grants GROUP BY 1, 2, 3) d USING (environment, transaction_id, item)
            WHERE granted - largest > coalesce(recorded, 0)
            """)

    private static let doublesDecided = Rule(
        name: "double_grants_are_decided", sentence: "what was granted twice is corrected, or left by decision",
        sql: """
            SELECT format('%s %s: %s %s too many to %s of %s', environment, order_transaction_id, amount, item, account,
                app) AS subject
            FROM double_grants WHERE state = 'open'
            """)

    private static let corrections = Rule(
        name: "corrections_are_what_was_decided",
        sentence: "a correction took what was decided, no more than was granted twice, and nothing without a decision, "
            + "but for what a family member's copy brought",
        sql: """
            SELECT format('%s %s, %s of %s: %s, granted twice %s, decided %s, taken %s', environment, transaction_id, item,
                account, coalesce(d.state, 'not recorded'), coalesce(d.amount, 0), coalesce(d.corrected, 0),
                coalesce(l.taken, 0)) AS subject
            FROM (
                SELECT environment, order_transaction_id AS transaction_id, app, account, item, amount, state, corrected
                FROM double_grants) d
            FULL JOIN (
                SELECT environment, transaction_id, app, account, item, -sum(amount) AS taken FROM ledger_entries
                WHERE kind = 'correction' GROUP BY 1, 2, 3, 4, 5) l
                USING (environment, transaction_id, app, account, item)
            LEFT JOIN (SELECT environment, transaction_id, ownership FROM orders) o USING (environment, transaction_id)
            WHERE coalesce(l.taken, 0) <> coalesce(d.corrected, 0) AND ownership IS DISTINCT FROM 'FAMILY_SHARED'
                OR d.corrected > d.amount OR d.corrected < 0
            """)
}
