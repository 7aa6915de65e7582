package import Foundation
package import Postgres

/// The tables `webhook_deliveries`, `webhook_attempts` and `webhook_turns`: each telling, its attempts, and whose turn it is.
package struct DeliveryStore: Sendable {
    let pool: PostgresPool

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
        /// How many of them the schedule does not count.
        package let attemptsForgiven: Int
        /// Whether the attempt before left it waiting for its endpoint, since its schedule was used up.
        package let waitsForEndpoint: Bool
        /// The exact bytes.
        package let body: [UInt8]
        /// When the delivery was first due.
        package let createdAt: Date

        /// Makes one; of what a take-over has leased it is the first attempt.
        package init(
            eventId: String, endpointId: String, attempts: Int = 0, attemptsForgiven: Int = 0,
            waitsForEndpoint: Bool = false, body: [UInt8], createdAt: Date
        ) {
            self.eventId = eventId
            self.endpointId = endpointId
            self.attempts = attempts
            self.attemptsForgiven = attemptsForgiven
            self.waitsForEndpoint = waitsForEndpoint
            self.body = body
            self.createdAt = createdAt
        }
    }

    /// What an attempt led to.
    package enum AttemptResult: Sendable {
        /// The endpoint took it.
        case delivered(status: Int)
        /// Not taken; try again after the delay.
        case retry(status: Int?, error: String, after: Duration)
        /// Not taken, and its schedule is used up.
        ///
        /// If its endpoint has taken nothing since the attempt before, it is held: tried again after `outageDelay`. Else it
        /// fails alone: it is tried after `anew`, where its schedule begins anew, and given up where that is nil.
        case exhausted(status: Int?, error: String, outageDelay: Duration, anew: Duration?)
    }

    /// What was written down of an attempt.
    package struct Recorded: Sendable {
        /// The event's id.
        package let eventId: String
        /// Where it goes.
        package let endpointId: String
        /// Whether it is tried again.
        package let isPending: Bool
        /// Whether it was given up.
        package let isAbandoned: Bool
        /// Whether it waits for its endpoint, its schedule being used up.
        package let waitsForEndpoint: Bool
    }

    /// A delivery that is to be made, of an event that is taken over.
    package struct NewDelivery: Sendable {
        /// The event's id.
        package let eventId: String
        /// Where it goes.
        package let endpointId: String
        /// What the caller would send at once, and so leases; nil leaves the delivery due.
        package let body: [UInt8]?

        /// Makes one.
        package init(eventId: String, endpointId: String, body: [UInt8]?) {
            self.eventId = eventId
            self.endpointId = endpointId
            self.body = body
        }
    }

    /// A delivery that a take-over has made; one that was there before is none.
    package struct Made: Sendable {
        /// The event's id.
        package let eventId: String
        /// Where it goes.
        package let endpointId: String
        /// Whether the caller is to attempt it now, as if it had claimed it; else it is due.
        package let isLeased: Bool
        /// When it was made.
        package let createdAt: Date
    }

    /// Takes events over from fulfillment: writes a delivery for each endpoint, and the events are due no longer.
    ///
    /// An event that the database does not know is left out; one that was taken over before stays as it is. One that is claimed
    /// is its process's: of it only ordered endpoints get a delivery, which has its place in the order by that. A delivery
    /// with a body is leased only when these are the stored bytes: whatever came by Kafka, what is signed is what
    /// fulfillment wrote.
    ///
    /// - Parameters:
    ///   - eventIds: distinct ids of events.
    ///   - deliveries: a pair of event and endpoint for each telling.
    ///   - orderedEndpointIds: the endpoints that take an account's events in their order; nothing for them is to be leased.
    ///   - lease: after how long another attempt of a leased one may begin if this process dies.
    /// - Returns: the deliveries that this call has made, in no order.
    /// - Throws: `PostgresError`; all of it is done, or nothing.
    package func takeOver(
        eventIds: [String], deliveries: [NewDelivery], orderedEndpointIds: [String] = [], lease: Duration
    ) async throws -> [Made] {
        guard !eventIds.isEmpty else { return [] }
        let ids = SQL.once(eventIds)
        // Rows are made in one order, so that processes with the same events wait for each other and not in a circle. A leased
        // one is as a claim would have left it.
        let made: SQL = """
            INSERT INTO webhook_deliveries (event_id, endpoint_id, due_at, attempts)
            SELECT event_id, endpoint_id, CASE WHEN is_leased THEN now() + \(lease) ELSE now() END, is_leased::int4
            FROM (
                SELECT new.event_id, new.endpoint_id,
                    CASE WHEN new.body IS NULL THEN false ELSE convert_to(events.body, 'UTF8') = new.body END AS is_leased
                FROM unnest(
                    \(deliveries.map(\.eventId)), \(deliveries.map(\.endpointId)), \(deliveries.map(\.body))
                ) AS new (event_id, endpoint_id, body)
                -- ANY: the months that they are in, and no other.
                JOIN events ON events.id = new.event_id AND events.id = ANY(\(ids))
                WHERE new.endpoint_id = ANY(\(orderedEndpointIds))
                    OR new.event_id <> ALL(ARRAY(SELECT event_id FROM queued WHERE is_claimed))
                ORDER BY new.event_id, new.endpoint_id
            ) wanted
            ON CONFLICT DO NOTHING
            RETURNING event_id, endpoint_id, attempts = 1 AS is_leased, created_at
            """
        let turns: SQL = orderedEndpointIds.isEmpty ? "" : Self.turns(ofMade: ids, orderedEndpointIds)
        return try await pool.query(
            """
            WITH queued AS (
                \(EventStore.lockQueued(ids))
            ), handed_over AS (
                \(EventStore.remove("SELECT event_id FROM queued WHERE NOT is_claimed"))
            ), made AS (
                \(made)
            )\(turns)
            SELECT event_id, endpoint_id, is_leased, created_at FROM made
            """
        ).map(Made.init)
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
        try await pool.query(
            """
            WITH due AS (
                SELECT d.event_id, d.endpoint_id FROM unnest(\(endpointIds)) AS asked (endpoint_id)
                CROSS JOIN LATERAL (
                    SELECT event_id, endpoint_id, due_at FROM webhook_deliveries
                    WHERE endpoint_id = asked.endpoint_id AND due_at <= now()
                    ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
                ) d
                ORDER BY d.due_at LIMIT \(limit)
            ), leased AS (
                UPDATE webhook_deliveries d SET due_at = now() + \(lease), attempts = attempts + 1
                FROM due WHERE d.event_id = due.event_id AND d.endpoint_id = due.endpoint_id
                RETURNING \(Self.leasedColumns)
            )
            \(Self.dueOfLeased)
            """
        ).map(Due.init)
    }

    /// Of a delivery `d` that was leased just now.
    static let leasedColumns: SQL = """
        d.event_id, d.endpoint_id, d.attempts - 1 AS attempts, d.attempts_forgiven, d.created_at, d.failed_at
        """

    /// What is to be sent, of the rows `leased`.
    static let dueOfLeased: SQL = """
        SELECT leased.event_id, leased.endpoint_id, leased.attempts, leased.attempts_forgiven,
            leased.attempts_forgiven > 0 AND leased.attempts_forgiven = leased.attempts
                AND leased.failed_at IS NOT NULL AS waits_for_endpoint,
            convert_to(events.body, 'UTF8') AS body, leased.created_at
        FROM leased JOIN events ON events.id = leased.event_id
        """

    /// How long until the next delivery of each endpoint is due, by the database's clock; endpoints with none pending are
    /// left out.
    ///
    /// - Returns: by endpoint; negative for what is due.
    /// - Throws: `PostgresError`.
    package func untilDue(endpointIds: [String]) async throws -> [String: Duration] {
        let result = try await pool.query(
            """
            SELECT asked.endpoint_id, extract(epoch FROM d.due_at - now())::float8 AS seconds
            FROM unnest(\(endpointIds)) AS asked (endpoint_id)
            CROSS JOIN LATERAL (
                SELECT due_at FROM webhook_deliveries
                WHERE endpoint_id = asked.endpoint_id AND due_at < \(Self.behind) ORDER BY due_at LIMIT 1
            ) d
            """)
        let until = try result.map { (id: String, seconds: Double) in (id, Duration.seconds(seconds)) }
        return Dictionary(until) { first, _ in first }
    }

    /// What waits for an endpoint.
    package struct Waiting: Sendable, Hashable {
        /// How many deliveries, ``DueRowsStore/countMaximum`` at the most.
        package let count: Int64
        /// The age in seconds of the oldest of these that was attempted and not accepted; 0 where there is none.
        package let failingAge: Double
    }

    /// What waits, by endpoint; endpoints for which nothing does are left out.
    ///
    /// - Throws: `PostgresError`.
    package func waiting() async throws -> [String: Waiting] {
        let result = try await pool.query(
            """
            WITH RECURSIVE \(DueRowsStore.endpoints)
            SELECT endpoint_id, pending.count, pending.age FROM endpoints CROSS JOIN LATERAL (
                SELECT count(*) AS count,
                    coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE attempts > 0)), 0)::float8 AS age
                FROM (
                    SELECT created_at, attempts FROM webhook_deliveries d
                    WHERE d.endpoint_id = endpoints.endpoint_id AND d.due_at IS NOT NULL ORDER BY d.due_at LIMIT
                        \(DueRowsStore.countMaximum)) rows
            ) pending
            """)
        return Dictionary(
            try result.map { (id: String, count: Int64, age: Double) in
                (id, Waiting(count: count, failingAge: max(0, age)))
            }
        ) { first, _ in first }
    }
}
