import Postgres

/// Events that are committed and cannot be pulled yet, or are not in the public topic.
extension EventPositionStore {
    /// How long giving positions may take before something is wrong with it: it takes milliseconds.
    package static let waitMaximum = Duration.seconds(60)

    /// For how many seconds the oldest event of the queue has been there; 0 where every event has its position.
    ///
    /// - Throws: `PostgresError`.
    package func oldestWaitSeconds() async throws -> Double {
        let result = try await pool.query(
            """
            SELECT coalesce(extract(epoch FROM now() - (SELECT created_at FROM events WHERE id = (
                SELECT event_ids[1] FROM event_queue ORDER BY id LIMIT 1))), 0)::float8 AS age
            """)
        return max(0, try result.rows.first?.decode(Double.self) ?? 0)
    }

    /// For how many seconds the oldest event with a position has not been published in the public topic; 0 where every one is.
    ///
    /// - Throws: `PostgresError`.
    package func oldestUnpublishedSeconds() async throws -> Double {
        let result = try await pool.query(
            """
            SELECT coalesce((extract(epoch FROM now()) * 1000000 - (SELECT min(position) FROM event_positions
                WHERE position > (SELECT published_position FROM event_numbering))) / 1000000.0, 0)::float8 AS age
            """)
        return max(0, try result.rows.first?.decode(Double.self) ?? 0)
    }
}
