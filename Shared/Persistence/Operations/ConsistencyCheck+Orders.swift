/// Rules of orders and submissions: what is granted is there, and what the app was told is so.
extension ConsistencyCheck {
    static let orderRules = [grants, elsewhere, unclaimed, catalogues]
    static let submissionRules = [settled, waiting, proofs, unsettledProofs]

    private static let grants = Rule(
        name: "granted_orders_have_entries",
        sentence: "every order that was granted has entries or entitlements, unless its product grants nothing, or an "
            + "older system granted it",
        sql: """
            SELECT format('%s %s of %s', o.environment, o.transaction_id, o.account) AS subject FROM orders o
            WHERE o.granted_at >= \(eventsSince) AND NOT o.granted_elsewhere
                AND NOT EXISTS (SELECT FROM ledger_entries l WHERE l.kind = 'grant'
                    AND (l.environment, l.transaction_id) = (o.environment, o.transaction_id))
                AND NOT EXISTS (SELECT FROM entitlements e
                    WHERE (e.environment, e.transaction_id) = (o.environment, o.transaction_id))
                AND NOT EXISTS (SELECT FROM events e WHERE e.type = 'iap.transaction.fulfilled'
                    AND (e.environment, e.transaction_id) = (o.environment, o.transaction_id)
                    AND e.body::jsonb -> 'data' -> 'entries' = '[]' AND e.body::jsonb -> 'data' -> 'entitlements' = '[]')
            """)

    private static let elsewhere = Rule(
        name: "granted_elsewhere_is_not_granted_here",
        sentence: "nothing in the ledger is of an order that an older system granted",
        sql: """
            SELECT format('%s %s of %s: entry %s, %s %s', o.environment, o.transaction_id, o.account, l.id, l.amount, l.item)
                AS subject
            FROM orders o JOIN ledger_entries l USING (environment, transaction_id) WHERE o.granted_elsewhere
            """)

    private static let unclaimed = Rule(
        name: "unclaimed_orders_are_nobodys", sentence: "an order that nobody claimed has no account and no token",
        sql: """
            SELECT format('%s %s', environment, transaction_id) AS subject FROM orders
            WHERE state = 'parked' AND reason = 'unclaimed'
                AND (account IS NOT NULL OR app_account_token IS NOT NULL)
            """)

    private static let catalogues = Rule(
        name: "orders_have_their_catalogue", sentence: "every version of the catalogue that an order names is kept",
        sql: """
            SELECT format('%s %s: catalogue %s', environment, transaction_id, catalogue_version) AS subject FROM orders o
            WHERE catalogue_version IS NOT NULL
                AND NOT EXISTS (SELECT FROM catalogues c WHERE c.version = o.catalogue_version)
            """)

    // Apple's notifications are fulfilled when what they say is recorded, whatever that is. What was nobody's and taken back
    // when somebody posted it may have been given back since, to nobody or to whom its token means.
    private static let settled = Rule(
        name: "fulfilled_submissions_have_orders",
        sentence: "every fulfilled submission of an account has an order that was granted or revoked, "
            + "and is or was the account's, shared with it, or brought it items",
        sql: """
            SELECT format('%s of %s', s.id, s.account) AS subject FROM submissions s
            WHERE s.state = 'fulfilled' AND s.account <> '' AND NOT EXISTS (
                SELECT FROM submissions same
                CROSS JOIN LATERAL jsonb_to_recordset(same.outcome -> 'transactions')
                    AS t (environment text, transaction_id text)
                JOIN order_transactions i
                    ON (i.environment, i.transaction_id) = (coalesce(t.environment, 'production'), t.transaction_id)
                JOIN orders o ON (o.environment, o.transaction_id) = (i.environment, i.order_transaction_id)
                WHERE same.id = s.id AND same.state = 'fulfilled'
                    AND (o.state <> 'parked' OR same.reason = 'revoked_by_apple')
                    AND (o.account IS NULL OR o.account = s.account OR same.reason = 'revoked_by_apple' OR EXISTS (
                        SELECT FROM ledger_entries l WHERE l.kind = 'grant' AND l.account = s.account
                            AND (l.environment, l.transaction_id) = (o.environment, o.transaction_id))
                        OR \(lineageHistory("s.account IN (h.to_account, h.from_account)"))))
            """)

    private static let waiting = Rule(
        name: "parked_submissions_wait",
        sentence: "every parked submission waits for an order that is parked, for an environment, or for a proof",
        sql: """
            SELECT format('%s of %s: %s', s.id, s.account, s.reason) AS subject FROM submissions s
            WHERE s.state = 'parked' AND s.reason NOT IN ('environment_missing', 'possession_unproven')
                AND NOT EXISTS (
                SELECT FROM jsonb_to_recordset(s.outcome -> 'transactions') AS t (environment text, transaction_id text)
                JOIN order_transactions i
                    ON (i.environment, i.transaction_id) = (coalesce(t.environment, 'production'), t.transaction_id)
                JOIN submission_transactions l ON (l.environment, l.transaction_id, l.submission_id)
                    = (i.environment, i.order_transaction_id, s.id)
                JOIN orders o ON (o.environment, o.transaction_id) = (l.environment, l.transaction_id)
                WHERE o.state = 'parked')
            """)

    private static let proofs = Rule(
        name: "proofs_have_their_header",
        sentence: "proof_headers has the header of every proof that is stored without it",
        sql: """
            SELECT p.submission_id AS subject FROM submission_proofs p
            WHERE p.header IS NOT NULL
                AND NOT EXISTS (SELECT FROM proof_headers h WHERE h.fingerprint = p.header)
            """)

    private static let unsettledProofs = Rule(
        name: "unsettled_submissions_have_their_proof",
        sentence: "no proof was dropped of a submission that is still to be decided",
        sql: """
            SELECT format('%s of %s: %s', s.id, s.account, s.state) AS subject FROM submissions s
            WHERE s.state IN ('received', 'parked') AND s.proof_at IS NOT NULL
                AND NOT EXISTS (SELECT FROM submission_proofs p
                    WHERE p.received_at = s.proof_at AND p.submission_id = s.id)
            """)
}
