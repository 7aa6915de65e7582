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
            WHERE s.id = ANY(\(traces.submissions)) AND s.account = \(request.account) AND s.app = \(request.app)
                AND p.received_at = s.proof_at AND p.submission_id = s.id
            """)
        let fresh = traces.submissions.map { _ in "sub_" + UUID().uuidString.lowercased().filter { $0 != "-" } }
        let new: SQL = "unnest(\(traces.submissions), \(fresh)) AS new (id, new_id)"
        changed["submissions", default: 0] += try await rows(
            """
            WITH locked AS (
                SELECT s.id FROM submissions s WHERE s.id = ANY(\(traces.submissions))
                    AND s.account = \(request.account) AND s.app = \(request.app)
                ORDER BY s.id FOR UPDATE
            )
            UPDATE submissions s SET id = new.new_id, account = \(request.pseudonym), proof = '', proof_at = NULL,
                named_transaction_id = NULL,
                partition_key = CASE WHEN partition_key = \(request.account) THEN \(request.pseudonym) ELSE partition_key END,
                correlation_id = \(bareColumn("correlation_id", of: request.account)),
                state = CASE WHEN state = 'received' THEN 'rejected' ELSE state END,
                reason = CASE WHEN state = 'received' THEN \(ReasonCode.accountForgotten) ELSE reason END,
                outcome = CASE WHEN state = 'received' THEN jsonb_build_object('state', 'rejected', 'finish', false,
                    'reason', \(ReasonCode.accountForgotten), 'transactions', '[]'::jsonb) ELSE outcome END,
                settled_at = CASE WHEN state = 'received' THEN now() ELSE settled_at END, due_at = NULL
            FROM locked JOIN \(new) USING (id)
            WHERE s.id = locked.id
            """, on: connection)
        try await followIds(traces, new, &changed, on: connection)
    }

    private static func followIds(
        _ traces: Traces, _ new: SQL, _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        // Looked for by the orders that the submissions have to do with, which the look has found: not all of them are in an
        // outcome, which is of the last part of a receipt alone.
        _ = try await connection.query(
            """
            WITH new AS MATERIALIZED (
                SELECT * FROM \(new)
            ), named AS MATERIALIZED (
                SELECT * FROM \(SQL.rows(of: traces.namedOrders)) AS named (environment, transaction_id)
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
            """)
        _ = try await connection.query(
            """
            WITH new AS MATERIALIZED (
                SELECT * FROM \(new)
            ), claims AS (
                UPDATE lineage_claims c SET submission_id = new.new_id FROM new
                WHERE (c.environment, c.original_transaction_id) IN (SELECT * FROM \(SQL.rows(of: traces.lineages)))
                    AND c.submission_id = new.id
            )
            UPDATE binding_history b SET submission_id = new.new_id FROM new
            WHERE (b.environment, b.original_transaction_id) IN (SELECT * FROM \(SQL.rows(of: traces.lineages)))
                AND b.submission_id = new.id
            """)
        changed["audit_log"] = try await rows(
            """
            UPDATE audit_log SET subject = new.new_id FROM \(new)
            WHERE audit_log.subject = new.id AND audit_log.action = 'redrive' AND audit_log.id = ANY(\(traces.acts))
            """, on: connection)
        _ = try await connection.query(
            "UPDATE import_lines l SET submission_id = new.new_id FROM \(new) WHERE l.submission_id = new.id")
    }

    /// What people wrote about it, and that they looked at it.
    ///
    /// Who acted or looked, when and what stays; why does not, since that is about a person, in any words.
    static func forgetActs(
        _ traces: Traces, _ request: ForgetRequestStore.Due, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        changed["operator_claims"] = try await rows(
            """
            UPDATE operator_claims c SET account = \(request.pseudonym) FROM orders o
            WHERE c.audit_id = ANY(\(traces.acts)) AND c.account = \(request.account) AND o.app = \(request.app)
                AND c.created_at <= \(moment(request))
                AND (o.environment, o.transaction_id) = (c.environment, c.transaction_id)
            """, on: connection)
        changed["audit_log", default: 0] += try await rows(
            """
            UPDATE audit_log SET reason = \(removedText),
                subject = CASE WHEN right(subject, length(\(request.account)) + 1) = ' ' || \(request.account)
                    THEN left(subject, -length(\(request.account))) || \(request.pseudonym) ELSE subject END
            WHERE id = ANY(\(traces.acts))
                AND (reason <> \(removedText) OR right(subject, length(\(request.account)) + 1) = ' ' || \(request.account))
            """, on: connection)
        changed["views"] = try await rows(
            """
            UPDATE views SET account = \(request.pseudonym)
            WHERE id IN (SELECT id FROM views WHERE account = \(request.account) AND app = \(request.app)
                AND created_at <= \(moment(request)) ORDER BY id LIMIT \(Limit.rows))
            """, on: connection)
        guard request.account.text.unicodeScalars.count >= nameLengthMinimum else { return }
        // What was said of others and names it, too; of another app's account of this name nothing.
        changed["audit_log", default: 0] += try await rows(
            """
            UPDATE audit_log a SET reason = regexp_replace(reason, \(expression(request.account)), \(request.pseudonym), 'g')
            WHERE a.created_at <= \(moment(request)) AND strpos(reason, \(request.account)) > 0
                AND reason ~ \(expression(request.account)) AND (action NOT IN ('adjust', 'claim')
                OR starts_with(subject, 'production ' || \(request.app) || ' ')
                OR starts_with(subject, 'sandbox ' || \(request.app) || ' ')
                OR EXISTS (SELECT FROM operator_claims c JOIN orders o USING (environment, transaction_id)
                    WHERE c.audit_id = a.id AND o.app = \(request.app)))
            """, on: connection)
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
