/// Rules of subscriptions: their current order, their owner, their ends.
extension ConsistencyCheck {
    static let subscriptionRules = [currentOrders, everySubscription, oneSubscription, ends]

    private static let currentOrders = Rule(
        name: "subscriptions_have_their_order",
        sentence: "the current period of every subscription is an order of its lineage and its account, "
            + "and is revoked when the subscription is",
        sql: """
            SELECT format('%s %s of %s, %s: order %s is %s', s.environment, s.original_transaction_id,
                coalesce(s.account, 'nobody'), s.state, s.transaction_id,
                coalesce(o.state || ' of ' || coalesce(o.account, 'nobody'), 'not there')) AS subject
            FROM subscriptions s
            LEFT JOIN orders o ON (o.environment, o.transaction_id) = (s.environment, s.transaction_id)
            WHERE o.state IS NULL OR o.state = 'parked' OR (o.state = 'revoked') <> (s.state = 'revoked')
                OR (o.app, o.original_transaction_id, o.product_id)
                    <> (s.app, s.original_transaction_id, s.product_id)
                OR o.account IS DISTINCT FROM s.account
            """)

    private static let everySubscription = Rule(
        name: "periods_have_their_subscription", sentence: "every granted period is of a subscription that is there",
        sql: """
            SELECT format('%s %s of %s', o.environment, o.transaction_id, o.account) AS subject FROM orders o
            LEFT JOIN subscriptions s USING (environment, original_transaction_id)
            WHERE o.state = 'granted' AND o.product_type = 'auto_renewable' AND o.expires_date IS NOT NULL
                AND s.app IS NULL
            """)

    // An original id that is another lineage's by now, and what goes by the same line item as another.
    private static let oneSubscription = Rule(
        name: "lineages_have_one_subscription",
        sentence: "a lineage has one subscription, whichever original ids it has, and every order is under its own one",
        sql: """
            SELECT format('%s %s: %s is under it, its lineage is %s', m.environment, m.original_transaction_id, found.what,
                m.lineage_id) AS subject
            FROM lineage_members m
            CROSS JOIN LATERAL (
                SELECT 'a subscription' AS what FROM subscriptions s
                WHERE (s.environment, s.original_transaction_id, s.app) = (m.environment, m.original_transaction_id, m.app)
                UNION ALL SELECT 'order ' || o.transaction_id FROM orders o
                WHERE (o.environment, o.original_transaction_id) = (m.environment, m.original_transaction_id)
                    AND o.app = m.app AND o.product_type <> 'consumable'
                UNION ALL SELECT 'a lineage' FROM lineages l
                WHERE (l.environment, l.original_transaction_id, l.app) = (m.environment, m.original_transaction_id, m.app)
                UNION ALL SELECT 'another original id' FROM lineage_members n
                WHERE (n.environment, n.lineage_id, n.app) = (m.environment, m.original_transaction_id, m.app)) found
            """)

    private static let ends = Rule(
        name: "subscriptions_end_by_the_clock",
        sentence: "a subscription gives access until its period ends at least, and is due when the clock changes it",
        sql: """
            SELECT format('%s %s, %s: expires %s, access until %s, due %s', environment, original_transaction_id, state,
                expires_date, access_until, coalesce(due_at::text, 'never')) AS subject
            FROM subscriptions
            WHERE access_until < expires_date OR (state IN ('active', 'grace_period')) <> (due_at IS NOT NULL)
            """)
}
