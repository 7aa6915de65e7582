import Postgres

/// How far events are published in the public topic `countersign.events`: in the order of their positions.
extension EventPositionStore {
    /// Publishes the events that follow those that were published.
    ///
    /// Any number of processes may do this at once: while one does, the others find nothing. One that dies after the broker has
    /// them, and before its commit, leaves them to be published again.
    ///
    /// - Parameter publish: sends events, and returns when the broker has all of them.
    /// - Throws: `PostgresError`, and what `publish` throws; then the same events are published again.
    package func publishNext(
        _ publish: @escaping @Sendable ([EventStore.StoredEvent]) async throws -> Void
    ) async throws -> Step {
        let due = try await pool.query("SELECT published_position < last_position AS is_due FROM event_numbering")
        guard try due.rows.first?.decode(Bool.self) ?? false else { return Step() }
        return try await pool.withTransaction { connection in
            // Not the row of `event_numbering`, whose holder gives positions: these do not wait for Kafka.
            let lock = try await connection.query(
                "SELECT pg_try_advisory_xact_lock(hashtext('countersign.events')) AS is_held")
            guard try lock.rows.first?.decode(Bool.self) ?? false else { return Step() }
            return try await Self.publishNext(publish, on: connection)
        }
    }

    private static func publishNext(
        _ publish: @Sendable ([EventStore.StoredEvent]) async throws -> Void, on connection: PostgresConnection
    ) async throws -> Step {
        let found = try await connection.query(
            """
            SELECT position, event_id FROM event_positions
            WHERE position > (SELECT published_position FROM event_numbering) ORDER BY position LIMIT \(Limit.published)
            """
        ).map { (position: Int64, id: String) in (position: position, id: id) }
        guard let reached = found.last?.position else { return Step() }
        let events = try await EventStore.stored(found.map(\.id), on: connection)
        // A month of events may go before its positions do.
        try await publish(found.compactMap { events[$0.id] })
        _ = try await connection.query("UPDATE event_numbering SET published_position = \(reached)")
        return Step(count: found.count, isMoreDue: found.count == Limit.published)
    }
}
