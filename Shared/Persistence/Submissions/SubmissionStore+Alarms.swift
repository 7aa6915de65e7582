import Postgres
package import PurchaseModel

/// The column `submissions.alarmed_at`: what is too old without an outcome, and due all the same.
extension SubmissionStore {
    /// A submission that was found too old just now; each is found once, and once more when it was reopened.
    package struct Alarm: Sendable, Hashable {
        /// The submission.
        package let submissionId: String
        /// Why nothing is known of it.
        package let reason: ReasonCode
        /// Seconds since it was received, or reopened.
        package let ageSeconds: Double
    }

    /// Submissions without an outcome that an alarm was raised for.
    package struct Alarmed: Sendable, Hashable {
        /// Why nothing is known of them.
        package let reason: ReasonCode
        /// How many.
        package let count: Int64
        /// Seconds since the oldest of them was received, or reopened.
        package let oldestSeconds: Double
    }

    /// Rows of a reason that are counted at most; a count of as many means "at least".
    package static let alarmedCountMaximum = 10_000
    /// Reasons that are told of at most; there are a dozen.
    private static let reasonsMaximum = 100

    /// Since when a row has been without an outcome; the words of the indexes submissions_unalarmed and submissions_alarmed.
    static let unsettledSince: SQL = "coalesce(reopened_at, received_at)"
    /// Why; the words of the index submissions_alarmed.
    static let reasonIfUnsettled: SQL = "coalesce(reason, '\(unescaped: ReasonCode.noVerdict.rawValue)')"
    /// Those that an alarm can still be raised for; the words of the index submissions_unalarmed.
    static let isUnalarmed: SQL = "due_at IS NOT NULL AND alarmed_at IS NULL"
    /// Those that have one; the words of the index submissions_alarmed.
    static let isAlarmed: SQL = "due_at IS NOT NULL AND alarmed_at IS NOT NULL"

    /// Marks the oldest submissions without an outcome that are older than `age` and not marked yet.
    ///
    /// Any number of processes may do this at once: a row locked by another is passed over. No more rows are read than
    /// are marked, or are locked by others.
    ///
    /// - Parameter limit: the most to mark.
    /// - Throws: `PostgresError`.
    package func raiseAlarms(olderThan age: Duration, limit: Int) async throws -> [Alarm] {
        // ARRAY: the rows are found by their ids whatever the planner expects of the limit.
        let result = try await pool.query(
            """
            UPDATE submissions SET alarmed_at = now()
            WHERE id = ANY(ARRAY(
                SELECT id FROM submissions
                WHERE \(Self.isUnalarmed) AND \(Self.unsettledSince) <= now() - \(age)
                ORDER BY \(Self.unsettledSince) LIMIT \(limit) FOR UPDATE SKIP LOCKED))
            RETURNING id AS submission_id, \(Self.reasonIfUnsettled) AS reason,
                extract(epoch FROM now() - \(Self.unsettledSince))::float8 AS age_seconds
            """)
        return try result.map(Alarm.init)
    }

    /// What has an alarm and still no outcome, by reason: at most ``alarmedCountMaximum`` of each, the oldest exactly.
    ///
    /// - Throws: `PostgresError`.
    package func alarmed() async throws -> [Alarmed] {
        let result = try await pool.query(
            """
            WITH RECURSIVE \(Self.alarmedReasons)
            SELECT known.reason, oldest.count, extract(epoch FROM now() - oldest.since)::float8 AS oldest_seconds
            FROM (SELECT reason FROM reasons LIMIT \(Self.reasonsMaximum)) known
            CROSS JOIN LATERAL (
                SELECT count(*) AS count, min(since) AS since FROM (\(Self.alarmedRows(of: "known.reason", limit: "\(Self.alarmedCountMaximum)"))) s
            ) oldest
            ORDER BY known.reason
            """)
        return try result.map(Alarmed.init)
    }

    /// The reasons of what has an alarm, as a recursive `reasons (reason)`: from one to the next in the index.
    static let alarmedReasons: SQL = """
        reasons AS (
            (SELECT \(reasonIfUnsettled) AS reason FROM submissions
            WHERE \(isAlarmed) ORDER BY \(reasonIfUnsettled) LIMIT 1)
            UNION ALL
            SELECT next.reason FROM reasons CROSS JOIN LATERAL (
                SELECT \(reasonIfUnsettled) AS reason FROM submissions
                WHERE \(isAlarmed) AND \(reasonIfUnsettled) > reasons.reason
                ORDER BY \(reasonIfUnsettled) LIMIT 1) next
        )
        """

    /// `since` of the oldest rows of a reason that have an alarm.
    static func alarmedRows(of reason: SQL, limit: SQL) -> SQL {
        """
        SELECT \(unsettledSince) AS since FROM submissions
        WHERE \(isAlarmed) AND \(reasonIfUnsettled) = \(reason)
        ORDER BY \(unsettledSince) LIMIT \(limit)
        """
    }
}
