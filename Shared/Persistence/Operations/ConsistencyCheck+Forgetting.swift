/// Rules of forgetting: what was there when an account was to be forgotten is nobody's by name.
extension ConsistencyCheck {
    static let forgettingRules = [forgotten, pseudonyms]

    // A request that is over names nobody, so that this can be asked of those that wait for purchases from before.
    private static let forgotten = Rule(
        name: "forgotten_accounts_keep_nothing",
        sentence:
            "nothing that an account had when it was to be forgotten has its name, once all of it has the pseudonym",
        sql: """
            SELECT format('%s of %s has %s from before the request %s', r.account, r.app, left_over.what, r.id) AS subject
            FROM forget_requests r CROSS JOIN LATERAL (
                SELECT 'a token' AS what FROM account_tokens t
                WHERE t.account = r.account AND t.app = r.app AND t.created_at <= r.requested_at
                UNION SELECT 'an intent' FROM purchase_intents i
                WHERE i.account = r.account AND i.app = r.app AND i.created_at <= r.requested_at
                UNION SELECT 'a consent' FROM account_consents k
                WHERE k.account = r.account AND k.app = r.app AND k.changed_at <= r.requested_at
                UNION SELECT 'a spend' FROM spends s
                WHERE s.account = r.account AND s.app = r.app AND s.created_at <= r.requested_at
                UNION SELECT 'an entry of the ledger' FROM ledger_entries l
                WHERE l.account = r.account AND l.app = r.app AND l.created_at <= r.requested_at
                UNION SELECT 'an event' FROM events e
                WHERE e.account = r.account AND e.app = r.app AND e.created_at <= r.requested_at) left_over
            WHERE r.account IS NOT NULL AND r.renamed_at IS NOT NULL
            """)

    private static let pseudonyms = Rule(
        name: "pseudonyms_say_nothing",
        sentence: "no pseudonym has a token, an intent or a consent",
        sql: """
            SELECT format('%s of %s has %s', account, app, what) AS subject
            FROM (
                SELECT account, app, 'a token' AS what FROM account_tokens
                UNION ALL SELECT account, app, 'an intent' FROM purchase_intents
                UNION ALL SELECT account, app, 'a consent' FROM account_consents) said
            WHERE account ~ '^forgotten-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            """)
}
