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
        let rows = try await pool.query(
            """
            SELECT t.lane, t.sequence, t.event_id, t.event_id <> first.event_id AS is_behind, d.due_at IS NULL AS is_over,
                coalesce(d.due_at = \(Self.behind), false) AS waits
            FROM (
                SELECT * FROM webhook_turns WHERE endpoint_id = $1
                    AND (lane, sequence, event_id) > ($2, $3, $4) ORDER BY lane, sequence, event_id LIMIT $5
            ) t
            CROSS JOIN LATERAL (
                SELECT event_id FROM webhook_turns f WHERE f.endpoint_id = $1 AND f.lane = t.lane
                ORDER BY f.sequence, f.event_id LIMIT 1
            ) first
            LEFT JOIN webhook_deliveries d ON d.event_id = t.event_id AND d.endpoint_id = $1
            ORDER BY t.lane, t.sequence, t.event_id
            """,
            [
                .text(endpointId), .bytea(place?.lane ?? []), .int8(place?.sequence ?? 0), .text(place?.eventId ?? ""),
                .int8(Int64(OrderLimit.mendedPerLook)),
            ]
        ).rows
        var wrong: [String] = []
        for row in rows {
            let isOver = try row.decode("is_over", as: Bool.self)
            let isStuck = try row.decode("waits", as: Bool.self) && !row.decode("is_behind", as: Bool.self)
            if isOver || isStuck { wrong.append(try row.decode("event_id")) }
        }
        if !wrong.isEmpty { try await mend(endpointId, wrong) }
        guard rows.count == OrderLimit.mendedPerLook, let last = rows.last else { return nil }
        return TurnPlace(
            lane: try last.decode("lane"), sequence: try last.decode("sequence"), eventId: try last.decode("event_id"))
    }

    /// Looked at once more, while nobody claims or records.
    private func mend(_ endpointId: String, _ eventIds: [String]) async throws {
        try await pool.withTransaction { connection in
            try await Self.lock([endpointId], on: connection)
            _ = try await connection.query(
                """
                WITH gone AS (
                    DELETE FROM webhook_turns t WHERE t.endpoint_id = $1 AND t.event_id = ANY($2) AND NOT EXISTS (
                        SELECT FROM webhook_deliveries d
                        WHERE d.event_id = t.event_id AND d.endpoint_id = $1 AND d.due_at IS NOT NULL)
                    RETURNING t.lane, t.event_id
                ), lanes AS (
                    SELECT lane FROM gone
                    UNION SELECT lane FROM webhook_turns WHERE endpoint_id = $1 AND event_id = ANY($2)
                ), next AS (
                    SELECT first.event_id FROM lanes CROSS JOIN LATERAL (
                        SELECT f.event_id FROM webhook_turns f WHERE f.endpoint_id = $1 AND f.lane = lanes.lane
                            AND f.event_id NOT IN (SELECT event_id FROM gone)
                        ORDER BY f.sequence, f.event_id LIMIT 1
                    ) first
                )
                UPDATE webhook_deliveries d SET due_at = now() FROM next
                WHERE d.endpoint_id = $1 AND d.event_id = next.event_id AND d.due_at = \(Self.behind)
                """, [.text(endpointId), .textArray(eventIds)])
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
            SELECT asked.endpoint_id FROM unnest($1::text[]) AS asked (endpoint_id)
            CROSS JOIN LATERAL (
                (SELECT FROM webhook_turns t WHERE t.endpoint_id = asked.endpoint_id LIMIT 1)
                UNION ALL (SELECT FROM webhook_deliveries d
                    WHERE d.endpoint_id = asked.endpoint_id AND d.due_at = \(Self.behind) LIMIT 1)
                LIMIT 1
            ) waiting
            """, [.textArray(endpointIds)])
        var hasMore = false
        for row in found.rows {
            let count = try await dropTurns(of: try row.decode("endpoint_id"))
            if count >= Int64(OrderLimit.mendedPerLook) { hasMore = true }
        }
        return hasMore
    }

    /// Under the lock of claims: a process that does not know of the change yet could else put a delivery behind others while its
    /// turn goes, and nobody would ever let it go.
    ///
    /// - Returns: how many deliveries, or turns if these are more.
    @inline(never)  // The optimizer of Swift 6.3 crashes on throwing async functions inside closures.
    private func dropTurns(of endpointId: String) async throws -> Int64 {
        try await pool.withTransaction { connection in
            try await Self.lock([endpointId], on: connection)
            let dropped = try await connection.query(
                Self.dropTurnsStatement, [.text(endpointId), .int8(Int64(OrderLimit.mendedPerLook))])
            return try dropped.rows.first?.decode("count", as: Int64.self) ?? 0
        }
    }

    /// Whatever has its turn taken away is due in the same statement; what waits without one is due as well.
    private static let dropTurnsStatement = """
        WITH gone AS (
            DELETE FROM webhook_turns WHERE endpoint_id = $1 AND event_id = ANY(ARRAY(
                SELECT event_id FROM webhook_turns WHERE endpoint_id = $1
                ORDER BY lane, sequence, event_id LIMIT $2))
            RETURNING event_id
        ), waiting AS (
            SELECT event_id FROM webhook_deliveries WHERE endpoint_id = $1 AND due_at = \(behind) LIMIT $2
        ), due AS (
            UPDATE webhook_deliveries d SET due_at = now()
            WHERE d.endpoint_id = $1 AND d.due_at = \(behind) AND d.event_id = ANY(ARRAY(
                SELECT event_id FROM gone UNION SELECT event_id FROM waiting))
            RETURNING 1 AS one
        )
        SELECT greatest((SELECT count(*) FROM gone), (SELECT count(*) FROM due)) AS count
        """
}
