import Postgres
import PurchaseModel

/// What Apple is told, and whether it may be.
extension ForgettingStore {
    /// Who is forgotten consents to nothing any more; what Apple was told of purchases stays, without a token.
    static func forgetCalls(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        changed["account_consents"] = try await rows(
            """
            DELETE FROM account_consents WHERE account = \(request.account) AND app = \(request.app)
                AND changed_at <= \(moment(request))
            """, on: connection)
        guard !traces.orders.isEmpty else { return }
        // Of an order that is another account's only the token goes: it may be one of hers.
        let tokens = SQL.once(traces.tokens)
        changed["apple_calls"] = try await rows(
            """
            WITH own AS (
                SELECT c.id, c.state IN ('asked', 'ready') AND (c.account_token = ANY(\(tokens)::uuid[])
                    OR o.account IN (\(request.account), \(request.pseudonym)) AND c.kind = 'consumption') AS ends
                FROM apple_calls c JOIN \(SQL.rows(of: traces.orders)) AS asked (environment, transaction_id)
                    ON (c.environment, c.order_transaction_id) = (asked.environment, asked.transaction_id)
                LEFT JOIN orders o ON (o.environment, o.transaction_id) = (asked.environment, asked.transaction_id)
                ORDER BY c.id FOR UPDATE OF c
            )
            UPDATE apple_calls c SET
                account_token = CASE WHEN account_token = ANY(\(tokens)::uuid[]) THEN NULL ELSE account_token END,
                answer = CASE WHEN own.ends THEN NULL ELSE answer END,
                state = CASE WHEN own.ends THEN 'withdrawn' ELSE state END,
                outcome = CASE WHEN own.ends THEN 'account_forgotten' ELSE outcome END,
                due_at = CASE WHEN own.ends THEN NULL ELSE due_at END,
                finished_at = CASE WHEN own.ends THEN now() ELSE finished_at END
            FROM own WHERE c.id = own.id AND (own.ends OR account_token = ANY(\(tokens)::uuid[]))
            """, on: connection)
    }
}
