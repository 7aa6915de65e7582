package import Foundation
package import Postgres

/// The tables `webhook_deliveries` and `webhook_endpoints`: each telling, its attempts, and how endpoints fare.
package struct DeliveryStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A delivery that is due, with what is to be sent.
    package struct Due: Sendable {
        /// The event's id, which is the webhook's id in every attempt.
        package let eventId: String
        /// Where it goes.
        package let endpointId: String
        /// Attempts made before this one.
        package let attempts: Int
        /// The exact bytes.
        package let body: String
        /// When the delivery was first due.
        package let createdAt: Date
    }

    /// What an attempt led to.
    package enum AttemptResult: Sendable {
        /// The endpoint took it.
        case delivered(status: Int)
        /// Not taken; try again after the delay.
        case retry(status: Int?, error: String, after: Duration)
        /// Not taken, and not tried again.
        case abandoned(status: Int?, error: String)
    }

    /// Takes events over from fulfillment: writes a delivery for each endpoint, and the events are due no longer.
    ///
    /// An event that the database does not know is left out; one that was taken over before stays as it is.
    ///
    /// - Parameters:
    ///   - eventIds: distinct ids of events.
    ///   - deliveries: which endpoints each is for, a pair for each telling.
    /// - Throws: `PostgresError`.
    package func takeOver(eventIds: [String], deliveries: [(eventId: String, endpointId: String)]) async throws {
        guard !eventIds.isEmpty else { return }
        try await pool.withTransaction { connection in
            _ = try await connection.query(
                """
                INSERT INTO webhook_deliveries (event_id, endpoint_id, due_at)
                SELECT new.event_id, new.endpoint_id, now()
                FROM unnest($1::text[], $2::text[]) AS new (event_id, endpoint_id)
                JOIN events ON events.id = new.event_id
                ORDER BY 1, 2
                ON CONFLICT DO NOTHING
                """,
                [.textArray(deliveries.map(\.eventId)), .textArray(deliveries.map(\.endpointId))])
            try await EventStore.handOver(eventIds, on: connection)
        }
    }

    /// Takes deliveries that are due to endpoints in use, and leases each.
    ///
    /// Of each endpoint only the oldest are looked at, however many wait for one that was switched off for days.
    ///
    /// - Parameters:
    ///   - endpointIds: the endpoints to deliver to now.
    ///   - limit: the most to take.
    ///   - lease: after how long another attempt may begin if this process dies.
    /// - Throws: `PostgresError`.
    package func claimDue(endpointIds: [String], limit: Int, lease: Duration) async throws -> [Due] {
        let result = try await pool.query(
            """
            WITH due AS (
                SELECT d.event_id, d.endpoint_id FROM unnest($1::text[]) AS asked (endpoint_id)
                CROSS JOIN LATERAL (
                    SELECT event_id, endpoint_id, due_at FROM webhook_deliveries
                    WHERE endpoint_id = asked.endpoint_id AND due_at <= now()
                    ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
                ) d
                ORDER BY d.due_at LIMIT $2
            ), leased AS (
                UPDATE webhook_deliveries d SET due_at = now() + $3 * interval '1 millisecond', attempts = attempts + 1
                FROM due WHERE d.event_id = due.event_id AND d.endpoint_id = due.endpoint_id
                RETURNING d.event_id, d.endpoint_id, d.attempts, d.created_at
            )
            SELECT leased.event_id, leased.endpoint_id, leased.attempts - 1 AS attempts, leased.created_at, events.body
            FROM leased JOIN events ON events.id = leased.event_id
            """,
            [.textArray(endpointIds), .int8(Int64(limit)), .int8(lease.wholeMilliseconds)])
        return try result.rows.map { row in
            Due(
                eventId: try row.decode("event_id"), endpointId: try row.decode("endpoint_id"),
                attempts: Int(try row.decode("attempts", as: Int32.self)), body: try row.decode("body"),
                createdAt: try row.decode("created_at"))
        }
    }

    /// Writes down what attempts led to.
    ///
    /// - Throws: `PostgresError`; the deliveries then come again when their lease ends.
    package func record(_ results: [(eventId: String, endpointId: String, result: AttemptResult)]) async throws {
        guard !results.isEmpty else { return }
        let rows = results.map { Columns($0.result) }
        _ = try await pool.query(
            """
            UPDATE webhook_deliveries d SET state = new.state, last_status = new.status, last_error = new.error,
                due_at = now() + new.milliseconds * interval '1 millisecond',
                delivered_at = CASE WHEN new.state = 'delivered' THEN now() END
            FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::text[], $6::int8[])
                AS new (event_id, endpoint_id, state, status, error, milliseconds)
            WHERE d.event_id = new.event_id AND d.endpoint_id = new.endpoint_id AND d.state = 'pending'
            """,
            [
                .textArray(results.map(\.eventId)), .textArray(results.map(\.endpointId)),
                .textArray(rows.map(\.state)), .int4Array(rows.map(\.status)), .textArray(rows.map(\.error)),
                .int8Array(rows.map(\.milliseconds)),
            ])
    }

    private struct Columns {
        let state: String
        let status: Int32?
        let error: String?
        let milliseconds: Int64?

        init(_ result: AttemptResult) {
            switch result {
            case .delivered(let status):
                (state, self.status, error, milliseconds) = ("delivered", Int32(clamping: status), nil, nil)
            case .retry(let status, let error, let delay):
                (state, self.status, self.error, milliseconds) =
                    ("pending", status.map { Int32(clamping: $0) }, error, delay.wholeMilliseconds)
            case .abandoned(let status, let error):
                (state, self.status, self.error, milliseconds) =
                    ("abandoned", status.map { Int32(clamping: $0) }, error, nil)
            }
        }
    }

    /// When the next delivery is due; nil when none is pending for these endpoints.
    ///
    /// - Throws: `PostgresError`.
    package func nextDueDate(endpointIds: [String]) async throws -> Date? {
        let result = try await pool.query(
            """
            SELECT min(d.due_at) AS due_at FROM unnest($1::text[]) AS asked (endpoint_id)
            CROSS JOIN LATERAL (
                SELECT due_at FROM webhook_deliveries
                WHERE endpoint_id = asked.endpoint_id AND due_at IS NOT NULL ORDER BY due_at LIMIT 1
            ) d
            """, [.textArray(endpointIds)])
        return try result.rows.first?.decodeIfPresent("due_at", as: Date.self)
    }

    /// Pending deliveries by endpoint; endpoints without any are left out.
    ///
    /// - Throws: `PostgresError`.
    package func pendingCounts() async throws -> [String: Int64] {
        let result = try await pool.query(
            "SELECT endpoint_id, count(*) AS count FROM webhook_deliveries WHERE due_at IS NOT NULL GROUP BY endpoint_id"
        )
        var counts: [String: Int64] = [:]
        for row in result.rows { counts[try row.decode("endpoint_id")] = try row.decode("count", as: Int64.self) }
        return counts
    }
}
