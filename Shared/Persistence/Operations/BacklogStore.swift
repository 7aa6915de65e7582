package import Postgres
import PurchaseModel

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
        /// How many are overdue; ``DueRowsStore/countMaximum`` means at least as many.
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
        /// Deliveries that wait for it, ``DueRowsStore/countMaximum`` at the most.
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
        /// The database's collation, such as `C` or `en_US.UTF-8`.
        package let collation: String
        /// False where the order of texts may be another one than when the indexes were built.
        package let isCollationCurrent: Bool
    }

    /// Rows whose due time passed longer ago than the grace period, per table; tables without any are left out.
    ///
    /// At most ``DueRowsStore/countMaximum`` of each are counted, and the oldest exactly. Deliveries to endpoints that are
    /// switched off do not count: nobody is meant to take them.
    ///
    /// - Throws: `PostgresError`.
    package func overdue(grace: Duration) async throws -> [Overdue] {
        try await DueRowsStore(pool: pool).queues(grace: grace).compactMap { queue in
            guard let count = queue.counts.first, count > 0 else { return nil }
            return Overdue(table: queue.table, count: count, oldestSeconds: queue.oldestSeconds)
        }.sorted { $0.table < $1.table }
    }

    /// The oldest submission without an outcome, in seconds since it was received or reopened; nil when all have one.
    ///
    /// - Throws: `PostgresError`.
    package func oldestUnsettledSeconds() async throws -> Double? {
        let result = try await pool.query(
            """
            SELECT extract(epoch FROM now() - oldest)::float8 AS age
            FROM (\(SubmissionStore.oldestUnsettledStatement)) unsettled
            """)
        return try result.rows.first?.decode(Double?.self) ?? nil
    }

    /// Parked orders by reason: at most ``UndeliveredStore/countMaximum`` of each environment, the oldest exactly.
    ///
    /// - Throws: `PostgresError`.
    package func parkedOrders() async throws -> [Parked] {
        let groups = try await UndeliveredStore(pool: pool).parked()
        return Dictionary(grouping: groups, by: \.reason).compactMap { reason, groups in
            guard let oldest = groups.max(by: { $0.oldestSeconds < $1.oldestSeconds }) else { return nil }
            return Parked(
                reason: reason.rawValue, count: groups.reduce(0) { $0 + $1.count },
                oldestSeconds: oldest.oldestSeconds,
                oldestOrder: "\(oldest.environment) \(oldest.oldestTransactionId)")
        }.sorted { $0.reason < $1.reason }
    }

    /// Endpoints that are switched off.
    ///
    /// - Throws: `PostgresError`.
    package func disabledEndpoints() async throws -> [DisabledEndpoint] {
        let result = try await pool.query(
            """
            SELECT e.id, coalesce(e.disabled_reason, 'no reason noted') AS reason, d.pending
            FROM webhook_endpoints e CROSS JOIN LATERAL (
                SELECT count(*) AS pending FROM (
                    SELECT FROM webhook_deliveries
                    WHERE endpoint_id = e.id AND due_at IS NOT NULL ORDER BY due_at LIMIT \(DueRowsStore.countMaximum)) waiting) d
            WHERE e.disabled_at IS NOT NULL ORDER BY e.id
            """)
        return try result.map(DisabledEndpoint.init)
    }

    /// How the server is set.
    ///
    /// - Throws: `PostgresError`.
    package func serverSettings() async throws -> ServerSettings {
        let result = try await pool.query(
            """
            SELECT current_setting('server_version') AS version, current_setting('fsync') = 'on' AS is_fsync_on,
                current_setting('synchronous_commit') AS synchronous_commit, pg_is_in_recovery() AS is_standby,
                coalesce(fields->>'datlocale', fields->>'daticulocale', fields->>'datcollate') AS collation,
                coalesce(fields->>'datcollversion' = pg_database_collation_actual_version(oid), true) AS is_collation_current
            FROM (SELECT oid, to_jsonb(d) AS fields FROM pg_database d WHERE datname = current_database()) AS own
            """)
        guard let settings = try result.map(ServerSettings.init).first else {
            throw PostgresError(code: .decodingFailed, reason: "the server's settings came back empty")
        }
        return settings
    }
}
