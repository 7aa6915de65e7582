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
        return try Self.recorded(try await pool.query(Self.recordStatement, Self.recordValues(ended)))
    }

    static func recordValues(_ ended: [Ended]) -> [PostgresValue] {
        let rows = ended.map { Columns($0.result) }
        return [
            .textArray(ended.map(\.eventId)), .textArray(ended.map(\.endpointId)),
            .textArray(rows.map(\.state)), .int4Array(rows.map(\.status)), .textArray(rows.map(\.error)),
            .int8Array(rows.map(\.milliseconds)), .int8Array(rows.map(\.outageMilliseconds)),
            .int4Array(ended.map { $0.attempt.map { Int32(clamping: $0.number) } }),
            .timestamptzArray(ended.map(\.attempt?.beganAt)),
            .int4Array(ended.map { $0.attempt.map { Int32(clamping: $0.duration.wholeMilliseconds) } }),
            .textArray(ended.map(\.attempt?.answer)),
        ]
    }

    static func recorded(_ result: PostgresResult) throws -> [Recorded] {
        try result.rows.map { row in
            Recorded(
                eventId: try row.decode("event_id"), endpointId: try row.decode("endpoint_id"),
                isPending: try row.decode("is_pending"), isAbandoned: try row.decode("is_abandoned"),
                waitsForEndpoint: try row.decode("waits_for_endpoint"))
        }
    }

    /// That the endpoint has taken nothing since the attempt before: it fails as a whole, as far as anybody can know.
    ///
    /// Where the endpoint took nothing ever, or no attempt of this schedule failed yet, it counts as so.
    /// Successes are noted now and then, so that this may hold for a little longer than it is true: a delivery is then
    /// given up an attempt later, and never an attempt too early.
    private static let endpointTakesNothing = """
        (new.outage_milliseconds IS NOT NULL AND coalesce(e.succeeded_at <= d.failed_at, true))
        """

    /// A delivery that somebody else has recorded meanwhile stays as it is; that the attempt was made is written down anyway.
    static let recordStatement = """
        WITH attempts AS (
            INSERT INTO webhook_attempts (event_id, endpoint_id, attempt, attempted_at, duration_ms, status, error, answer)
            SELECT * FROM (
                SELECT event_id, endpoint_id, attempt, attempted_at, duration_ms, status,
                    CASE WHEN status IS NULL THEN error END, answer
                FROM unnest($1::text[], $2::text[], $4::int4[], $5::text[], $8::int4[], $9::timestamptz[], $10::int4[],
                    $11::text[])
                    AS new (event_id, endpoint_id, status, error, attempt, attempted_at, duration_ms, answer)) new
            WHERE attempt IS NOT NULL
            ON CONFLICT DO NOTHING
        )
        UPDATE webhook_deliveries d SET last_status = new.status, last_error = new.error,
            state = CASE WHEN \(endpointTakesNothing) THEN 'pending' ELSE new.state END,
            due_at = now() + CASE WHEN \(endpointTakesNothing) THEN new.outage_milliseconds ELSE new.milliseconds END
                * interval '1 millisecond',
            attempts_forgiven = CASE WHEN \(endpointTakesNothing) THEN d.attempts ELSE d.attempts_forgiven END,
            failed_at = CASE WHEN new.state <> 'delivered' THEN now() END,
            delivered_at = CASE WHEN new.state = 'delivered' THEN now() END
        FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::text[], $6::int8[], $7::int8[])
            AS new (event_id, endpoint_id, state, status, error, milliseconds, outage_milliseconds)
        LEFT JOIN webhook_endpoints e ON e.id = new.endpoint_id
        WHERE d.event_id = ANY($1) AND d.event_id = new.event_id AND d.endpoint_id = new.endpoint_id
            AND d.state = 'pending'
        RETURNING d.event_id, d.endpoint_id, d.state = 'pending' AS is_pending, d.state = 'abandoned' AS is_abandoned,
            d.state = 'pending' AND d.attempts_forgiven = d.attempts AS waits_for_endpoint
        """

    private struct Columns {
        let state: String
        let status: Int32?
        let error: String?
        let milliseconds: Int64?
        /// Not nil where the schedule is used up.
        let outageMilliseconds: Int64?

        init(_ result: AttemptResult) {
            switch result {
            case .delivered(let status):
                (state, self.status, error) = ("delivered", Int32(clamping: status), nil)
                (milliseconds, outageMilliseconds) = (nil, nil)
            case .retry(let status, let error, let delay):
                (state, self.status, self.error) = ("pending", status.map { Int32(clamping: $0) }, error)
                (milliseconds, outageMilliseconds) = (delay.wholeMilliseconds, nil)
            case .exhausted(let status, let error, let outageDelay, let anew):
                (self.status, self.error) = (status.map { Int32(clamping: $0) }, error)
                state = anew == nil ? "abandoned" : "pending"
                (milliseconds, outageMilliseconds) = (anew?.wholeMilliseconds, outageDelay.wholeMilliseconds)
            }
        }
    }
}
