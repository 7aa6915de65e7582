import Foundation
import Postgres
import PurchaseModel

/// What an account posted, and what people did about it by hand.
extension ForgettingStore {
    /// Removes what Apple or others posted with a token inside; what became of it stays.
    static func eraseProofs(_ ids: [String], on connection: PostgresConnection) async throws -> Int {
        try await SubmissionStore.eraseProofs(of: ids, on: connection)
    }

    /// An id is a hash of app, account and proof, so that it gets another; whatever names it goes along.
    static func forgetSubmissions(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        guard !traces.submissions.isEmpty else { return }
        // By the ids that they have until now; what was under way loses its proof, too.
        _ = try await connection.query(
            """
            DELETE FROM submission_proofs p USING submissions s
            WHERE s.id = ANY($3) AND s.account = $1 AND s.app = $2
                AND p.received_at = s.proof_at AND p.submission_id = s.id
            """, [.text(request.account.text), .text(request.app), .textArray(traces.submissions)])
        let fresh = traces.submissions.map { _ in "sub_" + UUID().uuidString.lowercased().filter { $0 != "-" } }
        let ids: [PostgresValue] = [.textArray(traces.submissions), .textArray(fresh)]
        changed["submissions", default: 0] += try await rows(
            """
            WITH locked AS (
                SELECT s.id FROM submissions s WHERE s.id = ANY($4) AND s.account = $1 AND s.app = $2
                ORDER BY s.id FOR UPDATE
            )
            UPDATE submissions s SET id = new.new_id, account = $3, proof = '', proof_at = NULL,
                named_transaction_id = NULL,
                partition_key = CASE WHEN partition_key = $1 THEN $3 ELSE partition_key END,
                correlation_id = \(bare("correlation_id")),
                state = CASE WHEN state = 'received' THEN 'rejected' ELSE state END,
                reason = CASE WHEN state = 'received' THEN $6 ELSE reason END,
                outcome = CASE WHEN state = 'received' THEN jsonb_build_object('state', 'rejected', 'finish', false,
                    'reason', $6::text, 'transactions', '[]'::jsonb) ELSE outcome END,
                settled_at = CASE WHEN state = 'received' THEN now() ELSE settled_at END, due_at = NULL
            FROM locked JOIN unnest($4::text[], $5::text[]) AS new (id, new_id) USING (id)
            WHERE s.id = locked.id
            RETURNING 1 AS one
            """, names(request) + ids + [.text(ReasonCode.accountForgotten.rawValue)], on: connection)
        try await followIds(traces, ids, &changed, on: connection)
        try await followIdsOfImports(ids, on: connection)
    }

    private static func followIds(
        _ traces: Traces, _ ids: [PostgresValue], _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        // Looked for by the orders that the submissions have to do with, which the look has found: not all of them are in an
        // outcome, which is of the last part of a receipt alone.
        _ = try await connection.query(
            """
            WITH new AS MATERIALIZED (
                SELECT * FROM unnest($1::text[], $2::text[]) AS new (id, new_id)
            ), named AS MATERIALIZED (
                SELECT * FROM unnest($3::text[], $4::text[]) AS named (environment, transaction_id)
            ), orders_of AS (
                UPDATE orders o SET submission_id = new.new_id FROM named, new
                WHERE (o.environment, o.transaction_id) = (named.environment, named.transaction_id)
                    AND o.submission_id = new.id
            ), told AS MATERIALIZED (
                SELECT named.environment, named.transaction_id FROM named
                UNION SELECT i.environment, i.transaction_id FROM named
                JOIN order_transactions i ON (i.environment, i.order_transaction_id) = (named.environment, named.transaction_id)
                    AND i.transaction_id <> i.order_transaction_id
            ), ids_of AS (
                UPDATE order_transactions i SET submission_id = new.new_id FROM told, new
                WHERE (i.environment, i.transaction_id) = (told.environment, told.transaction_id)
                    AND i.submission_id = new.id
            ), links AS (
                UPDATE submission_transactions w SET submission_id = new.new_id FROM named, new
                WHERE (w.environment, w.transaction_id, w.submission_id)
                    = (named.environment, named.transaction_id, new.id)
            )
            UPDATE purchase_conflicts c SET submission_id = new.new_id FROM told, new
            WHERE (c.environment, c.transaction_id) = (told.environment, told.transaction_id)
                AND c.submission_id = new.id
            RETURNING 1 AS one
            """, ids + OrderStore.keyColumns(traces.namedOrders))
        let lineages: [PostgresValue] = [
            .textArray(traces.lineages.map(\.environment.rawValue)),
            .textArray(traces.lineages.map(\.originalTransactionId)),
        ]
        _ = try await connection.query(
            """
            WITH new AS MATERIALIZED (
                SELECT * FROM unnest($1::text[], $2::text[]) AS new (id, new_id)
            ), claims AS (
                UPDATE lineage_claims c SET submission_id = new.new_id FROM new
                WHERE (c.environment, c.original_transaction_id) IN (SELECT * FROM unnest($3::text[], $4::text[]))
                    AND c.submission_id = new.id
            )
            UPDATE binding_history b SET submission_id = new.new_id FROM new
            WHERE (b.environment, b.original_transaction_id) IN (SELECT * FROM unnest($3::text[], $4::text[]))
                AND b.submission_id = new.id
            RETURNING 1 AS one
            """, ids + lineages)
        changed["audit_log"] = try await rows(
            """
            UPDATE audit_log SET subject = new.new_id FROM unnest($1::text[], $2::text[]) AS new (id, new_id)
            WHERE audit_log.subject = new.id AND audit_log.action = 'redrive' AND audit_log.id = ANY($3)
            RETURNING 1 AS one
            """, ids + [.int8Array(traces.acts)], on: connection)
    }

    private static func followIdsOfImports(_ ids: [PostgresValue], on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            UPDATE import_lines l SET submission_id = new.new_id
            FROM unnest($1::text[], $2::text[]) AS new (id, new_id) WHERE l.submission_id = new.id
            RETURNING 1 AS one
            """, ids)
    }

    /// What people wrote about it.
    ///
    /// Who acted, when and what stays; why does not, since that is about a person, in any words.
    static func forgetActs(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        changed["operator_claims"] = try await rows(
            """
            UPDATE operator_claims c SET account = $3 FROM orders o
            WHERE c.audit_id = ANY($4) AND c.account = $1 AND o.app = $2 AND c.created_at <= \(moment(5))
                AND (o.environment, o.transaction_id) = (c.environment, c.transaction_id)
            RETURNING 1 AS one
            """, names(request) + [.int8Array(traces.acts), .text(request.id)], on: connection)
        changed["audit_log", default: 0] += try await rows(
            """
            UPDATE audit_log SET reason = $4,
                subject = CASE WHEN right(subject, length($1) + 1) = ' ' || $1
                    THEN left(subject, -length($1)) || $2 ELSE subject END
            WHERE id = ANY($3) AND (reason <> $4 OR right(subject, length($1) + 1) = ' ' || $1)
            RETURNING 1 AS one
            """,
            [
                .text(request.account.text), .text(request.pseudonym.text), .int8Array(traces.acts),
                .text(removedText),
            ], on: connection)
        guard request.account.text.unicodeScalars.count >= nameLengthMinimum else { return }
        // What was said of others and names it, too; of another app's account of this name nothing.
        changed["audit_log", default: 0] += try await rows(
            """
            UPDATE audit_log a SET reason = regexp_replace(reason, $4, $3, 'g')
            WHERE a.created_at <= \(moment(5)) AND strpos(reason, $1) > 0 AND reason ~ $4 AND (action NOT IN ('adjust', 'claim')
                OR starts_with(subject, 'production ' || $2 || ' ') OR starts_with(subject, 'sandbox ' || $2 || ' ')
                OR EXISTS (SELECT FROM operator_claims c JOIN orders o USING (environment, transaction_id)
                    WHERE c.audit_id = a.id AND o.app = $2))
            RETURNING 1 AS one
            """, names(request) + [.text(expression(request.account)), .text(request.id)], on: connection)
    }

    /// A name where it stands by itself, as PostgreSQL's regular expressions have it.
    static func expression(_ account: Account) -> String {
        let escaped = account.text.unicodeScalars.map { scalar in
            let isPlain = !scalar.isASCII || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
            return isPlain ? String(scalar) : "\\\(scalar)"
        }
        return "(?<![[:alnum:]_-])\(escaped.joined())(?![[:alnum:]_-])"
    }
}
