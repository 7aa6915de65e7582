package import Postgres

/// Endpoints that take an account's events in their order: event n + 1 is sent once n was taken, or given up.
///
/// `webhook_turns` has a row for each pending delivery of such an endpoint; those of one account, app and environment are a
/// lane, in the order of the events' numbers. A delivery that is not the first of its lane waits with a `due_at` that never
/// comes, so that no claim looks at it again; whoever records the first lets the next one go. Claims and records of one endpoint go
/// one after the other, by a lock that ends with their transaction.
extension DeliveryStore {
    /// The limits of ordered endpoints.
    package enum OrderLimit {
        /// Due deliveries that one claim looks at.
        package static let candidates = 200
        /// Events that one look adds to a take-over since they precede others.
        package static let predecessors = 10_000
        /// Turns that one look mends.
        package static let mendedPerLook = 1_000
    }

    /// When what waits for its turn is due.
    static let behind: SQL = "timestamptz '9999-12-31 00:00:00+00'"

    /// Which lane an event `e` of an account is in.
    private static let lane: SQL = lane("e.environment", "e.app", name: "e.account")

    /// The lane of an environment, an app and an account, each an expression in SQL.
    static func lane(_ environment: SQL, _ app: SQL, name: SQL) -> SQL {
        """
        substr(sha256(convert_to(\(environment) || E'\\n' || \(app) || E'\\n' || \(name), 'UTF8')), 1, 8)
        """
    }

    /// The first number of the advisory locks; the second one is the endpoint's.
    private static let lockClass: Int32 = 0x7765_626F

    /// An event that precedes others, and has not been taken over.
    package struct Predecessor: Sendable {
        package let id: String
        package let type: String
        package let app: String
        package let environment: String
    }

    /// The events that come before these, for the same accounts, and that no process has taken over yet: they go with them.
    ///
    /// So whatever is taken over, all before it is, too. An account's numbers are committed in their order, so that what
    /// precedes an event that is seen is seen, too.
    ///
    /// - Returns: `limit` at the most, the nearest first: where it is as many, what is before them is missing.
    /// - Throws: `PostgresError`.
    package func predecessors(
        of eventIds: [String], limit: Int = OrderLimit.predecessors
    ) async throws -> [Predecessor] {
        let allIds = SQL.once(eventIds)
        return try await pool.query(
            """
            WITH RECURSIVE walk AS (
                SELECT e.account, e.app, e.environment, e.sequence, e.id, e.type, 0 AS steps FROM events e
                WHERE e.id = ANY(\(allIds)) AND e.account IS NOT NULL
                UNION ALL
                SELECT before.account, before.app, before.environment, before.sequence, before.id, before.type, walk.steps + 1
                FROM walk CROSS JOIN LATERAL (
                    SELECT e.account, e.app, e.environment, e.sequence, e.id, e.type FROM events e
                    WHERE e.account = walk.account AND e.app = walk.app AND e.environment = walk.environment
                        AND e.sequence = walk.sequence - 1
                    LIMIT 1
                ) before
                WHERE before.id <> ALL(\(allIds))
                    AND EXISTS (SELECT FROM event_outbox o WHERE o.event_id = before.id)
            )
            SELECT id, type, app, environment FROM walk WHERE steps > 0 LIMIT \(limit)
            """
        ).map(Predecessor.init)
    }

    /// What follows the deliveries that a take-over of these events has made, `made`: those to ordered endpoints have their turn.
    static func turns(ofMade eventIds: SQL, _ orderedEndpointIds: [String]) -> SQL {
        """
        , turns AS (
            INSERT INTO webhook_turns (endpoint_id, lane, sequence, event_id)
            SELECT made.endpoint_id, \(lane), e.sequence, e.id
            FROM made JOIN events e ON e.id = made.event_id AND e.id = ANY(\(eventIds))
            WHERE made.endpoint_id = ANY(\(orderedEndpointIds)) AND e.account IS NOT NULL
            ON CONFLICT DO NOTHING
        )
        """
    }

    /// What a claim has found.
    package struct Claim: Sendable {
        /// What is to be sent now.
        package let due: [Due]
        /// Whether more may be due.
        package let hasMore: Bool
    }

    /// Takes deliveries that are due to an ordered endpoint and whose turn it is; what is due before its turn waits for it.
    ///
    /// - Parameters:
    ///   - limit: the most to take.
    ///   - lease: after how long another attempt may begin if this process dies.
    /// - Throws: `PostgresError`.
    package func claimInOrder(endpointId: String, limit: Int, lease: Duration) async throws -> Claim {
        try await pool.withTransaction { connection in
            try await Self.lock([endpointId], on: connection)
            let ids = try await connection.query(Self.candidates(endpointId)).map { (id: String) in id }
            guard !ids.isEmpty else { return Claim(due: [], hasMore: false) }
            let due = try await connection.query(Self.leaseFirst(of: ids, endpointId, limit: limit, lease: lease))
                .map(Due.init)
            return Claim(due: due, hasMore: due.count >= limit || ids.count >= OrderLimit.candidates)
        }
    }

    /// What was made before its endpoint was ordered, or is sent again, gets its turn here.
    private static func candidates(_ endpointId: String) -> SQL {
        """
        WITH candidates AS (
            SELECT event_id FROM webhook_deliveries WHERE endpoint_id = \(endpointId) AND due_at <= now()
            ORDER BY due_at LIMIT \(OrderLimit.candidates) FOR UPDATE SKIP LOCKED
        ), turns AS (
            INSERT INTO webhook_turns (endpoint_id, lane, sequence, event_id)
            SELECT \(endpointId), \(lane), e.sequence, e.id FROM candidates JOIN events e ON e.id = candidates.event_id
            WHERE e.account IS NOT NULL
            ON CONFLICT DO NOTHING
        )
        SELECT event_id FROM candidates
        """
    }

    /// A delivery without a turn is one of an event without an account, which has no order.
    private static func leaseFirst(of eventIds: [String], _ endpointId: String, limit: Int, lease: Duration) -> SQL {
        let ids = SQL.once(eventIds)
        return """
            WITH asked AS (
                SELECT d.event_id, d.due_at, first.event_id AS first_id FROM webhook_deliveries d
                LEFT JOIN webhook_turns t ON t.event_id = d.event_id AND t.endpoint_id = d.endpoint_id
                LEFT JOIN LATERAL (
                    SELECT f.event_id FROM webhook_turns f WHERE f.endpoint_id = t.endpoint_id AND f.lane = t.lane
                    ORDER BY f.sequence, f.event_id LIMIT 1
                ) first ON true
                WHERE d.endpoint_id = \(endpointId) AND d.event_id = ANY(\(ids))
            ), waiting AS (
                UPDATE webhook_deliveries d SET due_at = \(behind) FROM asked
                WHERE d.endpoint_id = \(endpointId) AND d.event_id = ANY(\(ids)) AND d.event_id = asked.event_id
                    AND asked.first_id <> asked.event_id
            ), leased AS (
                UPDATE webhook_deliveries d SET due_at = now() + \(lease), attempts = attempts + 1
                WHERE d.endpoint_id = \(endpointId) AND d.event_id = ANY(ARRAY(
                    SELECT event_id FROM asked WHERE first_id IS NULL OR first_id = event_id ORDER BY due_at LIMIT \(limit)))
                RETURNING \(leasedColumns)
            )
            \(dueOfLeased)
            """
    }

    /// Writes down attempts to ordered endpoints and what they led to, and lets go what was behind them.
    ///
    /// - Returns: what became of each delivery that was pending, and the endpoints that have something due because of it.
    /// - Throws: `PostgresError`; all of it is done, or nothing.
    package func recordInOrder(_ ended: [Ended]) async throws -> (recorded: [Recorded], released: Set<String>) {
        guard !ended.isEmpty else { return ([], []) }
        return try await pool.withTransaction { connection in
            try await Self.lock(ended.map(\.endpointId), on: connection)
            let recorded = try await connection.query(Self.recording(ended)).map(Recorded.init)
            let done = recorded.filter { !$0.isPending }
            guard !done.isEmpty else { return (recorded, []) }
            let released = try await connection.query(Self.release(behind: done)).map { (endpointId: String) in
                endpointId
            }
            return (recorded, Set(released))
        }
    }

    private static func release(behind done: [Recorded]) -> SQL {
        """
        WITH gone AS (
            DELETE FROM webhook_turns t USING unnest(\(done.map(\.eventId)), \(done.map(\.endpointId)))
                AS done (event_id, endpoint_id)
            WHERE t.event_id = done.event_id AND t.endpoint_id = done.endpoint_id
            RETURNING t.endpoint_id, t.lane, t.event_id
        ), next AS (
            SELECT lanes.endpoint_id, first.event_id FROM (SELECT DISTINCT endpoint_id, lane FROM gone) lanes
            CROSS JOIN LATERAL (
                SELECT f.event_id FROM webhook_turns f WHERE f.endpoint_id = lanes.endpoint_id AND f.lane = lanes.lane
                    AND NOT EXISTS (SELECT FROM gone WHERE (gone.event_id, gone.endpoint_id) = (f.event_id, f.endpoint_id))
                ORDER BY f.sequence, f.event_id LIMIT 1
            ) first
        )
        UPDATE webhook_deliveries d SET due_at = now() FROM next
        WHERE d.event_id = next.event_id AND d.endpoint_id = next.endpoint_id AND d.due_at = \(behind)
        RETURNING d.endpoint_id
        """
    }

    /// Has claims and records of these endpoints wait until the transaction ends, one lock after the other, in the order of endpoints.
    ///
    /// - Throws: `PostgresError`.
    package static func lock(_ endpointIds: [String], on connection: PostgresConnection) async throws {
        for id in Set(endpointIds).sorted() {
            _ = try await connection.query(
                "SELECT pg_advisory_xact_lock(\(lockClass), hashtext(\(id)))")
        }
    }
}
