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
    static let behind = "timestamptz '9999-12-31 00:00:00+00'"

    /// Which lane an event `e` of an account is in.
    private static let lane = lane("e.environment", "e.app", name: "e.account")

    /// The lane of an environment, an app and an account, each an expression in SQL.
    static func lane(_ environment: String, _ app: String, name: String) -> String {
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
        let result = try await pool.query(
            """
            WITH RECURSIVE walk AS (
                SELECT e.account, e.app, e.environment, e.sequence, e.id, e.type, 0 AS steps FROM events e
                WHERE e.id = ANY($1) AND e.account IS NOT NULL
                UNION ALL
                SELECT before.account, before.app, before.environment, before.sequence, before.id, before.type, walk.steps + 1
                FROM walk CROSS JOIN LATERAL (
                    SELECT e.account, e.app, e.environment, e.sequence, e.id, e.type FROM events e
                    WHERE e.account = walk.account AND e.app = walk.app AND e.environment = walk.environment
                        AND e.sequence = walk.sequence - 1
                    LIMIT 1
                ) before
                WHERE before.id <> ALL($1)
                    AND EXISTS (SELECT FROM event_outbox o WHERE o.event_id = before.id)
            )
            SELECT id, type, app, environment FROM walk WHERE steps > 0 LIMIT $2
            """, [.textArray(eventIds), .int8(Int64(limit))])
        return try result.rows.map { row in
            Predecessor(
                id: try row.decode("id"), type: try row.decode("type"), app: try row.decode("app"),
                environment: try row.decode("environment"))
        }
    }

    /// What follows the deliveries that a take-over has made, `made`: those to ordered endpoints, `$6`, have their turn.
    static let turnsOfMade = """
        turns AS (
            INSERT INTO webhook_turns (endpoint_id, lane, sequence, event_id)
            SELECT made.endpoint_id, \(lane), e.sequence, e.id
            FROM made JOIN events e ON e.id = made.event_id AND e.id = ANY($1)
            WHERE made.endpoint_id = ANY($6) AND e.account IS NOT NULL
            ON CONFLICT DO NOTHING
        )
        """

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
            let candidates = try await connection.query(
                Self.candidatesStatement, [.text(endpointId), .int8(Int64(OrderLimit.candidates))])
            let ids = try candidates.rows.map { try $0.decode("event_id", as: String.self) }
            guard !ids.isEmpty else { return Claim(due: [], hasMore: false) }
            let leased = try await connection.query(
                Self.leaseFirstStatement,
                [.text(endpointId), .textArray(ids), .int8(Int64(limit)), .int8(lease.wholeMilliseconds)])
            let due = try Self.due(leased)
            return Claim(due: due, hasMore: due.count >= limit || ids.count >= OrderLimit.candidates)
        }
    }

    /// What was made before its endpoint was ordered, or is sent again, gets its turn here.
    private static let candidatesStatement = """
        WITH candidates AS (
            SELECT event_id FROM webhook_deliveries WHERE endpoint_id = $1 AND due_at <= now()
            ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ), turns AS (
            INSERT INTO webhook_turns (endpoint_id, lane, sequence, event_id)
            SELECT $1, \(lane), e.sequence, e.id FROM candidates JOIN events e ON e.id = candidates.event_id
            WHERE e.account IS NOT NULL
            ON CONFLICT DO NOTHING
        )
        SELECT event_id FROM candidates
        """

    /// A delivery without a turn is one of an event without an account, which has no order.
    private static let leaseFirstStatement = """
        WITH asked AS (
            SELECT d.event_id, d.due_at, first.event_id AS first_id FROM webhook_deliveries d
            LEFT JOIN webhook_turns t ON t.event_id = d.event_id AND t.endpoint_id = d.endpoint_id
            LEFT JOIN LATERAL (
                SELECT f.event_id FROM webhook_turns f WHERE f.endpoint_id = t.endpoint_id AND f.lane = t.lane
                ORDER BY f.sequence, f.event_id LIMIT 1
            ) first ON true
            WHERE d.endpoint_id = $1 AND d.event_id = ANY($2)
        ), waiting AS (
            UPDATE webhook_deliveries d SET due_at = \(behind) FROM asked
            WHERE d.endpoint_id = $1 AND d.event_id = ANY($2) AND d.event_id = asked.event_id
                AND asked.first_id <> asked.event_id
        ), leased AS (
            UPDATE webhook_deliveries d SET due_at = now() + $4 * interval '1 millisecond', attempts = attempts + 1
            WHERE d.endpoint_id = $1 AND d.event_id = ANY(ARRAY(
                SELECT event_id FROM asked WHERE first_id IS NULL OR first_id = event_id ORDER BY due_at LIMIT $3))
            RETURNING \(leasedColumns)
        )
        \(dueOfLeased)
        """

    /// Writes down attempts to ordered endpoints and what they led to, and lets go what was behind them.
    ///
    /// - Returns: what became of each delivery that was pending, and the endpoints that have something due because of it.
    /// - Throws: `PostgresError`; all of it is done, or nothing.
    package func recordInOrder(_ ended: [Ended]) async throws -> (recorded: [Recorded], released: Set<String>) {
        guard !ended.isEmpty else { return ([], []) }
        return try await pool.withTransaction { connection in
            try await Self.lock(ended.map(\.endpointId), on: connection)
            let recorded = try Self.recorded(
                try await connection.query(Self.recordStatement, Self.recordValues(ended)))
            let done = recorded.filter { !$0.isPending }
            guard !done.isEmpty else { return (recorded, []) }
            let released = try await connection.query(
                Self.releaseStatement, [.textArray(done.map(\.eventId)), .textArray(done.map(\.endpointId))])
            return (recorded, Set(try released.rows.map { try $0.decode("endpoint_id", as: String.self) }))
        }
    }

    private static let releaseStatement = """
        WITH gone AS (
            DELETE FROM webhook_turns t USING unnest($1::text[], $2::text[]) AS done (event_id, endpoint_id)
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

    /// Has claims and records of these endpoints wait until the transaction ends, one lock after the other, in the order of endpoints.
    ///
    /// - Throws: `PostgresError`.
    package static func lock(_ endpointIds: [String], on connection: PostgresConnection) async throws {
        for id in Set(endpointIds).sorted() {
            _ = try await connection.query(
                "SELECT pg_advisory_xact_lock($1, hashtext($2))", [.int4(lockClass), .text(id)])
        }
    }
}
