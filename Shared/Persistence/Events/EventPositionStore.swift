package import Postgres

/// The tables `event_queue`, `event_positions` and `event_numbering`: one order of all events, in which no reader misses one.
///
/// Events are committed in another order than their ids have. So they get their positions afterwards, from whoever holds the
/// only row of `event_numbering`: one process at a time. A position that a reader sees is committed, and so is every smaller one.
package struct EventPositionStore: Sendable {
    let pool: PostgresPool

    package enum Limit {
        /// Rows of the queue that one step takes: each has the events of one statement, a few hundred at most.
        static let queued = 50
        /// Events that one step publishes.
        static let published = 500
    }

    /// What one step came to.
    package struct Step: Sendable, Hashable {
        /// Events that have a position now.
        package var count = 0
        /// Whether another step would find more.
        package var isMoreDue = false
    }

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Gives positions to events that are committed and have none.
    ///
    /// Any number of processes may do this at once: while one does, the others find nothing.
    ///
    /// - Throws: `PostgresError`.
    package func number() async throws -> Step {
        let due = try await pool.query("SELECT EXISTS (SELECT FROM event_queue) AS is_due")
        guard try due.rows.first?.decode(Bool.self) ?? false else { return Step() }
        return try await pool.withTransaction { connection in
            let locked = try await connection.query("SELECT 1 AS one FROM event_numbering FOR UPDATE SKIP LOCKED")
            return locked.rows.isEmpty ? Step() : try await Self.numberQueued(on: connection)
        }
    }

    /// Keeps positions from being given until the caller's transaction ends.
    ///
    /// - Throws: `PostgresError`.
    static func hold(on connection: PostgresConnection) async throws {
        _ = try await connection.query("SELECT 1 AS one FROM event_numbering FOR UPDATE")
    }

    // The queue's ids follow each other as the numbers of an account's events do: both are taken while its sequence is locked.
    // MATERIALIZED: the clock is read once.
    private static let numbering: SQL = """
        WITH taken AS (
            DELETE FROM event_queue WHERE id = ANY(ARRAY(SELECT id FROM event_queue ORDER BY id LIMIT \(Limit.queued)))
            RETURNING id, event_ids
        ), listed AS (
            SELECT new.event_id, row_number() OVER (ORDER BY taken.id, new.place) AS number
            FROM taken CROSS JOIN LATERAL unnest(taken.event_ids) WITH ORDINALITY AS new (event_id, place)
        ), base AS MATERIALIZED (
            SELECT greatest(last_position, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS position
            FROM event_numbering
        ), added AS (
            INSERT INTO event_positions (position, event_id, app, environment, account, type)
            SELECT base.position + listed.number, e.id, e.app, e.environment, e.account, e.type
            FROM listed JOIN events e ON e.id = listed.event_id CROSS JOIN base
            WHERE e.id = ANY(ARRAY(SELECT event_id FROM listed))
            RETURNING position
        )
        UPDATE event_numbering SET last_position = greatest(last_position, (SELECT max(position) FROM added))
        WHERE EXISTS (SELECT FROM taken)
        RETURNING (SELECT count(*) FROM added) AS added, (SELECT count(*) FROM taken) AS taken
        """

    private static func numberQueued(on connection: PostgresConnection) async throws -> Step {
        let result = try await connection.query(numbering)
        guard let (added, taken) = try result.rows.first?.decode((Int, Int).self) else { return Step() }
        return Step(count: added, isMoreDue: taken == Limit.queued)
    }
}
