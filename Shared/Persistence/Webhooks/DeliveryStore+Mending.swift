import Postgres

/// Turns that nobody else would end: of deliveries that ended by other hands, and of endpoints that have no order any more.
extension DeliveryStore {
    /// Where a look at an endpoint's turns has ended; nil before the first.
    package struct TurnPlace: Sendable {
        let lane: [UInt8]
        let sequence: Int64
        let eventId: String
    }

    /// Looks at some turns of an ordered endpoint: what is no pending delivery has none, and what is first is let go.
    ///
    /// That finds work only after a person has changed deliveries by hand, without their turns.
    ///
    /// - Returns: where to go on; nil where that was all.
    /// - Throws: `PostgresError`.
    package func mendTurns(endpointId: String, after place: TurnPlace?) async throws -> TurnPlace? {
        let turns = try await pool.query(
            """
            SELECT t.lane, t.sequence, t.event_id, t.event_id <> first.event_id AS is_behind, d.due_at IS NULL AS is_over,
                coalesce(d.due_at = \(Self.behind), false) AS waits
            FROM (
                SELECT * FROM webhook_turns WHERE endpoint_id = \(endpointId)
                    AND (lane, sequence, event_id) > (\(place?.lane ?? []), \(place?.sequence ?? 0),
                        \(place?.eventId ?? "")) ORDER BY lane, sequence, event_id LIMIT \(OrderLimit.mendedPerLook)
            ) t
            CROSS JOIN LATERAL (
                SELECT event_id FROM webhook_turns f WHERE f.endpoint_id = \(endpointId) AND f.lane = t.lane
                ORDER BY f.sequence, f.event_id LIMIT 1
            ) first
            LEFT JOIN webhook_deliveries d ON d.event_id = t.event_id AND d.endpoint_id = \(endpointId)
            ORDER BY t.lane, t.sequence, t.event_id
            """
        ).map { (lane: [UInt8], sequence: Int64, eventId: String, isBehind: Bool, isOver: Bool, waits: Bool) in
            (
                place: TurnPlace(lane: lane, sequence: sequence, eventId: eventId), isBehind: isBehind, isOver: isOver,
                waits: waits
            )
        }
        let wrong = turns.filter { $0.isOver || $0.waits && !$0.isBehind }.map(\.place.eventId)
        if !wrong.isEmpty { try await mend(endpointId, wrong) }
        return turns.count == OrderLimit.mendedPerLook ? turns.last?.place : nil
    }

    /// Looked at once more, while nobody claims or records.
    private func mend(_ endpointId: String, _ eventIds: [String]) async throws {
        try await pool.withTransaction { connection in
            try await Self.lock([endpointId], on: connection)
            let allIds = SQL.once(eventIds)
            _ = try await connection.query(
                """
                WITH gone AS (
                    DELETE FROM webhook_turns t WHERE t.endpoint_id = \(endpointId)
                        AND t.event_id = ANY(\(allIds)) AND NOT EXISTS (
                        SELECT FROM webhook_deliveries d
                        WHERE d.event_id = t.event_id AND d.endpoint_id = \(endpointId) AND d.due_at IS NOT NULL)
                    RETURNING t.lane, t.event_id
                ), lanes AS (
                    SELECT lane FROM gone
                    UNION SELECT lane FROM webhook_turns WHERE endpoint_id = \(endpointId)
                        AND event_id = ANY(\(allIds))
                ), next AS (
                    SELECT first.event_id FROM lanes CROSS JOIN LATERAL (
                        SELECT f.event_id FROM webhook_turns f WHERE f.endpoint_id = \(endpointId) AND f.lane = lanes.lane
                            AND f.event_id NOT IN (SELECT event_id FROM gone)
                        ORDER BY f.sequence, f.event_id LIMIT 1
                    ) first
                )
                UPDATE webhook_deliveries d SET due_at = now() FROM next
                WHERE d.endpoint_id = \(endpointId) AND d.event_id = next.event_id AND d.due_at = \(Self.behind)
                """)
        }
    }

    /// Lets some of what waits for its turn go, of endpoints that have no order any more.
    ///
    /// - Returns: whether there may be more.
    /// - Throws: `PostgresError`.
    @discardableResult
    package func dropTurns(endpointIds: [String]) async throws -> Bool {
        let found = try await pool.query(
            """
            SELECT asked.endpoint_id FROM unnest(\(endpointIds)) AS asked (endpoint_id)
            CROSS JOIN LATERAL (
                (SELECT FROM webhook_turns t WHERE t.endpoint_id = asked.endpoint_id LIMIT 1)
                UNION ALL (SELECT FROM webhook_deliveries d
                    WHERE d.endpoint_id = asked.endpoint_id AND d.due_at = \(Self.behind) LIMIT 1)
                LIMIT 1
            ) waiting
            """)
        var hasMore = false
        for id in try found.map({ (id: String) in id }) {
            let count: Int64 = try await dropTurns(of: id)
            if count >= Int64(OrderLimit.mendedPerLook) { hasMore = true }
        }
        return hasMore
    }

    /// Under the lock of claims: a process that does not know of the change yet could else put a delivery behind others while its
    /// turn goes, and nobody would ever let it go.
    ///
    /// - Returns: how many deliveries, or turns if these are more.
    @inline(never)
    private func dropTurns(of endpointId: String) async throws -> Int64 {
        try await pool.withTransaction { connection in
            try await Self.lock([endpointId], on: connection)
            return try await connection.query(Self.dropTurns(of: endpointId)).rows.first?.decode(Int64.self) ?? 0
        }
    }

    /// Whatever has its turn taken away is due in the same statement; what waits without one is due as well.
    private static func dropTurns(of endpointId: String) -> SQL {
        """
        WITH gone AS (
            DELETE FROM webhook_turns WHERE endpoint_id = \(endpointId) AND event_id = ANY(ARRAY(
                SELECT event_id FROM webhook_turns WHERE endpoint_id = \(endpointId)
                ORDER BY lane, sequence, event_id LIMIT \(OrderLimit.mendedPerLook)))
            RETURNING event_id
        ), waiting AS (
            SELECT event_id FROM webhook_deliveries WHERE endpoint_id = \(endpointId) AND due_at = \(behind) LIMIT
                \(OrderLimit.mendedPerLook)
        ), due AS (
            UPDATE webhook_deliveries d SET due_at = now()
            WHERE d.endpoint_id = \(endpointId) AND d.due_at = \(behind) AND d.event_id = ANY(ARRAY(
                SELECT event_id FROM gone UNION SELECT event_id FROM waiting))
            RETURNING 1 AS one
        )
        SELECT greatest((SELECT count(*) FROM gone), (SELECT count(*) FROM due)) AS count
        """
    }
}
