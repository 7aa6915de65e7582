import PurchaseModel

/// Rules of the ledger: every line has its cause, and brings or takes what that cause says.
extension ConsistencyCheck {
    static let ledgerRules = [
        balances, books, linesOfOrders, linesOfSpends, linesOfAdjustments, lineNumbers, takenBack, spent,
        covered,
    ]

    private static let balances = Rule(
        name: "balances_equal_entries", sentence: "balances equal the sum of entries",
        sql: """
            SELECT format('%s %s %s %s: balance %s, entries %s', environment, app, account, item,
                coalesce(b.amount, 0), coalesce(e.amount, 0)) AS subject
            FROM (
                SELECT environment, app, account, item, sum(amount) AS amount FROM ledger_entries
                GROUP BY environment, app, account, item) e
            FULL JOIN balances b USING (environment, app, account, item)
            WHERE coalesce(b.amount, 0) <> coalesce(e.amount, 0)
            """)

    private static let books = Rule(
        name: "books_balance",
        sentence: "of each item, what all accounts hold is what the books issued, less what was spent",
        sql: """
            SELECT format('%s %s %s: held %s, issued %s, spent %s', environment, app, item, coalesce(h.held, 0),
                coalesce(b.issued, 0), coalesce(b.spent, 0)) AS subject
            FROM (
                SELECT environment, app, item, sum(amount) AS held FROM balances GROUP BY 1, 2, 3) h
            FULL JOIN (
                SELECT environment, app, item, sum(amount) FILTER (WHERE book = 'issued') AS issued,
                    -sum(amount) FILTER (WHERE book = 'spent') AS spent
                FROM ledger_entries GROUP BY 1, 2, 3) b USING (environment, app, item)
            WHERE coalesce(h.held, 0) <> coalesce(b.issued, 0) - coalesce(b.spent, 0)
            """)

    private static let linesOfOrders = Rule(
        name: "entries_belong_to_their_order",
        sentence:
            "an entry of an order has one that was granted, and is of an account that has it, had its lineage, or has "
            + "its token, which a forgotten one has no more",
        sql: """
            SELECT format('entry %s: %s %s %s', l.id, l.environment, l.transaction_id,
                CASE WHEN o.state IS NULL THEN 'has no order'
                    ELSE format('of %s, order is %s of %s', l.account, o.state, coalesce(o.account, 'nobody'))
                        || CASE WHEN o.granted_at IS NULL THEN ' and was never granted' ELSE '' END END) AS subject
            FROM ledger_entries l
            LEFT JOIN orders o ON (o.environment, o.transaction_id) = (l.environment, l.transaction_id)
            WHERE l.kind IN ('grant', 'revocation', 'reversal', 'correction')
                AND (o.state IS NULL OR o.granted_at IS NULL OR l.app <> o.app
                    OR l.account IS DISTINCT FROM o.account
                        AND NOT \(lineageHistory("h.app = o.app AND l.account IN (h.to_account, h.from_account)"))
                        AND NOT EXISTS (SELECT FROM account_tokens t
                            WHERE (t.app, t.token, t.account) = (o.app, o.app_account_token, l.account))
                        AND NOT (o.app_account_token IS NULL AND l.account LIKE '\(Account.pseudonymPrefix)%'))
            """)

    private static let linesOfSpends = Rule(
        name: "entries_belong_to_their_spend", sentence: "an entry of a spend has one of the same account",
        sql: """
            SELECT format('entry %s: %s %s %s, spend %s is %s', l.id, l.environment, l.app, l.account,
                coalesce(l.spend_id::text, 'none'),
                coalesce('of ' || s.environment || ' ' || s.app || ' ' || s.account, 'not there')) AS subject
            FROM ledger_entries l LEFT JOIN spends s ON s.id = l.spend_id
            WHERE l.kind = 'spend'
                AND (s.id IS NULL OR (s.environment, s.app, s.account) <> (l.environment, l.app, l.account))
            """)

    private static let linesOfAdjustments = Rule(
        name: "entries_belong_to_their_audit_row",
        sentence: "an adjustment has a row in the audit log that names its account",
        sql: """
            SELECT format('entry %s: %s %s %s, audit row %s is %s', l.id, l.environment, l.app, l.account,
                coalesce(l.audit_id::text, 'none'), coalesce(a.action || ' ' || a.subject, 'not there')) AS subject
            FROM ledger_entries l LEFT JOIN audit_log a ON a.id = l.audit_id
            WHERE l.kind = 'adjustment' AND (a.id IS NULL OR a.action <> 'adjust'
                OR a.subject <> concat_ws(' ', l.environment, l.app, l.account))
            """)

    private static let lineNumbers = Rule(
        name: "entries_are_numbered", sentence: "the entries of every cause are numbered 1, 2, 3, … without a gap",
        sql: """
            SELECT format('%s of %s: %s entries, highest %s', kind,
                coalesce(environment || ' ' || transaction_id, 'spend ' || spend_id, 'audit row ' || audit_id),
                count(*), max(sequence)) AS subject
            FROM ledger_entries GROUP BY environment, transaction_id, spend_id, audit_id, kind
            HAVING max(sequence) <> count(*) OR min(sequence) <> 1
            """)

    private static let takenBack = Rule(
        name: "taken_back_is_what_was_brought",
        sentence:
            "an order takes no more from an account than it brought it, less what was corrected, gives back no more "
            + "than it took, and while it is granted nothing of it is taken, unless it is a family member's copy",
        sql: """
            SELECT format('%s %s, %s of %s: granted %s, corrected %s, taken %s, given back %s, order is %s',
                l.environment, l.transaction_id, l.item, l.account, granted, corrected, taken, given_back,
                coalesce(o.state, 'not there')) AS subject
            FROM (
                SELECT environment, transaction_id, account, item,
                    coalesce(sum(amount) FILTER (WHERE kind = 'grant'), 0) AS granted,
                    coalesce(-sum(amount) FILTER (WHERE kind = 'correction'), 0) AS corrected,
                    coalesce(-sum(amount) FILTER (WHERE kind = 'revocation'), 0) AS taken,
                    coalesce(sum(amount) FILTER (WHERE kind = 'reversal'), 0) AS given_back
                FROM ledger_entries WHERE transaction_id IS NOT NULL GROUP BY 1, 2, 3, 4) l
            LEFT JOIN orders o ON (o.environment, o.transaction_id) = (l.environment, l.transaction_id)
            WHERE taken - given_back > granted - corrected OR given_back > taken
                OR o.state = 'granted' AND taken <> given_back
                    AND coalesce(o.ownership, '') NOT IN ('FAMILY_SHARED', 'ASSIGNED')
            """)

    private static let spent = Rule(
        name: "spends_equal_their_entries", sentence: "every spend took exactly the items that it was answered with",
        sql: """
            SELECT format('spend %s, %s: answered %s, entries %s', id, item, coalesce(told.amount, 0),
                coalesce(written.amount, 0)) AS subject
            FROM (
                SELECT s.id, i.item, sum(i.amount) AS amount FROM spends s
                CROSS JOIN LATERAL jsonb_to_recordset(s.answer -> 'items') AS i (item text, amount int8)
                GROUP BY 1, 2) told
            FULL JOIN (
                SELECT spend_id AS id, item, -sum(amount) AS amount FROM ledger_entries
                WHERE kind = 'spend' GROUP BY 1, 2) written USING (id, item)
            WHERE told.amount IS DISTINCT FROM written.amount
            """)

    // Lines of one balance are numbered in the order in which they were added to it: its row is locked before.
    private static let covered = Rule(
        name: "spends_are_covered", sentence: "no spend left an account less than nothing",
        sql: """
            SELECT format('spend %s of %s %s %s: %s %s left', spend_id, environment, app, account, held, item) AS subject
            FROM (
                SELECT kind, spend_id, environment, app, account, item, sum(amount) OVER (
                    PARTITION BY account, app, environment, item ORDER BY id) AS held
                FROM ledger_entries) l
            WHERE kind = 'spend' AND held < 0
            """)
}
