import Postgres

/// How long it is known that something was found by asking.
extension RecoveryStore {
    /// Removes what was found longer ago than `age`, the oldest first, unless its submission has no outcome yet.
    ///
    /// The books have it by then, and Apple's list of notifications does not go so far back: it is not found again.
    ///
    /// - Returns: how many; fewer than the limit where no more is to be removed.
    /// - Throws: `PostgresError`.
    package func remove(olderThan age: Duration, limit: Int) async throws -> Int {
        let result = try await pool.query(
            """
            DELETE FROM recoveries WHERE (app, environment, finding) IN (
                SELECT v.app, v.environment, v.finding FROM recoveries v
                WHERE v.found_at < now() - \(age)
                    AND NOT EXISTS (SELECT FROM submissions s WHERE s.id = v.submission_id AND s.due_at IS NOT NULL)
                ORDER BY v.found_at LIMIT \(limit))
            """)
        return result.affectedRows
    }
}
