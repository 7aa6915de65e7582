package import Postgres
package import PurchaseModel

/// What may be paid and is not delivered: parked orders, and submissions without an outcome.
///
/// Monitoring asks this every few seconds, also while everything is late: no statement reads more than a few thousand
/// rows of each group, however many wait.
package struct UndeliveredStore: Sendable {
    /// Rows of a group that are counted at most; a count of as many means "at least".
    package static let countMaximum = 10_000
    /// Groups that are told of at most; there are a few environments and reasons.
    private static let groupsMaximum = 100

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Orders that Apple signed for and that are held, for one reason in one environment.
    package struct Parked: Sendable, Hashable {
        package let environment: String
        package let reason: ReasonCode
        /// At most ``countMaximum``.
        package let count: Int64
        /// Seconds since the oldest was recorded; exact, however many there are.
        package let oldestSeconds: Double
        /// The transaction id of the oldest.
        package let oldestTransactionId: String
    }

    /// Submissions without an outcome, for one reason.
    package struct Undecided: Sendable, Hashable {
        package let reason: ReasonCode
        /// At most ``countMaximum``.
        package let count: Int64
        /// Seconds since the oldest that was looked at was received or reopened; exact for the oldest of all.
        package let oldestSeconds: Double
    }

    /// Parked orders by environment and reason.
    ///
    /// - Throws: `PostgresError`.
    package func parked() async throws -> [Parked] {
        // The index orders_waiting holds all that is asked: from one group to the next, and each group from its oldest
        // row on, so that the planner has no reason to read a group as a whole.
        let result = try await pool.query(
            """
            WITH RECURSIVE groups AS (
                (SELECT environment, reason FROM orders WHERE state = 'parked' ORDER BY environment, reason LIMIT 1)
                UNION ALL
                SELECT next.environment, next.reason FROM groups CROSS JOIN LATERAL (
                    SELECT environment, reason FROM orders
                    WHERE state = 'parked' AND (environment, reason) > (groups.environment, groups.reason)
                    ORDER BY environment, reason LIMIT 1) next
            )
            SELECT environment, reason, counted.count, extract(epoch FROM now() - oldest.created_at)::float8 AS oldest_seconds,
                oldest.transaction_id AS oldest_transaction_id
            FROM (SELECT environment, reason FROM groups LIMIT \(Self.groupsMaximum)) known
            CROSS JOIN LATERAL (
                SELECT count(*) AS count FROM (
                    SELECT created_at FROM orders
                    WHERE state = 'parked' AND environment = known.environment AND reason = known.reason
                    ORDER BY created_at LIMIT \(Self.countMaximum)) o) counted
            CROSS JOIN LATERAL (
                SELECT created_at, transaction_id FROM orders
                WHERE state = 'parked' AND environment = known.environment AND reason = known.reason
                ORDER BY created_at LIMIT 1) oldest
            ORDER BY environment, reason
            """)
        return try result.map(Parked.init)
    }

    /// Grants of which an endpoint of the studio's was never told, since it did not take the event for days.
    package struct Untold: Sendable, Hashable {
        package let environment: String
        /// At most ``countMaximum``.
        package let count: Int64
        /// Seconds since the oldest event was written.
        package let oldestSeconds: Double
    }

    /// Grants that an endpoint was never told of, by environment: of the oldest ``countMaximum`` webhooks that were given up.
    ///
    /// - Throws: `PostgresError`.
    package func untold() async throws -> [Untold] {
        let result = try await pool.query(
            """
            SELECT e.environment, count(DISTINCT e.id) AS count, extract(epoch FROM now() - min(e.created_at))::float8 AS oldest_seconds
            FROM (SELECT event_id FROM webhook_deliveries WHERE state = 'abandoned'
                ORDER BY event_id, endpoint_id LIMIT \(Self.countMaximum)) given_up
            CROSS JOIN LATERAL (SELECT * FROM events WHERE id = given_up.event_id OFFSET 0) e
            WHERE e.type = 'iap.transaction.fulfilled' GROUP BY 1 ORDER BY 1
            """)
        return try result.map(Untold.init)
    }

    /// Submissions that are older than this and have no outcome, by reason; whether they are paid is not known yet.
    ///
    /// - Throws: `PostgresError`.
    package func undecided(olderThan age: Duration) async throws -> [Undecided] {
        // The oldest of what has no alarm, and the oldest of each reason of what has one.
        let result = try await pool.query(
            """
            WITH RECURSIVE \(SubmissionStore.alarmedReasons), looked AS (
                (SELECT \(SubmissionStore.reasonIfUnsettled) AS reason, \(SubmissionStore.unsettledSince) AS since
                FROM submissions WHERE \(SubmissionStore.isUnalarmed) ORDER BY \(SubmissionStore.unsettledSince) LIMIT \(Self.countMaximum))
                UNION ALL
                SELECT reasons.reason, rows.since FROM reasons
                CROSS JOIN LATERAL (\(SubmissionStore.alarmedRows(of: "reasons.reason", limit: "\(Self.countMaximum)"))) rows
            )
            SELECT reason, least(count(*), \(Self.countMaximum)) AS count, extract(epoch FROM now() - min(since))::float8 AS oldest_seconds
            FROM looked WHERE since < now() - \(age)
            GROUP BY 1 ORDER BY 1
            """)
        return try result.map(Undecided.init)
    }
}
