import Postgres

/// Events of before the order was kept: they are numbered by their ids, the newest first, below all that has a position.
///
/// Whoever begins to read meanwhile begins with the oldest that has one.
extension EventPositionStore {
    static func numberOld(on connection: PostgresConnection) async throws -> Step {
        let found = try await connection.query(
            """
            SELECT e.id, (SELECT coalesce(min(position), n.last_position + 1) FROM event_positions) AS lowest
            FROM event_numbering n CROSS JOIN LATERAL (
                SELECT id FROM events WHERE id < n.old_below ORDER BY id DESC LIMIT $1) e
            ORDER BY e.id DESC
            """, [.int8(Int64(Limit.old))])
        let ids = try found.rows.map { try $0.decode("id", as: String.self) }
        guard let last = ids.last, let lowest = try found.rows.first?.decode("lowest", as: Int64.self) else {
            _ = try await connection.query("UPDATE event_numbering SET old_below = NULL")
            return Step()
        }
        _ = try await connection.query(
            """
            WITH added AS (
                INSERT INTO event_positions (position, event_id, app, environment, account, type)
                SELECT old.position, e.id, e.app, e.environment, e.account, e.type
                FROM unnest($1::text[], $2::int8[]) AS old (id, position) JOIN events e ON e.id = old.id
                WHERE e.id = ANY($1)
            )
            UPDATE event_numbering SET old_below = $3
            """, [.textArray(ids), .int8Array(positions(of: ids, below: lowest)), .text(last)])
        return Step(count: ids.count, isMoreDue: true)
    }

    /// Positions of ids in falling order: the last microsecond of an id's millisecond, as far as it is free.
    static func positions(of ids: [String], below lowest: Int64) -> [Int64?] {
        var position = lowest
        return ids.map { id in
            position = min(position - 1, milliseconds(of: id).map { $0 * 1_000 + 999 } ?? position - 1)
            return position
        }
    }

    /// The time in an event's id; nil in one that is not ours.
    private static func milliseconds(of id: String) -> Int64? {
        Int64(id.dropFirst(4).prefix(12), radix: 16)
    }
}
