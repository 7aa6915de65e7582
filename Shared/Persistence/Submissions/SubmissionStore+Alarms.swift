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

        /// Makes a summary.
        package init(reason: ReasonCode, count: Int64, oldestSeconds: Double) {
            self.reason = reason
            self.count = count
            self.oldestSeconds = oldestSeconds
        }
    }

    /// Marks submissions without an outcome that are older than `age` and not marked yet.
    ///
    /// Any number of processes may do this at once: a row locked by another is passed over.
    ///
    /// - Parameter limit: the most to mark.
    /// - Throws: `PostgresError`.
    package func raiseAlarms(olderThan age: Duration, limit: Int) async throws -> [Alarm] {
        let result = try await pool.query(
            """
            UPDATE submissions SET alarmed_at = now()
            WHERE id IN (
                SELECT id FROM submissions
                WHERE due_at IS NOT NULL AND alarmed_at IS NULL
                    AND coalesce(reopened_at, received_at) <= now() - $1 * interval '1 millisecond'
                ORDER BY coalesce(reopened_at, received_at) LIMIT $2 FOR UPDATE SKIP LOCKED)
            RETURNING id, coalesce(reason, $3) AS reason, extract(epoch FROM now() - coalesce(reopened_at, received_at))::float8 AS age
            """, [.int8(age.wholeMilliseconds), .int8(Int64(limit)), .text(ReasonCode.noVerdict.rawValue)])
        return try result.rows.map { row in
            Alarm(
                submissionId: try row.decode("id"), reason: ReasonCode(rawValue: try row.decode("reason")),
                ageSeconds: try row.decode("age"))
        }
    }

    /// What has an alarm and still no outcome, by reason.
    ///
    /// - Throws: `PostgresError`.
    package func alarmed() async throws -> [Alarmed] {
        let result = try await pool.query(
            """
            SELECT coalesce(reason, $1) AS reason, count(*) AS count,
                extract(epoch FROM now() - min(coalesce(reopened_at, received_at)))::float8 AS oldest
            FROM submissions WHERE due_at IS NOT NULL AND alarmed_at IS NOT NULL
            GROUP BY 1 ORDER BY 1
            """, [.text(ReasonCode.noVerdict.rawValue)])
        return try result.rows.map { row in
            Alarmed(
                reason: ReasonCode(rawValue: try row.decode("reason")), count: try row.decode("count"),
                oldestSeconds: try row.decode("oldest"))
        }
    }
}
