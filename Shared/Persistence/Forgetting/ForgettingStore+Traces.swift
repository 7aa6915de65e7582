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
        let names: [PostgresValue] = [.text(account.text), .text(request.app)]
        let tokens = try await pool.query(Self.tokensStatement, names + [.text(request.id)])
        traces.tokens = try tokens.rows.map { try $0.decode("token") }
        try await ForgetRequestStore.remember(tokens: traces.tokens, of: request, in: pool)
        let lineages = try await pool.query(
            Self.lineagesStatement,
            names + [
                .textArray(traces.tokens), .text(request.id), .text(request.isRenamed ? request.account.text : ""),
            ])
        traces.lineages = try lineages.rows.map { try $0.lineageKey() }
        let keys: [PostgresValue] = [
            .textArray(traces.lineages.map(\.environment.rawValue)),
            .textArray(traces.lineages.map(\.originalTransactionId)),
        ]
        let orders = try await pool.query(
            Self.ordersStatement,
            names + [.textArray(traces.tokens)] + keys + [.text(request.id), .text(request.account.text)])
        traces.orders = try orders.rows.map { try $0.orderKey() }
        traces.namedOrders = traces.orders
        try await findPosts(&traces, request)
        guard !request.isRenamed else { return traces }
        traces.entries = try await ids(
            """
            SELECT id FROM ledger_entries WHERE account = $1 AND app = $2
                AND (transaction_id IS NOT NULL OR created_at <= \(Self.moment(3))) ORDER BY id
            """, names + [.text(request.id)])
        traces.bindings = try await ids(
            "SELECT id FROM binding_history WHERE (from_account = $1 OR to_account = $1) AND app = $2 ORDER BY id",
            names)
        try await findActs(&traces, request)
        return traces
    }

    private func findPosts(_ traces: inout Traces, _ request: ForgetRequestStore.Due) async throws {
        let names: [PostgresValue] = [.text(request.account.text), .text(request.app)]
        let orders = OrderStore.keyColumns(traces.orders)
        // What is not settled is waited for; what came after the request is a new account's.
        traces.submissions = try await texts(
            """
            SELECT s.id FROM submissions s JOIN forget_requests r ON r.id = $3
            WHERE s.account = $1 AND s.app = $2 AND s.received_at <= r.requested_at
                AND (s.state <> 'received' OR now() >= r.requested_at + $4 * interval '1 millisecond')
                AND NOT \(ForgetRequestStore.isOfEarlier(than: "r", "s.received_at"))
            ORDER BY s.id
            """, names + [.text(request.id), .int8(Limit.waitForPurchases.wholeMilliseconds)])
        traces.proofs = try await texts(Self.proofsStatement, names + orders + [.textArray(traces.tokens)])
        traces.mentions = try await texts(
            """
            SELECT e.id FROM unnest($3::text[], $4::text[]) AS o (environment, transaction_id)
            JOIN events e USING (environment, transaction_id)
            WHERE (e.account IS DISTINCT FROM $1 OR e.app <> $2)
                AND (strpos(e.body, $6) > 0 AND NOT $7 OR \(Self.tokenInBody) = ANY($5))
            ORDER BY e.id
            """,
            names + orders + [
                .textArray(traces.tokens), .text(try JSONNames(request).inner), .bool(request.isRenamed),
            ])
        traces.acts = try await ids(
            "SELECT id FROM audit_log WHERE action = 'redrive' AND subject = ANY($1) ORDER BY id",
            [.textArray(traces.submissions)])
    }

    private func findActs(_ traces: inout Traces, _ request: ForgetRequestStore.Due) async throws {
        traces.acts = try await ids(
            Self.actsStatement,
            [
                .text(request.account.text), .text(request.app), .int8Array(traces.acts), .int8Array(traces.entries),
                .int8Array(traces.bindings), .text(request.id),
            ])
    }

    private func ids(_ sql: String, _ parameters: [PostgresValue]) async throws -> [Int64] {
        try await pool.query(sql, parameters).rows.map { try $0.decode("id") }
    }

    private func texts(_ sql: String, _ parameters: [PostgresValue]) async throws -> [String] {
        try await pool.query(sql, parameters).rows.map { try $0.decode("id") }
    }

    /// The first token of an event's body, in lower case.
    static let tokenInBody = #"lower(substring(e.body FROM '"app_account_token":"([0-9A-Fa-f-]{36})"'))"#

    // A token of nobody that stands in an order of the account is the account's: an operator said so.
    private static let tokensStatement = """
        SELECT token::text AS token FROM account_tokens
        WHERE account = $1 AND app = $2 AND created_at <= \(moment(3))
        UNION SELECT id::text FROM purchase_intents WHERE account = $1 AND app = $2 AND created_at <= \(moment(3))
        UNION SELECT o.app_account_token::text FROM orders o
        WHERE o.account = $1 AND o.app = $2 AND o.app_account_token IS NOT NULL
            AND NOT EXISTS (SELECT FROM account_tokens t
                WHERE (t.app, t.token) = (o.app, o.app_account_token) AND t.account <> $1)
        UNION SELECT unnest(tokens) FROM forget_requests WHERE id = $3
        ORDER BY 1
        """

    private static let lineagesStatement = """
        SELECT environment, original_transaction_id FROM lineages
        WHERE app = $2 AND (account = $1 OR token = ANY($3::text[]::uuid[]) AND account IS DISTINCT FROM $5)
        UNION SELECT environment, original_transaction_id FROM binding_history
        WHERE app = $2 AND (from_account = $1 OR to_account = $1)
        UNION SELECT environment, original_transaction_id FROM lineage_shares WHERE account = $1 AND app = $2
        UNION SELECT c.environment, c.original_transaction_id FROM lineage_claims c
        JOIN lineages l USING (environment, original_transaction_id) WHERE c.account = $1 AND l.app = $2
        UNION SELECT environment, original_transaction_id FROM subscriptions WHERE account = $1 AND app = $2
        UNION SELECT environment, original_transaction_id FROM orders WHERE account = $1 AND app = $2
        UNION SELECT environment, original_transaction_id FROM orders
        WHERE app_account_token = ANY($3::text[]::uuid[]) AND app = $2 AND purchase_date <= \(moment(4))
            AND account IS DISTINCT FROM $5
        ORDER BY 1, 2
        """

    // What its posts tell of is found by outcomes; of receipts by their ids wherever these stand, with no index, since a
    // receipt may come in parts, of which the outcome tells the last. What was bought since by whoever has one of its tokens
    // now is another's.
    private static let ordersStatement = """
        WITH posts AS MATERIALIZED (
            SELECT id, kind, outcome FROM submissions WHERE account = $7 AND app = $2 AND received_at <= \(moment(6))
        )
        SELECT environment, transaction_id FROM orders WHERE account = $1 AND app = $2
        UNION SELECT environment, transaction_id FROM orders
        WHERE app_account_token = ANY($3::text[]::uuid[]) AND app = $2 AND purchase_date <= \(moment(6))
        UNION SELECT o.environment, o.transaction_id
        FROM unnest($4::text[], $5::text[]) AS l (environment, original_transaction_id)
        JOIN orders o USING (environment, original_transaction_id)
        WHERE o.app = $2
            AND (o.purchase_date <= \(moment(6)) OR o.account IS DISTINCT FROM $7 AND o.account IS NOT NULL)
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

    // Notifications of its purchases, and whatever has a token of it inside. A notification that came in one batch with the
    // purchase is found by its lineage only.
    private static let proofsStatement = """
        WITH asked AS MATERIALIZED (
            SELECT o.environment, o.transaction_id, o.original_transaction_id, o.submission_id,
                o.transaction IS DISTINCT FROM without_tokens(o.transaction, $5) AS has_token,
                o.account IS NOT DISTINCT FROM $1 AS is_own
            FROM unnest($3::text[], $4::text[]) AS asked (environment, transaction_id)
            JOIN orders o USING (environment, transaction_id) WHERE o.app = $2
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
        WHERE (s.account = '' OR f.has_token AND s.account <> $1)
            AND s.state <> 'received' AND s.proof IS DISTINCT FROM ''
        UNION SELECT id FROM submissions
        WHERE account = '' AND app = $2 AND state <> 'received' AND proof IS DISTINCT FROM ''
            AND partition_key IN (SELECT original_transaction_id FROM asked WHERE is_own OR has_token)
        ORDER BY 1
        """

    private static let actsStatement = """
        SELECT id FROM audit_log
        WHERE action IN ('adjust', 'sweep') AND created_at <= \(moment(6))
            AND subject IN ('production ' || $2 || ' ' || $1, 'sandbox ' || $2 || ' ' || $1, 'both ' || $2 || ' ' || $1)
        UNION SELECT c.audit_id FROM operator_claims c JOIN orders o USING (environment, transaction_id)
        WHERE c.account = $1 AND o.app = $2 AND c.created_at <= \(moment(6))
        UNION SELECT unnest($3::int8[])
        UNION SELECT audit_id FROM ledger_entries WHERE id = ANY($4) AND audit_id IS NOT NULL
        UNION SELECT audit_id FROM binding_history WHERE id = ANY($5) AND to_account = $1 AND audit_id IS NOT NULL
        ORDER BY 1
        """
}
