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
            INSERT INTO notification_forwards (app, notification_uuid) SELECT * FROM unnest($1::text[], $2::text[])
            ON CONFLICT DO NOTHING
            """, [.textArray(sorted.map(\.app)), .textArray(sorted.map(\.uuid))])
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
                WHERE due_at <= now() AND app = ANY($1) ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
            ), leased AS (
                UPDATE notification_forwards f SET due_at = now() + $3 * interval '1 millisecond', attempts = attempts + 1
                FROM due WHERE (f.app, f.notification_uuid) = (due.app, due.notification_uuid)
                RETURNING f.app, f.notification_uuid, f.attempts - 1 AS attempts, f.created_at
            )
            SELECT l.app, l.notification_uuid, l.attempts, l.created_at, \(SubmissionStore.wholeProof) AS signed_payload
            FROM leased l JOIN apple_notifications n USING (app, notification_uuid)
            LEFT JOIN submissions ON submissions.id = n.submission_id
            ORDER BY l.created_at
            """, [.textArray(apps), .int8(Int64(limit)), .int8(lease.wholeMilliseconds)])
        return try result.rows.map { row in
            let payload = try row.decodeIfPresent("signed_payload", as: String.self)
            return Due(
                app: try row.decode("app"), uuid: try row.decode("notification_uuid"),
                signedPayload: payload.flatMap { $0.isEmpty ? nil : $0 },
                attempts: Int(try row.decode("attempts", as: Int32.self)), createdAt: try row.decode("created_at"))
        }
    }

    /// Writes down what came of attempts.
    ///
    /// - Throws: `PostgresError`.
    package func record(_ outcomes: [Outcome]) async throws {
        guard !outcomes.isEmpty else { return }
        _ = try await pool.query(
            """
            UPDATE notification_forwards f SET state = new.state, last_status = new.status, last_error = new.error,
                due_at = CASE WHEN new.state = 'pending' THEN now() + new.delay * interval '1 millisecond' END,
                finished_at = CASE WHEN new.state <> 'pending' THEN now() END
            FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::int4[], $6::text[])
                AS new (app, uuid, state, delay, status, error)
            WHERE (f.app, f.notification_uuid) = (new.app, new.uuid) AND f.state = 'pending'
            """,
            [
                .textArray(outcomes.map(\.app)), .textArray(outcomes.map(\.uuid)), .textArray(outcomes.map(\.state)),
                .int8Array(outcomes.map { $0.delay?.wholeMilliseconds }),
                .int4Array(outcomes.map { $0.status.map(Int32.init) }), .textArray(outcomes.map(\.error)),
            ])
    }

    /// How many wait, by app.
    ///
    /// - Throws: `PostgresError`.
    package func pendingCounts() async throws -> [String: Int64] {
        let result = try await pool.query(
            """
            SELECT app, count(*) AS count FROM (
                SELECT app FROM notification_forwards WHERE due_at IS NOT NULL LIMIT $1) rows GROUP BY app
            """, [.int8(Int64(DueRowsStore.countMaximum))])
        var counts: [String: Int64] = [:]
        for row in result.rows { counts[try row.decode("app")] = try row.decode("count", as: Int64.self) }
        return counts
    }
}
