/// Rules of events: what was told is what was written, once.
extension ConsistencyCheck {
    static let eventRules = [announcedGrants, announcedRevocations, oneEvent, refundEvents, sequences]

    private static let announcedGrants = Rule(
        name: "events_tell_what_was_granted", sentence: "fulfilled events name exactly the amounts of the entries",
        sql: announcedAndWritten(types: ["iap.transaction.fulfilled"], kinds: ["grant"]))

    private static let announcedRevocations = Rule(
        name: "events_tell_what_was_taken",
        sentence: "events of refunds, reversals and family sharing name exactly the amounts of the entries",
        sql: announcedAndWritten(types: refundTypes + ["iap.refund.reversed"], kinds: ["revocation", "reversal"]))

    private static let refundTypes = ["iap.refund.granted", "iap.family.revoked"]

    /// The time since when every event is there, as SQL: older ones may have been dropped by retention.
    ///
    /// An id is of the event's clock and all else of the database's, so that a day is left between them.
    static let eventsSince = """
        coalesce((SELECT dropped_before + interval '1 day' FROM retention_marks WHERE name = 'events'), '-infinity')
        """

    private static func list(_ names: [String]) -> String { names.map { "'\($0)'" }.joined(separator: ", ") }

    private static func announcedAndWritten(types: [String], kinds: [String]) -> String {
        """
        SELECT format('%s %s %s: told %s, entries %s', environment, transaction_id, item,
            coalesce(told.amount, 0), coalesce(written.amount, 0)) AS subject
        FROM (
            SELECT e.environment, e.transaction_id, i.item, sum(i.amount) AS amount FROM events e
            CROSS JOIN LATERAL jsonb_to_recordset(e.body::jsonb -> 'data' -> 'entries') AS i (item text, amount int8)
            WHERE e.type IN (\(list(types))) GROUP BY 1, 2, 3) told
        FULL JOIN (
            SELECT environment, transaction_id, item, sum(amount) AS amount FROM ledger_entries
            WHERE kind IN (\(list(kinds))) GROUP BY 1, 2, 3) written USING (environment, transaction_id, item) AS own
        WHERE coalesce(told.amount, 0) <> coalesce(written.amount, 0)
            AND NOT EXISTS (SELECT FROM ledger_entries l
                WHERE (l.environment, l.transaction_id) = (own.environment, own.transaction_id)
                    AND l.kind IN (\(list(kinds))) AND l.created_at < \(eventsSince))
        """
    }

    private static let oneEvent = Rule(
        name: "granted_orders_have_one_event",
        sentence:
            "every order that was granted has exactly one fulfilled event, one more where its items went to another "
            + "account than its entitlements, one that an older system granted one at the most, and no other order has one",
        sql: """
            SELECT format('%s %s: %s events', environment, transaction_id, coalesce(e.events, 0)) AS subject
            FROM (
                SELECT environment, transaction_id, true AS is_granted,
                    granted_elsewhere OR granted_at < \(eventsSince) AS may_be_untold
                FROM orders
                WHERE granted_at IS NOT NULL) o
            FULL JOIN (
                SELECT environment, transaction_id,
                    count(*) - (count(*) = 2 AND count(DISTINCT account) = 2 AND bool_or(has_items AND NOT has_names)
                        AND bool_or(NOT has_items))::int AS events
                FROM (
                    SELECT e.*, e.body::jsonb -> 'data' -> 'entries' <> '[]' AS has_items,
                        e.body::jsonb -> 'data' -> 'entitlements' <> '[]' AS has_names
                    FROM events e WHERE type = 'iap.transaction.fulfilled') e
                GROUP BY 1, 2) e USING (environment, transaction_id)
            WHERE coalesce(e.events, 0) NOT BETWEEN CASE WHEN o.may_be_untold THEN 0 ELSE 1 END AND 1
                OR o.is_granted IS NULL
            """)

    // A lineage may move between a refund and its reversal, so that its accounts heard of one of them only; and come back.
    private static let refundEvents = Rule(
        name: "revoked_orders_have_their_event",
        sentence: "a refund event tells of every order that was granted and is revoked, "
            + "and the last that its account heard of a refund is how it stands",
        sql: """
            SELECT format('%s %s is %s: %s', o.environment, o.transaction_id, o.state,
                coalesce('its account heard last of ' || heard.type, 'nobody heard of it')) AS subject
            FROM orders o
            LEFT JOIN (
                SELECT environment, transaction_id FROM events e WHERE type IN (\(list(refundTypes)))
                GROUP BY 1, 2) told USING (environment, transaction_id)
            LEFT JOIN (
                SELECT DISTINCT ON (environment, transaction_id, app, account)
                    environment, transaction_id, app, account, type
                FROM events e
                WHERE type IN (\(list(refundTypes)), 'iap.refund.reversed') AND account IS NOT NULL
                ORDER BY environment, transaction_id, app, account, sequence DESC) heard
                USING (environment, transaction_id, app, account)
            WHERE o.granted_at >= \(eventsSince)
                AND (o.state = 'revoked' AND told.environment IS NULL
                    OR (heard.type <> 'iap.refund.reversed') <> (o.state = 'revoked')
                        AND NOT \(lineageHistory("h.from_account = o.account AND h.cause <> 'share'")))
            """)

    private static let sequences = Rule(
        name: "sequences_have_no_gaps",
        sentence:
            "the events of every account are numbered 1, 2, 3, … without a gap, but for old ones that were dropped",
        sql: """
            SELECT format('%s %s %s: last %s, events %s, highest %s', environment, app, account,
                s.last_sequence, e.events, e.highest) AS subject
            FROM account_sequences s
            FULL JOIN (
                SELECT environment, app, account, count(*) AS events, min(sequence) AS lowest, max(sequence) AS highest
                FROM events WHERE account IS NOT NULL GROUP BY 1, 2, 3) e USING (environment, app, account)
            WHERE CASE WHEN \(eventsSince) = '-infinity'
                THEN s.last_sequence IS DISTINCT FROM e.events OR s.last_sequence IS DISTINCT FROM e.highest
                ELSE s.last_sequence IS NULL OR e.highest <> s.last_sequence
                    OR e.events <> e.highest - e.lowest + 1 END
            """)
}
