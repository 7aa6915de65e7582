package import Postgres

/// How many rows are due and not taken yet, by how long they have been: the queues that live in the database.
///
/// Monitoring asks this every few seconds: no statement reads more than ``countMaximum`` rows of each queue.
package struct DueRowsStore: Sendable {
    /// Rows of a queue that are counted at most; a count of as many means "at least".
    package static let countMaximum = 10_000
    /// The ages that rows are counted by, in seconds; every count includes those of greater ages.
    package static let ages = [0, 60, 600, 3600]

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// One queue.
    package struct Queue: Sendable, Hashable {
        /// The table: `submissions`, `events`, `webhook_deliveries`, `operator_claims`, `release_requests`, `subscriptions`,
        /// `entitlements`, `forget_requests`, `apple_calls`, `notification_forwards` or `sweep_requests`.
        package let table: String
        /// How many have been due for longer than each of ``DueRowsStore/ages``.
        package let counts: [Int64]
        /// Seconds that the oldest has been due; 0 where none is.
        package let oldestSeconds: Double
    }

    /// All queues, empty ones, too.
    ///
    /// Deliveries to endpoints that are switched off do not count: nobody is meant to take them. Nor do those to endpoints that
    /// only fail: the notification service holds them back on purpose, and another alert tells of that.
    ///
    /// - Parameter grace: rows count that have been due for longer than this.
    /// - Throws: `PostgresError`.
    package func queues(grace: Duration = .zero) async throws -> [Queue] {
        let result = try await pool.query(
            Self.statement, [.int8(Int64(Self.countMaximum)), .int8(grace.wholeMilliseconds)])
        return try result.rows.map { row in
            Queue(
                table: try row.decode("name"),
                counts: try Self.ages.map { try row.decode("over_\($0)") },
                oldestSeconds: try row.decode("oldest"))
        }
    }

    /// The endpoints that deliveries wait for, as a recursive `endpoints (endpoint_id)`: from one to the next in the index.
    static let endpoints: SQL = """
        endpoints AS (
            (SELECT endpoint_id FROM webhook_deliveries WHERE due_at IS NOT NULL ORDER BY endpoint_id LIMIT 1)
            UNION ALL
            SELECT next.endpoint_id FROM endpoints CROSS JOIN LATERAL (
                SELECT endpoint_id FROM webhook_deliveries
                WHERE due_at IS NOT NULL AND endpoint_id > endpoints.endpoint_id ORDER BY endpoint_id LIMIT 1) next
        )
        """

    /// Each queue is read through its own partial index, from the row that has been due for longest.
    private static let statement: String = {
        let deliveries = """
            SELECT d.due FROM endpoints
            LEFT JOIN webhook_endpoints e ON e.id = endpoints.endpoint_id
            CROSS JOIN LATERAL (\(due("webhook_deliveries", and: "endpoint_id = endpoints.endpoint_id"))) d
            WHERE e.disabled_at IS NULL AND e.is_holding IS NOT TRUE AND e.failing_since IS NULL
            """
        let queues = [
            queue("submissions", due("submissions")), queue("events", due("event_outbox")),
            queue("operator_claims", due("operator_claims")), queue("release_requests", due("release_requests")),
            queue("subscriptions", due("subscriptions")),
            queue("entitlements", due("entitlements", "expires_at", and: "end_told_at IS NULL AND revoked_at IS NULL")),
            queue("webhook_deliveries", deliveries), queue("forget_requests", due("forget_requests")),
            queue("apple_calls", due("apple_calls")), queue("notification_forwards", due("notification_forwards")),
            queue("sweep_requests", due("sweep_requests", "requested_at", and: "taken_at IS NULL")),
        ]
        return "WITH RECURSIVE \(endpoints)\n" + queues.joined(separator: "\nUNION ALL\n")
    }()

    private static func queue(_ name: String, _ rows: String) -> String {
        let counts = ages.map { "count(*) FILTER (WHERE late > \($0)) AS over_\($0)" }.joined(separator: ", ")
        return """
            SELECT '\(name)' AS name, \(counts), coalesce(max(late), 0)::float8 AS oldest
            FROM (SELECT extract(epoch FROM now() - due) AS late FROM (\(rows)) due_rows) ages
            """
    }

    private static func due(_ table: String, _ column: String = "due_at", and condition: String = "true") -> String {
        """
        SELECT \(column) AS due FROM \(table)
        WHERE \(column) < now() - $2 * interval '1 millisecond' AND \(condition) ORDER BY \(column) LIMIT $1
        """
    }
}
