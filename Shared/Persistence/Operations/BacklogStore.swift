package import Postgres

/// What is late or held up, and how the database server is set: what a health check of the whole asks.
package struct BacklogStore: Sendable {
    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Rows that were due some time ago and that nobody took.
    package struct Overdue: Sendable {
        /// `submissions`, `events`, `webhook_deliveries`, `operator_claims`, `subscriptions` or `entitlements`.
        package let table: String
        /// How many are overdue.
        package let count: Int64
        /// Seconds since the oldest of them was due.
        package let oldestSeconds: Double
    }

    /// Orders that wait for somebody.
    package struct Parked: Sendable {
        /// Why they are parked.
        package let reason: String
        /// How many.
        package let count: Int64
        /// Seconds since the oldest was parked.
        package let oldestSeconds: Double
        /// The environment and transaction id of the oldest.
        package let oldestOrder: String
    }

    /// An endpoint that was switched off by what it answered.
    package struct DisabledEndpoint: Sendable {
        /// Its id in the webhooks file.
        package let id: String
        /// Why.
        package let reason: String
        /// Deliveries that wait for it.
        package let pending: Int64
    }

    /// What the server was started with.
    package struct ServerSettings: Sendable {
        /// The server's version, such as `15.14`.
        package let version: String
        /// False where a crash of the machine can lose committed purchases.
        package let isFsyncOn: Bool
        /// `on`, or how much less this session's commits wait for.
        package let synchronousCommit: String
        /// True on a standby, which takes no purchases.
        package let isStandby: Bool
    }

    /// Rows whose due time passed longer ago than the grace period, per table; tables without any are left out.
    ///
    /// Deliveries to endpoints that are switched off do not count: nobody is meant to take them.
    ///
    /// - Throws: `PostgresError`.
    package func overdue(grace: Duration) async throws -> [Overdue] {
        let result = try await pool.query(
            """
            WITH late AS (
                SELECT 'submissions' AS name, due_at FROM submissions WHERE due_at < now() - $1 * interval '1 millisecond'
                UNION ALL SELECT 'events', due_at FROM event_outbox WHERE due_at < now() - $1 * interval '1 millisecond'
                UNION ALL SELECT 'webhook_deliveries', due_at FROM webhook_deliveries d
                    LEFT JOIN webhook_endpoints e ON e.id = d.endpoint_id
                    WHERE due_at < now() - $1 * interval '1 millisecond' AND e.disabled_at IS NULL
                UNION ALL SELECT 'operator_claims', due_at FROM operator_claims
                    WHERE due_at < now() - $1 * interval '1 millisecond'
                UNION ALL SELECT 'subscriptions', due_at FROM subscriptions
                    WHERE due_at < now() - $1 * interval '1 millisecond'
                UNION ALL SELECT 'entitlements', expires_at FROM entitlements
                    WHERE expires_at < now() - $1 * interval '1 millisecond' AND end_told_at IS NULL AND revoked_at IS NULL
            )
            SELECT name, count(*) AS count, extract(epoch FROM now() - min(due_at))::float8 AS oldest
            FROM late GROUP BY name ORDER BY name
            """, [.int8(grace.wholeMilliseconds)])
        return try result.rows.map { row in
            Overdue(
                table: try row.decode("name"), count: try row.decode("count"),
                oldestSeconds: try row.decode("oldest"))
        }
    }

    /// The oldest submission without an outcome, in seconds since it was received or reopened; nil when all have one.
    ///
    /// - Throws: `PostgresError`.
    package func oldestUnsettledSeconds() async throws -> Double? {
        let result = try await pool.query(
            """
            SELECT extract(epoch FROM now() - min(coalesce(reopened_at, received_at)))::float8 AS age FROM submissions
            WHERE due_at IS NOT NULL
            """)
        return try result.rows.first?.decodeIfPresent("age", as: Double.self)
    }

    /// Parked orders by reason.
    ///
    /// - Throws: `PostgresError`.
    package func parkedOrders() async throws -> [Parked] {
        let result = try await pool.query(
            """
            SELECT reason, count(*) AS count, extract(epoch FROM now() - min(created_at))::float8 AS oldest,
                (array_agg(environment || ' ' || transaction_id ORDER BY created_at, transaction_id))[1] AS oldest_order
            FROM orders WHERE state = 'parked' GROUP BY reason ORDER BY reason
            """)
        return try result.rows.map { row in
            Parked(
                reason: try row.decode("reason"), count: try row.decode("count"),
                oldestSeconds: try row.decode("oldest"), oldestOrder: try row.decode("oldest_order"))
        }
    }

    /// Endpoints that are switched off.
    ///
    /// - Throws: `PostgresError`.
    package func disabledEndpoints() async throws -> [DisabledEndpoint] {
        let result = try await pool.query(
            """
            SELECT e.id, coalesce(e.disabled_reason, 'no reason noted') AS reason, count(d.event_id) AS pending
            FROM webhook_endpoints e
            LEFT JOIN webhook_deliveries d ON d.endpoint_id = e.id AND d.due_at IS NOT NULL
            WHERE e.disabled_at IS NOT NULL GROUP BY e.id, e.disabled_reason ORDER BY e.id
            """)
        return try result.rows.map { row in
            DisabledEndpoint(
                id: try row.decode("id"), reason: try row.decode("reason"), pending: try row.decode("pending"))
        }
    }

    /// How the server is set.
    ///
    /// - Throws: `PostgresError`.
    package func serverSettings() async throws -> ServerSettings {
        let result = try await pool.query(
            """
            SELECT current_setting('server_version') AS version, current_setting('fsync') = 'on' AS fsync,
                current_setting('synchronous_commit') AS synchronous_commit, pg_is_in_recovery() AS standby
            """)
        guard let row = result.rows.first else {
            throw PostgresError(code: .decodingFailed, reason: "the server's settings came back empty")
        }
        return ServerSettings(
            version: try row.decode("version"), isFsyncOn: try row.decode("fsync"),
            synchronousCommit: try row.decode("synchronous_commit"), isStandby: try row.decode("standby"))
    }
}
