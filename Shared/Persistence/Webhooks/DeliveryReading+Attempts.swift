package import Foundation
import Postgres
package import PurchaseModel

/// The attempts of one delivery.
extension DeliveryReading {
    /// One attempt.
    package struct Attempt: Sendable {
        /// From 1.
        package let number: Int32
        /// When it began.
        package let at: Date
        package let milliseconds: Int32
        /// Of HTTP; nil where there was no answer.
        package let status: Int32?
        /// Why there was none.
        package let error: String?
        /// The beginning of the answer.
        package let answer: String?
    }

    /// Where a page of attempts ends: the last row's number and time.
    package struct AttemptPosition: Sendable, Hashable {
        /// From 1.
        package let number: Int32
        /// When it began, in microseconds since 1970: as exact as the database keeps it.
        package let microseconds: Int64

        /// Names a place between two rows.
        package init(number: Int32, microseconds: Int64) {
            self.number = number
            self.microseconds = microseconds
        }
    }

    /// Some attempts of a delivery, the newest first.
    package struct AttemptPage: Sendable {
        package let attempts: [Attempt]
        /// Where to go on; nil where that was all.
        package let next: AttemptPosition?
    }

    /// A page of a delivery's attempts.
    ///
    /// - Parameters:
    ///   - app: the event's; nil for any.
    ///   - environment: the event's; nil for either.
    ///   - position: where the page before has ended; nil for the first.
    ///   - limit: 1 to ``Limit/attempts``.
    /// - Returns: nil where there is no such delivery.
    /// - Throws: `PostgresError`.
    @inline(never)
    package func attempts(
        event: String, endpoint: String, app: String?, environment: StoreEnvironment? = nil,
        after position: AttemptPosition? = nil, limit: Int = Limit.attempts
    ) async throws -> AttemptPage? {
        let rest: SQL =
            position.map {
                """
                (a.attempt, a.attempted_at)
                    < (\($0.number), timestamptz 'epoch' + \($0.microseconds) * interval '1 microsecond')
                """
            } ?? "true"
        // One row more than a page tells whether there is another.
        let result = try await pool.query(
            """
            SELECT a.*, (extract(epoch FROM a.attempted_at) * 1000000)::int8 AS microseconds FROM (
                SELECT event_id, endpoint_id FROM webhook_deliveries WHERE event_id = \(event)
                    AND endpoint_id = \(endpoint)) d
            JOIN events e ON e.id = d.event_id AND (\(app) IS NULL OR e.app = \(app))
                AND (\(environment) IS NULL OR e.environment = \(environment))
            LEFT JOIN LATERAL (
                SELECT * FROM webhook_attempts a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
                    AND \(rest)
                ORDER BY a.attempt DESC, a.attempted_at DESC LIMIT \(limit + 1)
            ) a ON true
            ORDER BY a.attempt DESC, a.attempted_at DESC
            """)
        guard !result.rows.isEmpty else { return nil }
        let rows = result.rows.prefix(limit)
        var attempts: [Attempt] = []
        for row in rows {
            guard let number = try row.decodeIfPresent("attempt", as: Int32.self) else { continue }
            attempts.append(
                Attempt(
                    number: number, at: try row.decode("attempted_at"), milliseconds: try row.decode("duration_ms"),
                    status: try row.decodeIfPresent("status"), error: try row.decodeIfPresent("error"),
                    answer: try row.decodeIfPresent("answer")))
        }
        guard result.rows.count > limit, let last = rows.last else { return AttemptPage(attempts: attempts, next: nil) }
        let next = AttemptPosition(number: try last.decode("attempt"), microseconds: try last.decode("microseconds"))
        return AttemptPage(attempts: attempts, next: next)
    }
}
