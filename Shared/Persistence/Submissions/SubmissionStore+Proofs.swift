import Messages
package import Postgres

/// Proofs of settled submissions: they go when their time is over, and come back with a post of the same.
///
/// Those of a month go with its partition (``PartitionStore``). Here is what goes row by row: the proofs of rejected
/// submissions, which go earlier than others.
extension SubmissionStore {
    /// What was removed of a batch.
    package struct RemovedRows: Sendable {
        /// Rows that were looked at; fewer than the limit where no more is due.
        package let looked: Int
        /// What was removed of them.
        package let removed: Int

        package init(looked: Int, removed: Int) {
            self.looked = looked
            self.removed = removed
        }
    }

    /// The name in `retention_marks` of rejected submissions: up to where their proofs were removed.
    static let rejectedMark = "rejected_proofs"

    /// Removes the proofs of submissions that were rejected longer ago than `age`, but for bare ids; the oldest first.
    ///
    /// - Parameter limit: how many to look at; more, where that many were rejected in one instant.
    /// - Throws: `PostgresError`; then nothing of the batch was done.
    package func removeRejectedProofs(olderThan age: Duration, limit: Int) async throws -> RemovedRows {
        let result = try await pool.query(
            """
            WITH mark AS (
                SELECT coalesce((SELECT dropped_before FROM retention_marks WHERE name = \(Self.rejectedMark)),
                    '-infinity') AS at
            ), old AS MATERIALIZED (
                SELECT id, proof_at, settled_at FROM submissions
                WHERE state = 'rejected' AND settled_at > (SELECT at FROM mark)
                    AND settled_at < now() - \(age)
                -- WITH TIES: one instant is never cut in two, so that the mark loses nothing.
                ORDER BY settled_at FETCH FIRST \(limit) ROWS WITH TIES
            ), locked AS MATERIALIZED (
                SELECT s.id, old.proof_at FROM submissions s JOIN old USING (id)
                WHERE s.state = 'rejected' AND s.settled_at = old.settled_at ORDER BY s.id FOR UPDATE OF s
            ), apart AS (
                DELETE FROM submission_proofs p USING locked
                WHERE p.received_at = locked.proof_at AND p.submission_id = locked.id RETURNING 1 AS one
            ), marked AS (
                INSERT INTO retention_marks (name, dropped_before)
                SELECT \(Self.rejectedMark), max(settled_at) FROM old HAVING count(*) > 0
                ON CONFLICT (name) DO UPDATE SET dropped_before = excluded.dropped_before, updated_at = now()
            )
            SELECT (SELECT count(*) FROM old) AS looked, (SELECT count(*) FROM apart) AS removed
            """)
        return try result.map(RemovedRows.init).first ?? RemovedRows(looked: 0, removed: 0)
    }

    /// Moves proofs of submissions that wait for their outcome into the month that it is now, so that their month can go.
    ///
    /// - Parameters:
    ///   - partition: the month whose time is over.
    ///   - limit: the most to move at once.
    /// - Returns: how many were moved; fewer than the limit where no more is to be.
    /// - Throws: `PostgresError`.
    package func carryProofs(outOf partition: PartitionStore.Partition, limit: Int) async throws -> Int {
        let result = try await pool.query(
            """
            WITH month AS (
                SELECT begins_at, ends_at FROM table_months WHERE partition_name = \(partition.name)
            ), waiting AS MATERIALIZED (
                (SELECT s.id FROM submissions s, month
                WHERE s.due_at IS NOT NULL AND s.proof_at >= month.begins_at AND s.proof_at < month.ends_at LIMIT \(limit))
                UNION ALL
                (SELECT s.id FROM submissions s, month
                WHERE s.state = 'parked' AND s.proof_at >= month.begins_at AND s.proof_at < month.ends_at LIMIT \(limit))
            ), locked AS MATERIALIZED (
                SELECT s.id, s.proof_at FROM submissions s WHERE s.id IN (SELECT id FROM waiting) ORDER BY s.id FOR UPDATE
            ), taken AS (
                DELETE FROM submission_proofs p USING locked
                WHERE p.received_at = locked.proof_at AND p.submission_id = locked.id
                RETURNING p.submission_id, p.proof, p.header, p.rest
            ), moved AS (
                INSERT INTO submission_proofs (submission_id, received_at, proof, header, rest)
                SELECT submission_id, now(), proof, header, rest FROM taken
            ), named AS (
                UPDATE submissions s SET proof_at = now() FROM locked WHERE s.id = locked.id RETURNING 1 AS one
            )
            SELECT count(*) AS count FROM named
            """)
        return try result.rows.first?.decode(Int.self) ?? 0
    }

    /// Writes the proofs of posts again whose submission has lost its own: it is to be judged anew.
    ///
    /// - Throws: `PostgresError`.
    func restoreProofs(of posted: [NewSubmission]) async throws {
        let apart = posted.map(\.message).filter { !$0.kind.isInRow }
        guard !apart.isEmpty else { return }
        let ids = SQL.once(apart.map(\.submissionId))
        _ = try await pool.query(
            """
            WITH lost AS MATERIALIZED (
                SELECT id FROM submissions WHERE id = ANY(\(ids)) AND state <> 'fulfilled' AND NOT \(Self.hasProof)
                ORDER BY id FOR UPDATE
            ), found AS (
                UPDATE submissions SET proof = NULL, proof_at = now()
                FROM lost WHERE submissions.id = lost.id
                RETURNING submissions.id
            )
            INSERT INTO submission_proofs (submission_id, received_at, proof)
            SELECT new.id, now(), new.proof FROM unnest(\(ids), \(apart.map(\.proof))) AS new (id, proof) JOIN found USING (id)
            """)
    }

    /// Removes the proofs of submissions that have an outcome, in the caller's transaction: a token of a forgotten account
    /// stands in them.
    ///
    /// - Returns: how many had one.
    /// - Throws: `PostgresError`.
    @discardableResult
    package static func eraseProofs(of ids: [String], on connection: PostgresConnection) async throws -> Int {
        guard !ids.isEmpty else { return 0 }
        let result = try await connection.query(
            """
            WITH locked AS MATERIALIZED (
                SELECT id, proof_at FROM submissions
                WHERE id = ANY(\(ids)) AND state <> 'received' AND proof IS DISTINCT FROM '' ORDER BY id FOR UPDATE
            ), apart AS (
                DELETE FROM submission_proofs p USING locked
                WHERE p.received_at = locked.proof_at AND p.submission_id = locked.id
            )
            UPDATE submissions s SET proof = '', proof_at = NULL FROM locked
            WHERE s.id = locked.id
            RETURNING 1 AS one
            """)
        return result.rows.count
    }
}
