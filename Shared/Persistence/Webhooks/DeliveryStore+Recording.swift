package import Foundation
import Postgres

/// What attempts led to, and what becomes of a delivery whose schedule is used up.
extension DeliveryStore {
    /// An attempt that has ended.
    package struct Ended: Sendable {
        /// The event's id.
        package let eventId: String
        /// Where it went.
        package let endpointId: String
        /// What it led to.
        package let result: AttemptResult
        /// The attempt itself; nil where nothing is written down of it.
        package let attempt: Attempt?

        /// Makes one.
        package init(eventId: String, endpointId: String, result: AttemptResult, attempt: Attempt?) {
            self.eventId = eventId
            self.endpointId = endpointId
            self.result = result
            self.attempt = attempt
        }
    }

    /// What is written down of an attempt beside what it led to.
    package struct Attempt: Sendable {
        /// Its number, from 1.
        package let number: Int
        /// When it began.
        package let beganAt: Date
        /// How long it took.
        package let duration: Duration
        /// The beginning of the endpoint's answer, without control characters; nil where there was none.
        package let answer: String?

        /// Makes one.
        package init(number: Int, beganAt: Date, duration: Duration, answer: String?) {
            self.number = number
            self.beganAt = beganAt
            self.duration = duration
            self.answer = answer
        }
    }

    /// Writes down attempts and what they led to, in one statement.
    ///
    /// - Returns: what became of each delivery that was pending, in no order.
    /// - Throws: `PostgresError`; the deliveries then come again when their lease ends.
    @discardableResult
    package func record(_ ended: [Ended]) async throws -> [Recorded] {
        guard !ended.isEmpty else { return [] }
        return try await pool.query(Self.recording(ended)).map(Recorded.init)
    }

    /// Attempts, and what becomes of each delivery; one that somebody else has recorded meanwhile stays as it is.
    static func recording(_ ended: [Ended]) -> SQL {
        let eventIds = SQL.once(ended.map(\.eventId))
        let endpointIds = SQL.once(ended.map(\.endpointId))
        return """
            WITH attempts AS (
                \(attempts(ended, eventIds, endpointIds))
            )
            UPDATE webhook_deliveries d SET last_status = new.status, last_error = new.error,
                state = CASE WHEN \(isOutage) THEN 'pending' ELSE new.state END,
                due_at = now() + CASE WHEN \(isOutage) THEN new.outage_delay ELSE new.delay END,
                attempts_forgiven = CASE WHEN \(isOutage) THEN d.attempts ELSE d.attempts_forgiven END,
                failed_at = CASE WHEN new.state <> 'delivered' THEN now() END,
                delivered_at = CASE WHEN new.state = 'delivered' THEN now() END
            FROM unnest(
                \(eventIds), \(endpointIds), \(ended.map(\.result.state)), \(ended.map(\.result.status)),
                \(ended.map(\.result.error)), \(ended.map(\.result.delay)), \(ended.map(\.result.outageDelay))
            ) AS new (event_id, endpoint_id, state, status, error, delay, outage_delay)
            LEFT JOIN webhook_endpoints e ON e.id = new.endpoint_id
            WHERE d.event_id = ANY(\(eventIds)) AND d.event_id = new.event_id AND d.endpoint_id = new.endpoint_id
                AND d.state = 'pending'
            RETURNING d.event_id, d.endpoint_id, d.state = 'pending' AS is_pending, d.state = 'abandoned' AS is_abandoned,
                d.state = 'pending' AND d.attempts_forgiven = d.attempts AS waits_for_endpoint
            """
    }

    /// Of a delivery `d` whose schedule is used up, that its endpoint `e` has taken nothing since the attempt before: it fails as
    /// a whole, as far as anybody can know, and the delivery waits for it.
    ///
    /// An endpoint that took nothing ever counts as such, and so does one of whose delivery no attempt of this schedule had
    /// failed. Successes are noted now and then, so that this may hold for a little longer than it is true: a delivery is then given
    /// up an attempt later, and never an attempt too early.
    private static let isOutage: SQL = """
        (new.outage_delay IS NOT NULL AND coalesce(e.succeeded_at <= d.failed_at, true))
        """

    /// The rows of attempts, whatever becomes of their deliveries.
    ///
    /// Why there was no answer is there where no status is.
    static func attempts(_ ended: [Ended], _ eventIds: SQL, _ endpointIds: SQL) -> SQL {
        """
        INSERT INTO webhook_attempts (event_id, endpoint_id, attempt, attempted_at, duration_ms, status, error, answer)
        SELECT event_id, endpoint_id, attempt, attempted_at, duration_ms, status, CASE WHEN status IS NULL THEN error END, answer
        FROM unnest(
            \(eventIds), \(endpointIds), \(ended.map { $0.attempt.map { Int32(clamping: $0.number) } }),
            \(ended.map(\.attempt?.beganAt)),
            \(ended.map { $0.attempt.map { Int32(clamping: $0.duration.wholeMilliseconds) } }),
            \(ended.map(\.result.status)), \(ended.map(\.result.error)), \(ended.map(\.attempt?.answer))
        ) AS new (event_id, endpoint_id, attempt, attempted_at, duration_ms, status, error, answer)
        WHERE attempt IS NOT NULL
        ON CONFLICT DO NOTHING
        """
    }
}

/// As columns.
extension DeliveryStore.AttemptResult {
    /// The delivery's state, unless it waits for its endpoint.
    var state: String {
        switch self {
        case .delivered: "delivered"
        case .retry: "pending"
        case .exhausted(_, _, _, let anew): anew == nil ? "abandoned" : "pending"
        }
    }

    var status: Int32? {
        switch self {
        case .delivered(let status): Int32(clamping: status)
        case .retry(let status, _, _), .exhausted(let status, _, _, _): status.map { Int32(clamping: $0) }
        }
    }

    var error: String? {
        switch self {
        case .delivered: nil
        case .retry(_, let error, _), .exhausted(_, let error, _, _): error
        }
    }

    /// After which it is due, unless it waits for its endpoint.
    var delay: Duration? {
        switch self {
        case .delivered: nil
        case .retry(_, _, let delay): delay
        case .exhausted(_, _, _, let anew): anew
        }
    }

    /// After which it is due if it waits for its endpoint; nil where its schedule is not used up.
    var outageDelay: Duration? {
        if case .exhausted(_, _, let delay, _) = self { delay } else { nil }
    }
}
