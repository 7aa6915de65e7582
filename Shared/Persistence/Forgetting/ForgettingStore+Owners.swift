import Foundation
import Postgres
package import PurchaseModel

/// Whose everything is: lineages, shares, claims, orders, and what Apple signed of them.
extension ForgettingStore {
    /// From now on Apple's data may name the account's tokens, and they say nothing.
    static func voidTokens(
        of traces: Traces, _ request: ForgetRequestStore.Due, on connection: PostgresConnection
    ) async throws {
        guard !traces.lineages.isEmpty else { return }
        // Of what it only shared the tokens are others'. The lineage's own token stays where it is another account's;
        // `Lineage.voidsToken` passes over it.
        let account = request.isRenamed ? request.pseudonym : request.account
        let tokens = SQL.once(traces.tokens)
        _ = try await connection.query(
            """
            UPDATE lineages SET tokens_void_until = greatest(tokens_void_until, \(moment(request)))
            WHERE (environment, original_transaction_id) IN (
                SELECT environment, original_transaction_id FROM lineages
                WHERE (environment, original_transaction_id) IN (SELECT * FROM \(SQL.rows(of: traces.lineages)))
                    AND (account = \(account) OR token = ANY(\(tokens)::uuid[])
                        OR EXISTS (SELECT FROM binding_history b
                            WHERE (b.environment, b.original_transaction_id)
                                    = (lineages.environment, lineages.original_transaction_id)
                                AND (b.from_account = \(account) OR b.to_account = \(account) AND b.cause <> 'share'))
                        OR EXISTS (SELECT FROM orders o
                            WHERE (o.environment, o.original_transaction_id)
                                    = (lineages.environment, lineages.original_transaction_id)
                                AND o.app_account_token = ANY(\(tokens)::uuid[])))
                ORDER BY environment, original_transaction_id FOR UPDATE)
            """)
    }

    static func forgetRenewals(of traces: Traces, on connection: PostgresConnection) async throws -> Int {
        guard !traces.lineages.isEmpty else { return 0 }
        return try await rows(
            """
            UPDATE renewal_statements SET statement = statement - 'app_account_token' - 'evidence'
            WHERE (environment, original_transaction_id) IN (SELECT * FROM \(SQL.rows(of: traces.lineages)))
                AND statement ?| ARRAY['app_account_token', 'evidence']
            """, on: connection)
    }

    static func forgetTokens(
        of request: ForgetRequestStore.Due, _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        changed["release_requests"] = try await rows(
            """
            DELETE FROM release_requests USING account_tokens t
            WHERE t.account = \(request.account) AND t.app = \(request.app) AND t.created_at <= \(moment(request))
                AND release_requests.app = t.app AND release_requests.token = t.token
            """, on: connection)
        changed["account_tokens"] = try await rows(
            """
            DELETE FROM account_tokens WHERE account = \(request.account) AND app = \(request.app)
                AND created_at <= \(moment(request))
            """, on: connection)
        changed["purchase_intents"] = try await rows(
            """
            DELETE FROM purchase_intents WHERE account = \(request.account) AND app = \(request.app)
                AND created_at <= \(moment(request))
            """, on: connection)
    }

    static func forgetOwners(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        if !traces.lineages.isEmpty {
            _ = try await connection.query(
                """
                SELECT FROM lineages
                WHERE (environment, original_transaction_id) IN (SELECT * FROM \(SQL.rows(of: traces.lineages)))
                ORDER BY environment, original_transaction_id FOR UPDATE
                """)
            // A proof that Apple signed before is none for a restore.
            let tokens = SQL.once(traces.tokens)
            changed["lineages"] = try await rows(
                """
                UPDATE lineages SET account = CASE WHEN account = \(request.account) THEN \(request.pseudonym) ELSE account END,
                    bound_signed_date = CASE WHEN account = \(request.account) THEN greatest(bound_signed_date, \(moment(request)))
                        ELSE bound_signed_date END,
                    token = CASE WHEN token = ANY(\(tokens)::uuid[]) THEN NULL ELSE token END,
                    token_purchase_date = CASE WHEN token = ANY(\(tokens)::uuid[]) THEN NULL ELSE token_purchase_date END,
                    token_signed_date = CASE WHEN token = ANY(\(tokens)::uuid[]) THEN NULL ELSE token_signed_date END
                WHERE (environment, original_transaction_id) IN (SELECT * FROM \(SQL.rows(of: traces.lineages)))
                    AND app = \(request.app) AND (account = \(request.account) OR token = ANY(\(tokens)::uuid[]))
                """, on: connection)
        }
        try await forgetClaims(traces, request, &changed, on: connection)
        changed["lineage_shares"] = try await rows(
            """
            WITH gone AS (
                DELETE FROM lineage_shares WHERE account = \(request.account) AND app = \(request.app) RETURNING *
            ), renamed AS (
                INSERT INTO lineage_shares (environment, original_transaction_id, app, account, created_at)
                SELECT environment, original_transaction_id, app, \(request.pseudonym), created_at FROM gone ON CONFLICT DO NOTHING
            )
            SELECT FROM gone
            """, on: connection)
        changed["binding_history"] = try await rows(
            """
            UPDATE binding_history
            SET from_account = CASE WHEN from_account = \(request.account) THEN \(request.pseudonym) ELSE from_account END,
                to_account = CASE WHEN to_account = \(request.account) THEN \(request.pseudonym) ELSE to_account END
            WHERE id = ANY(\(traces.bindings)) AND app = \(request.app)
                AND (from_account = \(request.account) OR to_account = \(request.account))
            """, on: connection)
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
                WHERE (c.environment, c.original_transaction_id) IN (SELECT * FROM \(SQL.rows(of: traces.lineages)))
                    AND (l.environment, l.original_transaction_id) = (c.environment, c.original_transaction_id)
                    AND l.app = \(request.app) AND c.account = \(request.account)
                RETURNING c.*
            ), renamed AS (
                INSERT INTO lineage_claims (environment, original_transaction_id, account, transaction_id, signed_date,
                    submission_id, refused, created_at)
                SELECT environment, original_transaction_id, \(request.pseudonym), transaction_id, signed_date, submission_id,
                    refused, created_at FROM gone
                ON CONFLICT DO NOTHING
            )
            SELECT FROM gone
            """, on: connection)
    }

    static func forgetOrders(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        if !traces.orders.isEmpty {
            _ = try await connection.query(
                """
                SELECT FROM orders WHERE (environment, transaction_id) IN (SELECT * FROM \(SQL.rows(of: traces.orders)))
                ORDER BY environment, transaction_id FOR UPDATE
                """)
            // What waited for one of its tokens waits for whoever shows evidence.
            let tokens = SQL.once(traces.tokens)
            changed["orders"] = try await rows(
                """
                UPDATE orders SET account = CASE WHEN account = \(request.account)
                    AND NOT \(request.isRenamed) THEN \(request.pseudonym) ELSE account END,
                    reason = CASE WHEN reason = 'account_token_unknown' AND app_account_token = ANY(\(tokens)::uuid[])
                        THEN 'unclaimed' ELSE reason END,
                    app_account_token = CASE WHEN app_account_token = ANY(\(tokens)::uuid[]) THEN NULL
                        ELSE app_account_token END,
                    transaction = without_tokens(transaction, \(tokens)),
                    correlation_id = \(bareColumn("correlation_id", of: request.account))
                WHERE (environment, transaction_id) IN (SELECT * FROM \(SQL.rows(of: traces.orders))) AND app = \(request.app)
                    AND (account = \(request.account) AND NOT \(request.isRenamed) OR account IS DISTINCT FROM \(request.account)
                        AND (app_account_token = ANY(\(tokens)::uuid[])
                            OR transaction IS DISTINCT FROM without_tokens(transaction, \(tokens)))
                        OR NOT \(request.isRenamed) AND account IS NULL
                            AND correlation_id <> \(bareColumn("correlation_id", of: request.account)))
                """, on: connection)
            changed["order_transactions"] = try await rows(
                """
                UPDATE order_transactions i SET statement = without_tokens(statement, \(tokens))
                FROM (
                    SELECT i.environment, i.transaction_id FROM \(SQL.rows(of: traces.orders)) AS o (environment, id)
                    JOIN order_transactions i ON (i.environment, i.transaction_id) = (o.environment, o.id)
                    UNION SELECT i.environment, i.transaction_id
                    FROM \(SQL.rows(of: traces.orders)) AS o (environment, id)
                    JOIN order_transactions i ON (i.environment, i.order_transaction_id) = (o.environment, o.id)
                        AND i.transaction_id <> i.order_transaction_id) ids
                WHERE (i.environment, i.transaction_id) = (ids.environment, ids.transaction_id)
                    AND statement IS DISTINCT FROM without_tokens(statement, \(tokens))
                """, on: connection)
        }
    }

    /// A caller's correlation id without the account's name, if somebody put it there.
    ///
    /// No name is a part of what replaces it.
    static func bareColumn(_ column: SQL, of account: Account) -> SQL {
        """
        CASE WHEN length(\(account)) >= \(nameLengthMinimum) AND strpos(\(column), \(account)) > 0
            THEN replace(\(column), \(account), '***') ELSE \(column) END
        """
    }

    /// The same of a text that is not stored yet.
    package static func bare(_ text: String, of account: Account) -> String {
        guard account.text.unicodeScalars.count >= nameLengthMinimum else { return text }
        return text.replacingOccurrences(of: account.text, with: "***", options: .literal)
    }

    /// Shorter names are not looked for in what is no account: they are parts of other words.
    static let nameLengthMinimum = 4
}
