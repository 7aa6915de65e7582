package import Foundation
import Postgres

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

    /// The attempts of a delivery, the oldest first; of more than ``Limit/attempts`` the newest.
    ///
    /// - Parameter app: the event's; nil for any.
    /// - Returns: nil where there is no such delivery.
    /// - Throws: `PostgresError`.
    @inline(never)
    package func attempts(event: String, endpoint: String, app: String?) async throws -> [Attempt]? {
        let result = try await pool.query(
            """
            SELECT a.* FROM (
                SELECT event_id, endpoint_id FROM webhook_deliveries WHERE event_id = \(event)
                    AND endpoint_id = \(endpoint)) d
            JOIN events e ON e.id = d.event_id AND (\(app) IS NULL OR e.app = \(app))
            LEFT JOIN LATERAL (
                SELECT * FROM webhook_attempts a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
                ORDER BY a.attempt DESC, a.attempted_at DESC LIMIT \(Limit.attempts)
            ) a ON true
            ORDER BY a.attempt, a.attempted_at
            """)
        guard !result.rows.isEmpty else { return nil }
        var attempts: [Attempt] = []
        for row in result.rows {
            guard let number = try row.decodeIfPresent("attempt", as: Int32.self) else { continue }
            attempts.append(
                Attempt(
                    number: number, at: try row.decode("attempted_at"), milliseconds: try row.decode("duration_ms"),
                    status: try row.decodeIfPresent("status"), error: try row.decodeIfPresent("error"),
                    answer: try row.decodeIfPresent("answer")))
        }
        return attempts
    }
}
