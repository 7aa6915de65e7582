package import Foundation
package import Postgres
package import PurchaseModel

/// The table `apple_notifications`: the server notifications that Apple signed, each once.
package struct AppleNotificationStore: Sendable {
    /// A notification that was judged.
    package struct Notification: Sendable, Hashable {
        package let app: String
        /// Apple's `notificationUUID`, in lower case.
        package let uuid: String
        package let environment: StoreEnvironment
        /// Apple's word, known here or not.
        package let type: String
        package let subtype: String?
        package let signedDate: Date?
        package let submissionId: String

        package init(
            app: String, uuid: String, environment: StoreEnvironment, type: String, subtype: String?, signedDate: Date?,
            submissionId: String
        ) {
            self.app = app
            self.uuid = uuid
            self.environment = environment
            self.type = type
            self.subtype = subtype
            self.signedDate = signedDate
            self.submissionId = submissionId
        }
    }

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Writes notifications down, in the caller's transaction; what is known stays as it is.
    ///
    /// - Returns: those that are new.
    /// - Throws: `PostgresError`.
    package static func record(
        _ notifications: [Notification], on connection: PostgresConnection
    ) async throws -> [(app: String, uuid: String)] {
        guard !notifications.isEmpty else { return [] }
        let sorted = notifications.sorted { ($0.app, $0.uuid) < ($1.app, $1.uuid) }
        let result = try await connection.query(
            """
            INSERT INTO apple_notifications (app, notification_uuid, environment, type, subtype, signed_date, submission_id)
            SELECT * FROM unnest(
                \(sorted.map(\.app)), \(sorted.map(\.uuid)), \(sorted.map(\.environment)), \(sorted.map(\.type)),
                \(sorted.map(\.subtype)), \(sorted.map(\.signedDate)), \(sorted.map(\.submissionId)))
            ON CONFLICT DO NOTHING
            RETURNING app, notification_uuid
            """)
        return try result.map { (app: String, uuid: String) in (app: app, uuid: uuid) }
    }

    /// When a type came last, of each app and environment.
    package struct Last: Sendable, Hashable {
        package let app: String
        package let environment: StoreEnvironment
        package let recordedAt: Date
        /// Seconds since then, by the database's clock.
        package let ageSeconds: Double
    }

    /// When Apple's last notifications of a type came, sorted by app and environment.
    ///
    /// - Throws: `PostgresError`.
    package func last(ofType type: String) async throws -> [Last] {
        let result = try await pool.query(
            """
            SELECT app, environment, max(recorded_at) AS recorded_at,
                extract(epoch FROM now() - max(recorded_at))::float8 AS age_seconds
            FROM apple_notifications WHERE type = \(type) GROUP BY app, environment ORDER BY app, environment
            """)
        return try result.map(Last.init)
    }
}
