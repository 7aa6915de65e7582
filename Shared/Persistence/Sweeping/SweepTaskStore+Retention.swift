import Postgres

/// How long a question stays that is not asked again.
extension SweepTaskStore {
    /// Removes questions about customers that were answered longer ago than `age` and are asked once, the oldest first.
    ///
    /// What somebody wants asked again is due, and stays. Where the purchase is still the newest of its account, or nobody's, the
    /// walk makes the question anew, and Apple is asked once more.
    ///
    /// - Returns: how many; fewer than the limit where no more is to be removed.
    /// - Throws: `PostgresError`.
    package func removeOver(olderThan age: Duration, limit: Int) async throws -> Int {
        let result = try await pool.query(
            """
            DELETE FROM sweep_tasks WHERE id IN (
                SELECT id FROM sweep_tasks
                WHERE due_at IS NULL AND customer <> '' AND finished_at < now() - \(age)
                ORDER BY finished_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            """)
        return result.affectedRows
    }
}
