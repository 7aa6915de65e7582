package import Foundation
import Postgres

/// Deliveries of events that are posted first: each is written once, with its first attempt (decision 0037).
extension DeliveryStore {
    /// Claims events that are to be posted before their deliveries have rows.
    ///
    /// An event is left out that was claimed or taken over before, that the database does not know, or whose stored bytes are
    /// not these. The commit does not wait for the disk: a claim that is forgotten loses nothing.
    ///
    /// - Parameters:
    ///   - events: distinct ones, with what is to be sent.
    ///   - lease: after how long another process may deliver it if this one dies.
    /// - Returns: when each was claimed, by its id.
    /// - Throws: `PostgresError`.
    package func claim(_ events: [(id: String, body: [UInt8])], lease: Duration) async throws -> [String: Date] {
        guard !events.isEmpty else { return [:] }
        let ids = SQL.once(events.map(\.id))
        let stored: SQL = """
            SELECT events.id FROM unnest(\(ids), \(events.map(\.body))) AS new (id, body)
            JOIN events ON events.id = new.id AND events.id = ANY(\(ids))
            WHERE convert_to(events.body, 'UTF8') = new.body AND (SELECT setting FROM unhurried) = 'off'
            """
        let claimed = try await pool.query(
            """
            WITH unhurried AS MATERIALIZED (
                SELECT set_config('synchronous_commit', 'off', true) AS setting
            )
            \(EventStore.claim(stored, lease: lease))
            """
        ).map { (id: String, at: Date) in (id, at) }
        return Dictionary(claimed) { first, _ in first }
    }

    /// An attempt of a delivery that has no row.
    package struct First: Sendable {
        /// The attempt, and what it led to.
        package let ended: Ended
        /// When its event was claimed.
        package let claimedAt: Date

        /// Makes one.
        package init(ended: Ended, claimedAt: Date) {
            self.ended = ended
            self.claimedAt = claimedAt
        }
    }

    /// Writes deliveries with their first attempts, in one statement.
    ///
    /// - Parameters:
    ///   - first: of events that were claimed; a delivery that somebody else has written meanwhile stays as it is.
    ///   - eventIds: events of which this is all; they leave the outbox.
    /// - Returns: what became of each delivery that was written, in no order.
    /// - Throws: `PostgresError`; all of it is done, or nothing.
    @discardableResult
    package func record(first: [First], completing eventIds: [String]) async throws -> [Recorded] {
        guard !first.isEmpty else { return [] }
        return try await pool.query(Self.recording(first, completing: eventIds)).map(Recorded.init)
    }

    /// Of an endpoint nothing is known from a first failure alone, so that a schedule that is used up by it counts as an outage.
    private static func recording(_ first: [First], completing eventIds: [String]) -> SQL {
        let ended = first.map(\.ended)
        let ids = SQL.once(ended.map(\.eventId))
        let endpointIds = SQL.once(ended.map(\.endpointId))
        return """
            WITH queued AS (
                \(EventStore.lockQueued("\(eventIds)"))
            ), handed_over AS (
                \(EventStore.remove("SELECT event_id FROM queued"))
            ), attempts AS (
                \(attempts(ended, ids, endpointIds))
            )
            INSERT INTO webhook_deliveries (event_id, endpoint_id, state, due_at, attempts, attempts_forgiven, last_status, last_error,
                failed_at, created_at, delivered_at)
            SELECT event_id, endpoint_id, CASE WHEN outage_delay IS NULL THEN state ELSE 'pending' END,
                now() + coalesce(outage_delay, delay), 1, (outage_delay IS NOT NULL)::int4, status, error,
                CASE WHEN state <> 'delivered' THEN now() END, claimed_at, CASE WHEN state = 'delivered' THEN now() END
            FROM unnest(
                \(ids), \(endpointIds), \(ended.map(\.result.state)), \(ended.map(\.result.status)),
                \(ended.map(\.result.error)), \(ended.map(\.result.delay)), \(ended.map(\.result.outageDelay)),
                \(first.map(\.claimedAt))
            ) AS new (event_id, endpoint_id, state, status, error, delay, outage_delay, claimed_at)
            ORDER BY event_id, endpoint_id
            ON CONFLICT DO NOTHING
            RETURNING event_id, endpoint_id, state = 'pending' AS is_pending, false AS is_abandoned,
                attempts_forgiven > 0 AS waits_for_endpoint
            """
    }
}
