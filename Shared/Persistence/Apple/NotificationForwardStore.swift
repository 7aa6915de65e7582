package import Foundation
package import Postgres

/// The table `notification_forwards`: Apple's notifications that go on to a studio's older consumer.
package struct NotificationForwardStore: Sendable {
    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A notification that is to be sent on now.
    package struct Due: Sendable, Hashable {
        package let app: String
        package let uuid: String
        /// What Apple signed, never to be logged; nil where it is gone: its retention is over, or an account was forgotten.
        package let signedPayload: String?
        /// Attempts made before this one.
        package let attempts: Int
        package let createdAt: Date
    }

    /// What an attempt led to.
    package struct Outcome: Sendable, Hashable {
        package enum Result: Sendable, Hashable {
            case delivered
            case retry(after: Duration)
            case givenUp
        }

        package let app: String
        package let uuid: String
        package let result: Result
        /// Of HTTP; nil where there was no answer.
        package let status: Int?
        package let error: String?

        package init(app: String, uuid: String, result: Result, status: Int?, error: String?) {
            self.app = app
            self.uuid = uuid
            self.result = result
            self.status = status
            self.error = error
        }

        var state: String {
            switch result {
            case .delivered: "delivered"
            case .retry: "pending"
            case .givenUp: "given_up"
            }
        }

        var delay: Duration? {
            if case .retry(let delay) = result { delay } else { nil }
        }
    }

    /// Has notifications sent on, in the caller's transaction, which writes them down.
    ///
    /// - Throws: `PostgresError`.
    package static func add(
        _ notifications: [(app: String, uuid: String)], on connection: PostgresConnection
    ) async throws {
        guard !notifications.isEmpty else { return }
        let sorted = notifications.sorted { ($0.app, $0.uuid) < ($1.app, $1.uuid) }
        _ = try await connection.query(
            """
            INSERT INTO notification_forwards (app, notification_uuid) SELECT * FROM unnest(\(sorted.map(\.app)), \(sorted.map(\.uuid)))
            ON CONFLICT DO NOTHING
            """)
    }

    /// Leases what is due, the oldest first.
    ///
    /// - Parameters:
    ///   - apps: those whose consumers are known; the others' stay due.
    ///   - lease: after how long another attempt may begin if this process dies.
    /// - Throws: `PostgresError`.
    package func claim(apps: [String], limit: Int, lease: Duration) async throws -> [Due] {
        guard !apps.isEmpty else { return [] }
        let result = try await pool.query(
            """
            WITH due AS (
                SELECT app, notification_uuid FROM notification_forwards
                WHERE due_at <= now() AND app = ANY(\(apps)) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            ), leased AS (
                UPDATE notification_forwards f SET due_at = now() + \(lease), attempts = attempts + 1
                FROM due WHERE (f.app, f.notification_uuid) = (due.app, due.notification_uuid)
                RETURNING f.app, f.notification_uuid, f.attempts - 1 AS attempts, f.created_at
            )
            SELECT l.app, l.notification_uuid AS uuid, nullif(\(SubmissionStore.wholeProof), '') AS signed_payload, l.attempts,
                l.created_at
            FROM leased l JOIN apple_notifications n USING (app, notification_uuid)
            LEFT JOIN submissions ON submissions.id = n.submission_id
            ORDER BY l.created_at
            """)
        return try result.map(Due.init)
    }

    /// Writes down what came of attempts.
    ///
    /// - Throws: `PostgresError`.
    package func record(_ outcomes: [Outcome]) async throws {
        guard !outcomes.isEmpty else { return }
        _ = try await pool.query(
            """
            UPDATE notification_forwards f SET state = new.state, last_status = new.status, last_error = new.error,
                due_at = CASE WHEN new.state = 'pending' THEN now() + new.delay END,
                finished_at = CASE WHEN new.state <> 'pending' THEN now() END
            FROM unnest(
                \(outcomes.map(\.app)), \(outcomes.map(\.uuid)), \(outcomes.map(\.state)), \(outcomes.map(\.delay)),
                \(outcomes.map(\.status)), \(outcomes.map(\.error)))
                AS new (app, uuid, state, delay, status, error)
            WHERE (f.app, f.notification_uuid) = (new.app, new.uuid) AND f.state = 'pending'
            """)
    }
}
