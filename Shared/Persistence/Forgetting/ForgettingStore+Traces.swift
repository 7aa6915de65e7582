import Foundation
import Postgres
import PurchaseModel

extension ForgettingStore {
    /// Where an account is found: what no index by its name leads to.
    struct Traces: Sendable {
        /// In lower case.
        var tokens: [String] = []
        /// Whatever it ever had to do with.
        var lineages: [LineageKey] = []
        /// Its own, those of these lineages, those with a token of it, and those of which its posts tell.
        var orders: [OrderKey] = []
        /// The same, all of them in each slice.
        var namedOrders: [OrderKey] = []
        var entries: [Int64] = []
        var bindings: [Int64] = []
        /// Posts of the account from before the request, which are settled, or are not waited for any more.
        var submissions: [String] = []
        /// What Apple or others posted with a token of it inside.
        var proofs: [String] = []
        /// Others' events that name it, or its tokens.
        var mentions: [String] = []
        /// Acts by hand that were about it.
        var acts: [Int64] = []

        /// The same, so many of each at a time, and the tokens in each.
        ///
        /// At least one: some tables are asked by the name.
        func slices(of count: Int) -> [Traces] {
            let longest =
                [
                    lineages.count, orders.count, entries.count, bindings.count, submissions.count,
                    proofs.count, mentions.count, acts.count, 1,
                ].max() ?? 1
            return stride(from: 0, to: longest, by: count).map { start in
                func part<Element>(_ all: [Element]) -> [Element] { Array(all.dropFirst(start).prefix(count)) }
                return Traces(
                    tokens: tokens, lineages: part(lineages), orders: part(orders), namedOrders: namedOrders,
                    entries: part(entries), bindings: part(bindings), submissions: part(submissions),
                    proofs: part(proofs), mentions: part(mentions), acts: part(acts))
            }
        }
    }

    /// Looks for an account in every table; nothing is locked, and some tables are read whole.
    func traces(of request: ForgetRequestStore.Due) async throws -> Traces {
        var traces = Traces()
        // Once all of it has the pseudonym, it is found by that; by the name there are posts alone.
        let account = request.isRenamed ? request.pseudonym : request.account
        traces.tokens = try await texts(Self.tokens(of: account, request))
        try await ForgetRequestStore.remember(tokens: traces.tokens, of: request, in: pool)
        let lineages = try await pool.query(Self.lineages(of: account, traces, request))
        traces.lineages = try lineages.map(LineageKey.init)
        let orders = try await pool.query(Self.orders(of: account, traces, request))
        traces.orders = try orders.map(OrderKey.init)
        traces.namedOrders = traces.orders
        try await findPosts(&traces, request)
        guard !request.isRenamed else { return traces }
        traces.entries = try await ids(
            """
            SELECT id FROM ledger_entries WHERE account = \(request.account) AND app = \(request.app)
                AND (transaction_id IS NOT NULL OR created_at <= \(Self.moment(request))) ORDER BY id
            """)
        traces.bindings = try await ids(
            """
            SELECT id FROM binding_history
            WHERE (from_account = \(request.account) OR to_account = \(request.account)) AND app = \(request.app) ORDER BY id
            """)
        traces.acts = try await ids(Self.acts(traces, request))
        return traces
    }

    private func findPosts(_ traces: inout Traces, _ request: ForgetRequestStore.Due) async throws {
        // What is not settled is waited for; what came after the request is a new account's.
        traces.submissions = try await texts(
            """
            SELECT s.id FROM submissions s JOIN forget_requests r ON r.id = \(request.id)
            WHERE s.account = \(request.account) AND s.app = \(request.app) AND s.received_at <= r.requested_at
                AND (s.state <> 'received' OR now() >= r.requested_at + \(Limit.waitForPurchases))
                AND NOT \(ForgetRequestStore.isOfEarlier(than: "r", "s.received_at"))
            ORDER BY s.id
            """)
        traces.proofs = try await texts(Self.proofs(traces, request))
        let name = try JSONNames(request).inner
        traces.mentions = try await texts(
            """
            SELECT e.id FROM \(SQL.rows(of: traces.orders)) AS o (environment, transaction_id)
            JOIN events e USING (environment, transaction_id)
            WHERE (e.account IS DISTINCT FROM \(request.account) OR e.app <> \(request.app))
                AND (strpos(e.body, \(name)) > 0 AND NOT \(request.isRenamed)
                    OR \(Self.tokenInBody) = ANY(\(traces.tokens)))
            ORDER BY e.id
            """)
        traces.acts = try await ids(
            "SELECT id FROM audit_log WHERE action = 'redrive' AND subject = ANY(\(traces.submissions)) ORDER BY id")
    }

    private func ids(_ sql: SQL) async throws -> [Int64] { try await pool.query(sql).map { (id: Int64) in id } }

    private func texts(_ sql: SQL) async throws -> [String] { try await pool.query(sql).map { (text: String) in text } }

    /// The first token of an event's body, in lower case.
    static let tokenInBody: SQL = #"lower(substring(e.body FROM '"app_account_token":"([0-9A-Fa-f-]{36})"'))"#

    // A token of nobody that stands in an order of the account is the account's: an operator said so.
    private static func tokens(of account: Account, _ request: ForgetRequestStore.Due) -> SQL {
        """
        SELECT token::text AS token FROM account_tokens
        WHERE account = \(account) AND app = \(request.app) AND created_at <= \(moment(request))
        UNION SELECT id::text FROM purchase_intents WHERE account = \(account) AND app = \(request.app)
            AND created_at <= \(moment(request))
        UNION SELECT o.app_account_token::text FROM orders o
        WHERE o.account = \(account) AND o.app = \(request.app) AND o.app_account_token IS NOT NULL
            AND NOT EXISTS (SELECT FROM account_tokens t
                WHERE (t.app, t.token) = (o.app, o.app_account_token) AND t.account <> \(account))
        UNION SELECT unnest(tokens) FROM forget_requests WHERE id = \(request.id)
        ORDER BY 1
        """
    }

    private static func lineages(
        of account: Account, _ traces: Traces, _ request: ForgetRequestStore.Due
    ) -> SQL {
        let tokens = SQL.once(traces.tokens)
        let former = request.isRenamed ? request.account.text : ""
        return """
            SELECT environment, original_transaction_id FROM lineages
            WHERE app = \(request.app) AND (account = \(account) OR token = ANY(\(tokens)::uuid[])
                AND account IS DISTINCT FROM \(former))
            UNION SELECT environment, original_transaction_id FROM binding_history
            WHERE app = \(request.app) AND (from_account = \(account) OR to_account = \(account))
            UNION SELECT environment, original_transaction_id FROM lineage_shares WHERE account = \(account)
                AND app = \(request.app)
            UNION SELECT c.environment, c.original_transaction_id FROM lineage_claims c
            JOIN lineages l USING (environment, original_transaction_id) WHERE c.account = \(account) AND l.app = \(request.app)
            UNION SELECT environment, original_transaction_id FROM subscriptions WHERE account = \(account) AND app = \(request.app)
            UNION SELECT environment, original_transaction_id FROM orders WHERE account = \(account) AND app = \(request.app)
            UNION SELECT environment, original_transaction_id FROM orders
            WHERE app_account_token = ANY(\(tokens)::uuid[]) AND app = \(request.app) AND purchase_date <= \(moment(request))
                AND account IS DISTINCT FROM \(former)
            ORDER BY 1, 2
            """
    }

    // What its posts tell of is found by outcomes; of receipts by their ids wherever these stand, with no index, since a
    // receipt may come in parts, of which the outcome tells the last. What was bought since by whoever has one of its tokens
    // now is another's.
    private static func orders(
        of account: Account, _ traces: Traces, _ request: ForgetRequestStore.Due
    ) -> SQL {
        """
        WITH posts AS MATERIALIZED (
            SELECT id, kind, outcome FROM submissions WHERE account = \(request.account) AND app = \(request.app)
                AND received_at <= \(moment(request))
        )
        SELECT environment, transaction_id FROM orders WHERE account = \(account) AND app = \(request.app)
        UNION SELECT environment, transaction_id FROM orders
        WHERE app_account_token = ANY(\(traces.tokens)::uuid[]) AND app = \(request.app) AND purchase_date <= \(moment(request))
        UNION SELECT o.environment, o.transaction_id
        FROM \(SQL.rows(of: traces.lineages)) AS l (environment, original_transaction_id)
        JOIN orders o USING (environment, original_transaction_id)
        WHERE o.app = \(request.app)
            AND (o.purchase_date <= \(moment(request)) OR o.account IS DISTINCT FROM \(request.account) AND o.account IS NOT NULL)
        UNION SELECT i.environment, i.order_transaction_id FROM posts s
        CROSS JOIN LATERAL jsonb_to_recordset(s.outcome -> 'transactions') AS t (environment text, transaction_id text)
        JOIN order_transactions i
            ON (i.environment, i.transaction_id) = (coalesce(t.environment, 'production'), t.transaction_id)
        UNION SELECT environment, transaction_id FROM orders
        WHERE submission_id IN (SELECT id FROM posts WHERE kind = 'receipt')
        UNION SELECT environment, order_transaction_id FROM order_transactions
        WHERE submission_id IN (SELECT id FROM posts WHERE kind = 'receipt')
        UNION SELECT environment, transaction_id FROM submission_transactions
        WHERE submission_id IN (SELECT id FROM posts WHERE kind = 'receipt')
        ORDER BY 1, 2
        """
    }

    // Notifications of its purchases, and whatever has a token of it inside. A notification that came in one batch with the
    // purchase is found by its lineage only.
    private static func proofs(_ traces: Traces, _ request: ForgetRequestStore.Due) -> SQL {
        """
        WITH asked AS MATERIALIZED (
            SELECT o.environment, o.transaction_id, o.original_transaction_id, o.submission_id,
                o.transaction IS DISTINCT FROM without_tokens(o.transaction, \(traces.tokens)) AS has_token,
                o.account IS NOT DISTINCT FROM \(request.account) AS is_own
            FROM \(SQL.rows(of: traces.orders)) AS asked (environment, transaction_id)
            JOIN orders o USING (environment, transaction_id) WHERE o.app = \(request.app)
        ), found AS (
            SELECT submission_id, has_token FROM asked WHERE is_own OR has_token
            UNION SELECT i.submission_id, a.has_token FROM asked a
            JOIN order_transactions i USING (environment, transaction_id) WHERE a.is_own OR a.has_token
            UNION SELECT i.submission_id, a.has_token FROM asked a
            JOIN order_transactions i ON (i.environment, i.order_transaction_id) = (a.environment, a.transaction_id)
                AND i.transaction_id <> i.order_transaction_id
            WHERE a.is_own OR a.has_token
            UNION SELECT w.submission_id, a.has_token FROM asked a
            JOIN submission_transactions w USING (environment, transaction_id) WHERE a.is_own OR a.has_token
        )
        SELECT s.id FROM submissions s JOIN found f ON f.submission_id = s.id
        WHERE (s.account = '' OR f.has_token AND s.account <> \(request.account))
            AND s.state <> 'received' AND s.proof IS DISTINCT FROM ''
        UNION SELECT id FROM submissions
        WHERE account = '' AND app = \(request.app) AND state <> 'received' AND proof IS DISTINCT FROM ''
            AND partition_key IN (SELECT original_transaction_id FROM asked WHERE is_own OR has_token)
        ORDER BY 1
        """
    }

    private static func acts(_ traces: Traces, _ request: ForgetRequestStore.Due) -> SQL {
        let subjects = ["production", "sandbox", "both"].map { "\($0) \(request.app) \(request.account.text)" }
        return """
            SELECT id FROM audit_log
            WHERE action IN ('adjust', 'sweep') AND created_at <= \(moment(request)) AND subject = ANY(\(subjects))
            UNION SELECT c.audit_id FROM operator_claims c JOIN orders o USING (environment, transaction_id)
            WHERE c.account = \(request.account) AND o.app = \(request.app) AND c.created_at <= \(moment(request))
            UNION SELECT unnest(\(traces.acts))
            UNION SELECT audit_id FROM ledger_entries WHERE id = ANY(\(traces.entries)) AND audit_id IS NOT NULL
            UNION SELECT audit_id FROM binding_history WHERE id = ANY(\(traces.bindings))
                AND to_account = \(request.account) AND audit_id IS NOT NULL
            ORDER BY 1
            """
    }
}
