package import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// Submissions without an outcome: sent again when they are due, put off when nothing was learnt.
extension SubmissionStore {
    /// When the oldest submission without an outcome was received, or reopened; nil when all have one.
    ///
    /// - Throws: `PostgresError`.
    package func oldestUnsettled() async throws -> Date? {
        let result = try await pool.query(Self.oldestUnsettledStatement)
        return try result.rows.first?.decode(Date?.self) ?? nil
    }

    /// The time of the oldest, as `oldest`: the first of what has no alarm, and the first of each reason of what has one.
    static let oldestUnsettledStatement: SQL = """
        WITH RECURSIVE \(alarmedReasons)
        SELECT min(since) AS oldest FROM (
            (SELECT \(unsettledSince) AS since FROM submissions WHERE \(isUnalarmed) ORDER BY \(unsettledSince) LIMIT 1)
            UNION ALL
            SELECT first.since FROM reasons CROSS JOIN LATERAL (\(alarmedRows(of: "reasons.reason", limit: "1"))) first
        ) unsettled
        """

    /// Submissions that were due, and are to be sent.
    package struct Claimed: Sendable {
        /// The submissions.
        package let submissions: [NewSubmission]
        /// Whether more is due: the bytes or the rows of a claim did not suffice.
        package let isMoreDue: Bool
    }

    /// Takes submissions that are due, and gives each a new lease that doubles with every attempt.
    ///
    /// Any number of processes may do this at once: a row locked by another is passed over. A proof too large for a
    /// message is not loaded: such a submission is a claim check.
    ///
    /// - Parameters:
    ///   - limit: the most to take; fewer, but at least one, where their proofs would be more than
    ///     `claimBytesMaximum`.
    ///   - lease: the first lease.
    ///   - leaseMaximum: where doubling ends.
    /// - Throws: `PostgresError`.
    package func claimDue(limit: Int, lease: Duration, leaseMaximum: Duration) async throws -> Claimed {
        let result = try await pool.query(Self.claimStatement(limit: limit, lease: lease, leaseMaximum: leaseMaximum))
        var due = 0
        let submissions = try result.map {
            (
                id: String, app: String, account: Account, kind: ProofKind, partitionKey: String, correlationId: String,
                attempts: Int32, namedTransactionId: String?, environment: String?, isServer: Bool, receivedAt: Date,
                notFoundCount: Int32, notFoundSeconds: Double?, dueCount: Int, proof: String?
            ) in
            due = dueCount
            return NewSubmission(
                message: SubmissionMessage(
                    submissionId: id, app: app, account: account.text, kind: kind, proof: proof ?? "",
                    attempt: Int(attempts), correlationId: correlationId, namedTransactionId: namedTransactionId,
                    expectedEnvironment: environment.flatMap { StoreEnvironment(rawValue: $0) },
                    isClaimCheck: proof == nil,
                    notFound: notFoundSeconds.map { .init(count: Int(notFoundCount), seconds: $0) },
                    receivedAt: receivedAt),
                partitionKey: partitionKey, isServer: isServer)
        }
        return Claimed(submissions: submissions, isMoreDue: submissions.count >= limit || due > submissions.count)
    }

    // A proof's length is told without reading a large one; a header that is stored elsewhere counts for the largest. Rows
    // that are locked and then left for their size are free again with this statement's end.
    private static func claimStatement(limit: Int, lease: Duration, leaseMaximum: Duration) -> SQL {
        """
        WITH locked AS MATERIALIZED (
            SELECT id, due_at, proof_at, octet_length(proof) AS bytes
            FROM submissions WHERE due_at <= now() ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        ), due AS MATERIALIZED (
            SELECT locked.id, locked.due_at, coalesce(locked.bytes, apart.bytes) AS bytes FROM locked
            -- OFFSET 0: one look into the month of each.
            LEFT JOIN LATERAL (
                SELECT coalesce(octet_length(proof), octet_length(rest) + \(ProofHeaders.bytesMaximum)) AS bytes
                FROM submission_proofs WHERE received_at = locked.proof_at AND submission_id = locked.id OFFSET 0
            ) apart ON true
        ), measured AS (
            SELECT id, bytes, sum(bytes) FILTER (WHERE bytes <= \(messageProofBytesMaximum)) OVER (
                ORDER BY due_at, id ROWS UNBOUNDED PRECEDING) AS total
            FROM due
        )
        UPDATE submissions SET attempts = attempts + 1,
            due_at = now() + least(\(lease) * power(2, least(attempts + 1, 20)), \(leaseMaximum))
        FROM measured
        WHERE submissions.id = measured.id AND coalesce(measured.total, 0) <= \(claimBytesMaximum)
        RETURNING submissions.id, app, account, kind, partition_key, correlation_id, attempts, named_transaction_id,
            expected_environment, is_server, received_at, not_found_count,
            extract(epoch FROM now() - first_not_found_at)::float8 AS not_found_seconds,
            (SELECT count(*) FROM due) AS due_count,
            CASE WHEN measured.bytes <= \(messageProofBytesMaximum) THEN \(wholeProof) END AS proof
        """
    }

    /// Puts submissions off in the caller's transaction: due again after the delay given for each.
    ///
    /// Where the reason is `transaction_not_found` or `order_not_found`, Apple has answered that it knows no such id: that is
    /// counted, once for each time that the submission was sent, however often its verdict is delivered.
    ///
    /// - Throws: `PostgresError`.
    package static func putOff(
        _ delays: [(id: String, reason: ReasonCode, delay: Duration)], on connection: PostgresConnection
    ) async throws {
        guard !delays.isEmpty else { return }
        _ = try await connection.query(
            """
            UPDATE submissions SET due_at = now() + put_off.delay,
                reason = put_off.reason,
                not_found_count = not_found_count
                    + (put_off.is_not_found AND not_found_attempt IS DISTINCT FROM attempts)::integer,
                not_found_attempt = CASE WHEN put_off.is_not_found THEN attempts ELSE not_found_attempt END,
                first_not_found_at = CASE WHEN put_off.is_not_found THEN coalesce(first_not_found_at, now())
                    ELSE first_not_found_at END
            FROM unnest(\(delays.map(\.id)), \(delays.map(\.reason)), \(delays.map(\.delay)),
                    \(delays.map { $0.reason == .transactionNotFound || $0.reason == .orderNotFound }))
                AS put_off (id, reason, delay, is_not_found)
            WHERE submissions.id = put_off.id AND submissions.state = 'received'
            """)
    }
}
