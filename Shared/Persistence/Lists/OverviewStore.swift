package import Foundation
package import Postgres
package import PurchaseModel

/// How an app stands, for the page that people look at first: every part is read to a limit, by an index.
package struct OverviewStore: Sendable {
    package enum Limit {
        /// Purchases of the last hour that are counted.
        package static let purchases = 50_000
        /// Submissions without an outcome that are counted, the oldest.
        package static let submissions = 10_000
        /// Endpoints that something waits for.
        package static let endpoints = 50
        /// Deliveries that wait for an endpoint and are looked at: those that are due first.
        package static let pending = 500
        /// Deliveries that were given up and are looked at: the newest.
        package static let abandoned = 5_000
        /// Refund requests that are counted.
        package static let requests = 1_000
    }

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Purchases that were recorded in one minute.
    package struct Minute: Sendable, Hashable {
        /// When it began.
        package let at: Date
        package let purchases: Int64
    }

    /// The last of Apple's notifications of an environment.
    package struct LastNotification: Sendable, Hashable {
        package let environment: StoreEnvironment
        package let type: String
        package let recordedAt: Date
    }

    /// Submissions without an outcome, of one reason.
    package struct Waiting: Sendable, Hashable {
        package let reason: ReasonCode
        package let count: Int64
        package let oldest: Date
        /// Those of them that are too old.
        package let alarmed: Int64
        package let oldestAlarmed: Date?
    }

    /// Refund requests that are to be answered: the player consents.
    package struct RefundRequests: Sendable, Hashable {
        package let count: Int64
        package let oldest: Date?
    }

    /// The minutes of the last hour, the oldest first; of more than ``Limit/purchases`` the newest are counted.
    ///
    /// - Throws: `PostgresError`.
    package func minutes(_ app: String, _ environment: StoreEnvironment) async throws -> [Minute] {
        try await ListLook.read(pool) { connection in
            try await connection.query(Self.minutesStatement(app, environment)).rows.map {
                Minute(at: try $0.decode("minute"), purchases: try $0.decode("purchases"))
            }
        }
    }

    static func minutesStatement(_ app: String, _ environment: StoreEnvironment) -> SQL {
        """
        SELECT minute, coalesce(purchases, 0) AS purchases
        FROM generate_series(date_trunc('minute', now()) - interval '59 minutes', now(), interval '1 minute') AS minute
        LEFT JOIN (
            SELECT date_trunc('minute', created_at) AS minute, count(*) AS purchases FROM (
                SELECT created_at FROM orders WHERE app = \(app) AND environment = \(environment)
                    AND created_at >= date_trunc('minute', now()) - interval '59 minutes'
                ORDER BY created_at DESC LIMIT \(unescaped: "\(Limit.purchases)")) recorded
            GROUP BY 1
        ) counted USING (minute) ORDER BY minute
        """
    }

    /// The last of Apple's notifications of each environment that had one.
    ///
    /// - Throws: `PostgresError`.
    package func lastNotifications(_ app: String) async throws -> [LastNotification] {
        try await ListLook.read(pool) { connection in
            try await connection.query(Self.lastNotificationsStatement(app)).rows.map {
                LastNotification(
                    environment: try $0.environment(), type: try $0.decode("type"),
                    recordedAt: try $0.decode("recorded_at"))
            }
        }
    }

    static func lastNotificationsStatement(_ app: String) -> SQL {
        let branches = StoreEnvironment.allCases.map { environment -> SQL in
            """
            (SELECT environment, type, recorded_at FROM apple_notifications
            WHERE app = \(app) AND environment = \(environment) ORDER BY recorded_at DESC, notification_uuid DESC LIMIT 1)
            """
        }
        return "\(branches.joined(separator: " UNION ALL ")) ORDER BY environment"
    }

    /// Submissions without an outcome by reason: the oldest ``Limit/submissions``.
    ///
    /// - Throws: `PostgresError`.
    package func waiting(_ app: String) async throws -> [Waiting] {
        try await ListLook.read(pool) { connection in
            try await connection.query(Self.waitingStatement(app)).rows.map {
                Waiting(
                    reason: ReasonCode(rawValue: try $0.decode("reason")), count: try $0.decode("count"),
                    oldest: try $0.decode("oldest"), alarmed: try $0.decode("alarmed"),
                    oldestAlarmed: try $0.decodeIfPresent("oldest_alarmed"))
            }
        }
    }

    static func waitingStatement(_ app: String) -> SQL {
        """
        SELECT reason, count(*) AS count, min(since) AS oldest, count(alarmed_at) AS alarmed,
            min(since) FILTER (WHERE alarmed_at IS NOT NULL) AS oldest_alarmed
        FROM (SELECT \(SubmissionStore.reasonIfUnsettled) AS reason, \(SubmissionStore.unsettledSince) AS since, alarmed_at
            FROM submissions WHERE app = \(app) AND state = 'received' AND \(SubmissionListStore.isUnfulfilled)
            ORDER BY \(SubmissionStore.unsettledSince) LIMIT \(unescaped: "\(Limit.submissions)")) waiting
        GROUP BY reason ORDER BY reason
        """
    }

    /// Refund requests without an answer whose player consents, of those that end first.
    ///
    /// - Throws: `PostgresError`.
    package func refundRequests(_ app: String) async throws -> RefundRequests {
        let result = try await pool.query(
            """
            SELECT count(*) AS count, min(requested_at) AS oldest FROM (
                SELECT * FROM apple_calls WHERE due_at IS NOT NULL AND kind = 'consumption'
                ORDER BY due_at LIMIT \(unescaped: "\(Limit.requests)")) c
            JOIN orders o ON (o.environment, o.transaction_id) = (c.environment, c.order_transaction_id)
            JOIN account_consents k ON (k.account, k.app) = (o.account, o.app)
            WHERE c.app = \(app) AND k.consented
            """)
        return try result.rows.first.map {
            RefundRequests(count: try $0.decode("count"), oldest: try $0.decodeIfPresent("oldest"))
        } ?? RefundRequests(count: 0, oldest: nil)
    }
}
