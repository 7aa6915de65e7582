package import Foundation
package import Postgres

/// What is to be done and is not done yet, for an operator: counts of each kind, and the rows that are due first.
package struct WaitingStore: Sendable {
    /// What waits.
    package enum Kind: String, Codable, Sendable, CaseIterable {
        /// Purchases without an outcome.
        case submissions
        /// Events that the notification service does not have.
        case events
        /// Webhooks.
        case deliveries
        /// Questions to Apple about what nobody told of.
        case sweep
        /// Calls to Apple about a purchase: answers to refund requests, that something is delivered, whose it is.
        case appleCalls = "apple_calls"
        /// Apple's notifications that go on to an older consumer.
        case forwards
        /// What operators said whose it is.
        case claims
        /// Accounts that are to be forgotten.
        case forgetting
    }

    /// Rows of one kind that wait for the same reason.
    package struct Group: Codable, Sendable, Hashable {
        package let kind: Kind
        /// Why, or what it is: of submissions the reason, of deliveries the endpoint and its last answer.
        package let reason: String
        /// At most ``countMaximum``, which means "at least".
        package let count: Int64
        /// Of those, how many are due already.
        package let due: Int64
        package let oldestSeconds: Double
    }

    /// One row that waits.
    package struct Row: Codable, Sendable, Hashable {
        package let id: String
        package let app: String?
        package let reason: String
        package let attempts: Int64
        package let since: Date
        package let dueAt: Date
    }

    /// Rows of a kind that are looked at for its groups: those that are due first.
    package static let countMaximum: Int64 = 10_000

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The groups of a kind, the largest first.
    ///
    /// - Throws: `PostgresError`.
    package func groups(_ kind: Kind) async throws -> [Group] {
        let result = try await pool.query(
            """
            SELECT reason, count(*) AS count, count(*) FILTER (WHERE due_at <= now()) AS due,
                greatest(extract(epoch FROM now() - min(since)), 0)::float8 AS oldest
            FROM (\(Self.rows(kind, limit: Int(Self.countMaximum)))) rows GROUP BY reason ORDER BY count(*) DESC, reason LIMIT 100
            """)
        return try result.map { (reason: String, count: Int64, due: Int64, oldestSeconds: Double) in
            Group(kind: kind, reason: reason, count: count, due: due, oldestSeconds: oldestSeconds)
        }
    }

    /// The rows of a kind that are due first.
    ///
    /// - Throws: `PostgresError`.
    package func rows(_ kind: Kind, limit: Int) async throws -> [Row] {
        let result = try await pool.query(
            "SELECT * FROM (\(Self.rows(kind, limit: limit))) rows ORDER BY due_at, id")
        return try result.map(Row.init)
    }

    /// Each is read from the index of what is due, in its order.
    private static func rows(_ kind: Kind, limit: Int) -> SQL {
        switch kind {
        case .submissions:
            """
            SELECT id, app, coalesce(reason, 'no_verdict') AS reason, attempts::bigint AS attempts,
                coalesce(reopened_at, received_at) AS since, due_at
            FROM submissions WHERE due_at IS NOT NULL ORDER BY due_at LIMIT \(limit)
            """
        case .events:
            """
            SELECT o.event_id AS id, e.app, coalesce(e.type, 'unknown') AS reason, o.attempts::bigint AS attempts,
                o.queued_at AS since, o.due_at
            FROM (SELECT * FROM event_outbox ORDER BY due_at LIMIT \(limit)) o LEFT JOIN events e ON e.id = o.event_id
            """
        case .deliveries:
            """
            SELECT d.event_id AS id, NULL::text AS app, d.endpoint_id || ': ' || coalesce(d.last_error,
                    'HTTP ' || d.last_status, 'not tried yet') AS reason, d.attempts::bigint AS attempts,
                d.created_at AS since, d.due_at
            FROM webhook_deliveries d WHERE due_at IS NOT NULL ORDER BY due_at LIMIT \(limit)
            """
        case .sweep:
            """
            SELECT id::text AS id, nullif(app, '') AS app, kind || ', ' || cause || coalesce(': ' || last_error, '') AS reason,
                failures::bigint AS attempts, coalesce(asked_at, finished_at, created_at) AS since, due_at
            FROM sweep_tasks WHERE due_at IS NOT NULL ORDER BY priority, due_at LIMIT \(limit)
            """
        case .appleCalls:
            """
            SELECT transaction_id AS id, app, kind || ', ' || state || coalesce(': ' || outcome, '') AS reason,
                attempts::bigint AS attempts, created_at AS since, due_at
            FROM apple_calls WHERE due_at IS NOT NULL ORDER BY due_at LIMIT \(limit)
            """
        case .forwards:
            """
            SELECT notification_uuid AS id, app, coalesce(last_error, 'HTTP ' || last_status, 'not tried yet') AS reason,
                attempts::bigint AS attempts, created_at AS since, due_at
            FROM notification_forwards WHERE due_at IS NOT NULL ORDER BY due_at LIMIT \(limit)
            """
        case .claims:
            """
            SELECT c.transaction_id AS id, NULL::text AS app, 'fulfillment takes it up' AS reason, 0::bigint AS attempts,
                a.created_at AS since, c.due_at
            FROM operator_claims c JOIN audit_log a ON a.id = c.audit_id
            WHERE c.due_at IS NOT NULL ORDER BY c.due_at LIMIT \(limit)
            """
        case .forgetting:
            """
            SELECT id, app, coalesce(waits_for, 'fulfillment takes it up') AS reason, attempts::bigint AS attempts,
                requested_at AS since, due_at
            FROM forget_requests WHERE due_at IS NOT NULL ORDER BY due_at LIMIT \(limit)
            """
        }
    }
}
