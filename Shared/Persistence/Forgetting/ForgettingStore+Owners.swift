import Foundation
import Postgres
package import PurchaseModel

/// Whose everything is: lineages, shares, claims, orders, and what Apple signed of them.
extension ForgettingStore {
    private static func keys(_ lineages: [LineageKey]) -> [PostgresValue] {
        [.textArray(lineages.map(\.environment.rawValue)), .textArray(lineages.map(\.originalTransactionId))]
    }

    /// From now on Apple's data may name the account's tokens, and they say nothing.
    static func voidTokens(
        of traces: Traces, _ request: ForgetRequestStore.Due, on connection: PostgresConnection
    ) async throws {
        guard !traces.lineages.isEmpty else { return }
        // Of what it only shared the tokens are others'. The lineage's own token stays where it is another account's;
        // `Lineage.voidsToken` passes over it.
        _ = try await connection.query(
            """
            UPDATE lineages SET tokens_void_until = greatest(tokens_void_until, \(moment(5)))
            WHERE (environment, original_transaction_id) IN (
                SELECT environment, original_transaction_id FROM lineages
                WHERE (environment, original_transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
                    AND (account = $3 OR token = ANY($4::text[]::uuid[])
                        OR EXISTS (SELECT FROM binding_history b
                            WHERE (b.environment, b.original_transaction_id)
                                    = (lineages.environment, lineages.original_transaction_id)
                                AND (b.from_account = $3 OR b.to_account = $3 AND b.cause <> 'share'))
                        OR EXISTS (SELECT FROM orders o
                            WHERE (o.environment, o.original_transaction_id)
                                    = (lineages.environment, lineages.original_transaction_id)
                                AND o.app_account_token = ANY($4::text[]::uuid[])))
                ORDER BY environment, original_transaction_id FOR UPDATE)
            """,
            keys(traces.lineages) + [
                .text((request.isRenamed ? request.pseudonym : request.account).text), .textArray(traces.tokens),
                .text(request.id),
            ])
    }

    static func forgetRenewals(of traces: Traces, on connection: PostgresConnection) async throws -> Int {
        guard !traces.lineages.isEmpty else { return 0 }
        return try await rows(
            """
            UPDATE renewal_statements SET statement = statement - 'app_account_token' - 'evidence'
            WHERE (environment, original_transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
                AND statement ?| ARRAY['app_account_token', 'evidence']
            RETURNING 1 AS one
            """, keys(traces.lineages), on: connection)
    }

    static func forgetTokens(
        of request: ForgetRequestStore.Due, _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        let names = Array(names(request).prefix(2)) + [.text(request.id)]
        changed["release_requests"] = try await rows(
            """
            DELETE FROM release_requests USING account_tokens t
            WHERE t.account = $1 AND t.app = $2 AND t.created_at <= \(moment(3))
                AND release_requests.app = t.app AND release_requests.token = t.token
            RETURNING 1 AS one
            """, names, on: connection)
        changed["account_tokens"] = try await rows(
            """
            DELETE FROM account_tokens WHERE account = $1 AND app = $2 AND created_at <= \(moment(3)) RETURNING 1 AS one
            """, names, on: connection)
        changed["purchase_intents"] = try await rows(
            """
            DELETE FROM purchase_intents WHERE account = $1 AND app = $2 AND created_at <= \(moment(3)) RETURNING 1 AS one
            """, names, on: connection)
    }

    static func forgetOwners(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        let names = names(request)
        if !traces.lineages.isEmpty {
            _ = try await connection.query(
                """
                SELECT 1 AS one FROM lineages
                WHERE (environment, original_transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
                ORDER BY environment, original_transaction_id FOR UPDATE
                """, keys(traces.lineages))
            // A proof that Apple signed before is none for a restore.
            changed["lineages"] = try await rows(
                """
                UPDATE lineages SET account = CASE WHEN account = $1 THEN $3 ELSE account END,
                    bound_signed_date = CASE WHEN account = $1 THEN greatest(bound_signed_date, \(moment(7)))
                        ELSE bound_signed_date END,
                    token = CASE WHEN token = ANY($6::text[]::uuid[]) THEN NULL ELSE token END,
                    token_purchase_date = CASE WHEN token = ANY($6::text[]::uuid[]) THEN NULL ELSE token_purchase_date END,
                    token_signed_date = CASE WHEN token = ANY($6::text[]::uuid[]) THEN NULL ELSE token_signed_date END
                WHERE (environment, original_transaction_id) IN (SELECT * FROM unnest($4::text[], $5::text[]))
                    AND app = $2 AND (account = $1 OR token = ANY($6::text[]::uuid[]))
                RETURNING 1 AS one
                """, names + keys(traces.lineages) + [.textArray(traces.tokens), .text(request.id)], on: connection)
        }
        try await forgetClaims(traces, request, &changed, on: connection)
        changed["lineage_shares"] = try await rows(
            """
            WITH gone AS (
                DELETE FROM lineage_shares WHERE account = $1 AND app = $2 RETURNING *
            ), renamed AS (
                INSERT INTO lineage_shares (environment, original_transaction_id, app, account, created_at)
                SELECT environment, original_transaction_id, app, $3, created_at FROM gone ON CONFLICT DO NOTHING
            )
            SELECT 1 AS one FROM gone
            """, names, on: connection)
        changed["binding_history"] = try await rows(
            """
            UPDATE binding_history SET from_account = CASE WHEN from_account = $1 THEN $3 ELSE from_account END,
                to_account = CASE WHEN to_account = $1 THEN $3 ELSE to_account END
            WHERE id = ANY($4) AND app = $2 AND (from_account = $1 OR to_account = $1)
            RETURNING 1 AS one
            """, names + [.int8Array(traces.bindings)], on: connection)
    }

    private static func forgetClaims(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        guard !traces.lineages.isEmpty else { return }
        changed["lineage_claims"] = try await rows(
            """
            WITH gone AS (
                DELETE FROM lineage_claims c USING lineages l
                WHERE (c.environment, c.original_transaction_id) IN (SELECT * FROM unnest($4::text[], $5::text[]))
                    AND (l.environment, l.original_transaction_id) = (c.environment, c.original_transaction_id)
                    AND l.app = $2 AND c.account = $1
                RETURNING c.*
            ), renamed AS (
                INSERT INTO lineage_claims (environment, original_transaction_id, account, transaction_id, signed_date,
                    submission_id, refused, created_at)
                SELECT environment, original_transaction_id, $3, transaction_id, signed_date, submission_id, refused,
                    created_at FROM gone
                ON CONFLICT DO NOTHING
            )
            SELECT 1 AS one FROM gone
            """, names(request) + keys(traces.lineages), on: connection)
    }

    static func forgetOrders(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        let names = names(request)
        let orders = OrderStore.keyColumns(traces.orders)
        if !traces.orders.isEmpty {
            _ = try await connection.query(
                """
                SELECT 1 AS one FROM orders WHERE (environment, transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
                ORDER BY environment, transaction_id FOR UPDATE
                """, orders)
            // What waited for one of its tokens waits for whoever shows evidence.
            changed["orders"] = try await rows(
                """
                UPDATE orders SET account = CASE WHEN account = $1 AND NOT $7 THEN $3 ELSE account END,
                    reason = CASE WHEN reason = 'account_token_unknown' AND app_account_token = ANY($6::text[]::uuid[])
                        THEN 'unclaimed' ELSE reason END,
                    app_account_token = CASE WHEN app_account_token = ANY($6::text[]::uuid[]) THEN NULL
                        ELSE app_account_token END,
                    transaction = without_tokens(transaction, $6),
                    correlation_id = \(bare("correlation_id"))
                WHERE (environment, transaction_id) IN (SELECT * FROM unnest($4::text[], $5::text[])) AND app = $2
                    AND (account = $1 AND NOT $7 OR account IS DISTINCT FROM $1
                        AND (app_account_token = ANY($6::text[]::uuid[])
                            OR transaction IS DISTINCT FROM without_tokens(transaction, $6))
                        OR NOT $7 AND account IS NULL AND correlation_id <> \(bare("correlation_id")))
                RETURNING 1 AS one
                """, names + orders + [.textArray(traces.tokens), .bool(request.isRenamed)], on: connection)
            changed["order_transactions"] = try await rows(
                """
                UPDATE order_transactions i SET statement = without_tokens(statement, $3)
                FROM (
                    SELECT i.environment, i.transaction_id FROM unnest($1::text[], $2::text[]) AS o (environment, id)
                    JOIN order_transactions i ON (i.environment, i.transaction_id) = (o.environment, o.id)
                    UNION SELECT i.environment, i.transaction_id
                    FROM unnest($1::text[], $2::text[]) AS o (environment, id)
                    JOIN order_transactions i ON (i.environment, i.order_transaction_id) = (o.environment, o.id)
                        AND i.transaction_id <> i.order_transaction_id) ids
                WHERE (i.environment, i.transaction_id) = (ids.environment, ids.transaction_id)
                    AND statement IS DISTINCT FROM without_tokens(statement, $3)
                RETURNING 1 AS one
                """, orders + [.textArray(traces.tokens)], on: connection)
        }
    }

    /// A caller's correlation id without the account's name (`$1`), if somebody put it there.
    static func bare(_ column: String) -> String {
        """
        CASE WHEN length($1) >= \(nameLengthMinimum) AND strpos(\(column), $1) > 0
            THEN replace(\(column), $1, 'forgotten') ELSE \(column) END
        """
    }

    /// The same of a text that is not stored yet.
    package static func bare(_ text: String, of account: Account) -> String {
        guard account.text.unicodeScalars.count >= nameLengthMinimum else { return text }
        return text.replacingOccurrences(of: account.text, with: "forgotten", options: .literal)
    }

    /// Shorter names are not looked for in what is no account: they are parts of other words.
    static let nameLengthMinimum = 4
}
