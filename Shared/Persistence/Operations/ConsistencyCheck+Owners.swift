/// Rules of owners: lineages, the history of their bindings, tokens, shares.
extension ConsistencyCheck {
    static let ownerRules = [lineages, bindings, chain, tokens, items, shares]

    /// Whether a row `h` of the history of the lineage of an order `o`, under any of its original ids, fits, as SQL.
    static func lineageHistory(_ condition: String) -> String {
        """
        (EXISTS (SELECT FROM binding_history h
                WHERE (h.environment, h.original_transaction_id) = (o.environment, o.original_transaction_id)
                    AND \(condition))
            OR EXISTS (SELECT FROM lineage_members m JOIN binding_history h USING (environment, original_transaction_id)
                WHERE (m.environment, m.lineage_id) = (o.environment, o.original_transaction_id) AND \(condition)))
        """
    }

    // Where Apple's data states no type, the catalogue's word counted, and a lineage says what it was.
    private static let lineages = Rule(
        name: "granted_orders_are_their_lineages",
        sentence: "a granted order that is not used up is of its lineage's account",
        sql: """
            SELECT format('%s %s of %s: lineage %s is %s', o.environment, o.transaction_id, o.account,
                o.original_transaction_id,
                CASE WHEN l.app IS NULL THEN 'not there' ELSE coalesce('of ' || l.account, 'of nobody') END) AS subject
            FROM orders o LEFT JOIN lineages l USING (environment, original_transaction_id)
            WHERE o.state = 'granted' AND o.product_type <> 'consumable'
                AND (l.app IS NOT NULL OR o.product_type <> 'unstated')
                AND (l.app, l.account) IS DISTINCT FROM (o.app, o.account)
            """)

    private static let bindings = Rule(
        name: "lineages_follow_their_history",
        sentence: "a lineage is of the account that the last row of its history names",
        sql: """
            SELECT format('%s %s: of %s, history says %s', l.environment, l.original_transaction_id,
                coalesce(l.account, 'nobody'), coalesce(h.to_account, 'nothing')) AS subject
            FROM lineages l LEFT JOIN (
                SELECT DISTINCT ON (environment, original_transaction_id) environment, original_transaction_id, to_account
                FROM binding_history WHERE cause <> 'share'
                ORDER BY environment, original_transaction_id, id DESC) h USING (environment, original_transaction_id)
            WHERE l.account IS DISTINCT FROM h.to_account
            """)

    private static let chain = Rule(
        name: "bindings_go_on_from_each_other",
        sentence: "every binding of a lineage names the account that had it before",
        sql: """
            SELECT format('binding %s of %s %s: from %s, and it was of %s', id, environment, original_transaction_id,
                coalesce(from_account, 'nobody'), coalesce(held_by, 'nobody')) AS subject
            FROM (
                SELECT id, environment, original_transaction_id, from_account,
                    lag(to_account) OVER (PARTITION BY environment, original_transaction_id ORDER BY id) AS held_by
                FROM binding_history WHERE cause <> 'share') h
            WHERE from_account IS DISTINCT FROM held_by
            """)

    // Whoever claimed a receipt before Apple's signed transaction with its token was seen keeps a consumable: the event
    // of its grant names no token then.
    private static let tokens = Rule(
        name: "tokens_name_the_account",
        sentence:
            "a granted order with an appAccountToken is the token's account's, unless its lineage moved or has a newer "
            + "one, an operator said otherwise, or it was granted before Apple named the token",
        sql: """
            SELECT format('%s %s: granted to %s, token of %s', o.environment, o.transaction_id, o.account,
                coalesce(t.account, 'nobody')) AS subject
            FROM orders o LEFT JOIN account_tokens t ON t.app = o.app AND t.token = o.app_account_token
            WHERE o.state = 'granted' AND o.app_account_token IS NOT NULL AND t.account IS DISTINCT FROM o.account
                AND o.granted_at >= \(eventsSince)
                AND NOT \(lineageHistory("h.to_account = o.account AND (h.from_account IS NOT NULL OR h.cause = 'operator')"))
                AND NOT EXISTS (SELECT FROM lineages l
                    WHERE (l.environment, l.original_transaction_id) = (o.environment, o.original_transaction_id)
                        AND l.account = o.account AND l.token <> o.app_account_token)
                AND NOT EXISTS (SELECT FROM events e
                    WHERE (e.environment, e.transaction_id) = (o.environment, o.transaction_id)
                        AND e.type = 'iap.transaction.fulfilled'
                        AND e.body::jsonb -> 'customer' ->> 'id' = o.account
                        AND e.body::jsonb -> 'customer' ->> 'app_account_token' IS NULL)
            """)

    // Whoever had a lineage when an order of it was granted that had no token yet keeps the items: the event names none then.
    private static let items = Rule(
        name: "items_are_with_their_token",
        sentence:
            "what a purchase of a lineage brought went to the account of its token, unless the lineage was moved on "
            + "purpose, or the token was named later",
        sql: """
            SELECT format('%s %s: %s %s went to %s, token of %s', o.environment, o.transaction_id, l.amount, l.item,
                l.account, t.account) AS subject
            FROM ledger_entries l JOIN orders o USING (environment, transaction_id)
            JOIN account_tokens t ON t.app = o.app AND t.token = o.app_account_token
            WHERE l.kind = 'grant' AND o.product_type <> 'consumable' AND l.account <> t.account
                AND l.created_at >= \(eventsSince)
                AND NOT \(lineageHistory("h.to_account = l.account AND h.cause IN ('transfer', 'operator')"))
                AND NOT EXISTS (SELECT FROM events e
                    WHERE (e.environment, e.transaction_id) = (o.environment, o.transaction_id)
                        AND e.type = 'iap.transaction.fulfilled' AND e.account = l.account
                        AND e.body::jsonb -> 'customer' ->> 'app_account_token' IS NULL)
            """)

    private static let shares = Rule(
        name: "shares_have_an_owner",
        sentence: "who shares a lineage is not its owner, and a row of its history says so",
        sql: """
            SELECT format('%s %s: shared with %s, is of %s', s.environment, s.original_transaction_id, s.account,
                coalesce(l.account, 'nobody')) AS subject
            FROM lineage_shares s LEFT JOIN lineages l USING (environment, original_transaction_id)
            WHERE l.account IS NULL OR l.account = s.account OR l.app <> s.app
                OR NOT EXISTS (SELECT FROM binding_history h
                    WHERE (h.environment, h.original_transaction_id) = (s.environment, s.original_transaction_id)
                        AND h.cause = 'share' AND h.to_account = s.account)
                AND NOT EXISTS (SELECT FROM lineage_members m
                    JOIN binding_history h USING (environment, original_transaction_id)
                    WHERE (m.environment, m.lineage_id) = (s.environment, s.original_transaction_id)
                        AND h.cause = 'share' AND h.to_account = s.account)
            """)
}
