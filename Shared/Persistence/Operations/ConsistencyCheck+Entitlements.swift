/// Rules of entitlements: whose they are, that nothing is in force that Apple took back, and nothing missing that it did not.
extension ConsistencyCheck {
    static let entitlementRules = [
        entitlementsOfOrders, announcedEntitlements, takenEntitlements, revokedEntitlements, rescinded,
        followed,
    ]

    private static let entitlementsOfOrders = Rule(
        name: "entitlements_belong_to_their_order",
        sentence:
            "every entitlement has an order that was granted, of the same account or shared with it, or an act by "
            + "hand",
        sql: """
            SELECT format('%s of %s: order %s %s is %s', e.entitlement, e.account, e.environment, e.transaction_id,
                coalesce(o.state || ' of ' || coalesce(o.account, 'nobody'), 'not there')) AS subject
            FROM entitlements e
            LEFT JOIN orders o ON (o.environment, o.transaction_id) = (e.environment, e.transaction_id)
            WHERE CASE WHEN e.audit_id IS NOT NULL
                THEN NOT EXISTS (SELECT FROM audit_log a WHERE a.id = e.audit_id AND a.action = 'adjust')
                ELSE o.state IS NULL OR o.granted_at IS NULL OR o.app <> e.app
                    OR o.account IS DISTINCT FROM e.account AND NOT EXISTS (
                        SELECT FROM lineage_shares s WHERE s.account = e.account
                            AND (s.environment, s.original_transaction_id) = (o.environment, o.original_transaction_id))
                END
            """)

    private static let announcedEntitlements = Rule(
        name: "granted_orders_have_entitlements",
        sentence: "what the fulfilled event of an order named has an entitlement of the order's account",
        sql: """
            SELECT format('%s of %s: order %s %s', told.entitlement, o.account, o.environment, o.transaction_id) AS subject
            FROM (
                SELECT DISTINCT v.environment, v.transaction_id, n.entitlement FROM events v
                CROSS JOIN LATERAL jsonb_array_elements_text(v.body::jsonb -> 'data' -> 'entitlements')
                    AS n (entitlement)
                WHERE v.type = 'iap.transaction.fulfilled') told
            JOIN orders o USING (environment, transaction_id)
            LEFT JOIN entitlements e
                ON (e.account, e.app, e.environment, e.entitlement, e.transaction_id)
                    = (o.account, o.app, o.environment, told.entitlement, o.transaction_id)
            WHERE e.account IS NULL
            """)

    private static let takenEntitlements = Rule(
        name: "revoked_orders_entitle_to_nothing", sentence: "no entitlement of a revoked order is in force",
        sql: """
            SELECT format('%s of %s: order %s %s is revoked', e.entitlement, e.account, e.environment, e.transaction_id)
                AS subject
            FROM entitlements e
            JOIN orders o ON (o.environment, o.transaction_id) = (e.environment, e.transaction_id)
            WHERE o.state = 'revoked' AND e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > now())
            """)

    private static let revokedEntitlements = Rule(
        name: "entitlements_are_taken_with_cause",
        sentence: "no entitlement of a granted order is taken back by a refund, and none is frozen without a withdrawn "
            + "consent",
        sql: """
            SELECT format('%s of %s: order %s %s is %s, and it is taken back because %s', e.entitlement, e.account,
                e.environment, e.transaction_id, o.state, e.revoked_because) AS subject
            FROM entitlements e
            JOIN orders o ON (o.environment, o.transaction_id) = (e.environment, e.transaction_id)
            WHERE o.state = 'granted' AND e.revoked_because IN ('refund', 'family_revoke')
                OR e.revoked_because = 'consent_rescinded' AND NOT EXISTS (
                    SELECT FROM rescinded_consents c WHERE (c.environment, c.app) = (o.environment, o.app)
                        AND c.customer IN ('a:' || o.app_transaction_id, 't:' || o.original_transaction_id))
            """)

    private static let rescinded = Rule(
        name: "rescinded_consents_end_entitlements",
        sentence: "no entitlement is in force of what was bought before consent was withdrawn",
        sql: """
            SELECT format('%s of %s: order %s %s', e.entitlement, e.account, e.environment, e.transaction_id) AS subject
            FROM (\(ofCustomers)) o JOIN entitlements e USING (environment, transaction_id)
            WHERE o.purchase_date <= o.withdrawn_at AND e.revoked_at IS NULL
                AND (e.expires_at IS NULL OR e.expires_at > now())
            """)

    private static let followed = Rule(
        name: "rescinded_consents_follow_the_customer",
        sentence: "a withdrawn consent stands under every name that the orders of its customer have",
        sql: """
            SELECT DISTINCT format('%s of %s %s: order %s', n.customer, o.environment, o.app, o.transaction_id) AS subject
            FROM (\(ofCustomers)) o CROSS JOIN LATERAL (VALUES ('a:' || o.app_transaction_id),
                (CASE WHEN o.product_type <> 'consumable' THEN 't:' || o.original_transaction_id END)) n (customer)
            WHERE n.customer IS NOT NULL AND NOT EXISTS (
                SELECT FROM rescinded_consents c WHERE (c.environment, c.app, c.customer) = (o.environment, o.app, n.customer)
                    AND c.signed_date >= o.withdrawn_at)
            """)

    /// The orders of customers whose consent was withdrawn, and when.
    private static let ofCustomers = """
        SELECT o.*, c.signed_date AS withdrawn_at FROM rescinded_consents c
        JOIN orders o ON (o.environment, o.app, o.app_transaction_id) = (c.environment, c.app, substr(c.customer, 3))
        WHERE c.customer LIKE 'a:%'
        UNION ALL SELECT o.*, c.signed_date AS withdrawn_at FROM rescinded_consents c
        JOIN orders o ON (o.environment, o.original_transaction_id) = (c.environment, substr(c.customer, 3))
        WHERE c.customer LIKE 't:%' AND o.app = c.app AND o.product_type <> 'consumable'
        """
}
