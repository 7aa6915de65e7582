import Foundation
package import Postgres
package import PurchaseModel

/// Reads events in the order of their positions, for whoever pulls or follows them.
package struct EventFeedStore: Sendable {
    private let pool: PostgresPool

    package enum Limit {
        /// The most events of a page.
        package static let page = 1_000
        /// Positions that one page looks at, of others' apps and other types, too: for each event that it may have, and at least.
        static let lookedForEvent = 10
        static let lookedMinimum = 1_000
        /// Positions that one look of a tail takes.
        package static let tail = 1_000
    }

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// An event with its place.
    package struct Event: Sendable, Hashable {
        /// Its place in the order.
        package let position: Int64
        /// The bytes that webhooks have, too.
        package let body: String

        package init(position: Int64, body: String) {
            self.position = position
            self.body = body
        }
    }

    /// Some events in their order.
    package struct Page: Sendable, Hashable {
        /// Those that are meant.
        package var events: [Event] = []
        /// Everything up to here was looked at: from here the next page goes on.
        package var next: Int64
        /// Whether the next page may have events now.
        package var isMore = false
    }

    /// The events after a position were dropped, for their retention is over.
    package struct ExpiredError: Error, Sendable {}

    /// The newest position, or where retention has come to where that is later; 0 where there is neither.
    ///
    /// - Throws: `PostgresError`.
    package func newest() async throws -> Int64 {
        let result = try await pool.query("SELECT \(Self.newest) AS newest")
        return try result.rows.first?.decode(Int64.self) ?? 0
    }

    /// The events after a position, as many as `limit` at most.
    ///
    /// A position beyond the newest is read as the newest: after a restore readers come with what is not there any more, and
    /// anybody may make a cursor up. So `next` is never beyond what the database has.
    ///
    /// - Parameter position: nil for the oldest that is there.
    /// - Throws: `PostgresError`; ``ExpiredError`` where events after the position are gone.
    @inline(never)
    package func page(_ filter: EventFilter, after position: Int64?, limit: Int) async throws -> Page {
        let looked = Int64(max(Limit.lookedMinimum, limit * Limit.lookedForEvent))
        let found = try await pool.query(Self.page(filter, after: position ?? 0, limit: limit, looked: looked))
        guard let first = found.rows.first else { return Page(next: 0) }
        let expired = try first.decode("expired", as: Int64.self)
        if let position, position < expired { throw ExpiredError() }
        let meant = try found.rows.compactMap { row -> (position: Int64, id: String)? in
            guard let position = try row.decodeIfPresent("position", as: Int64.self) else { return nil }
            return (position, try row.decode("event_id"))
        }
        let bodies = try await bodies(of: meant.map(\.id))
        var page = Page(next: try first.decode("newest"))
        // A month of events may go before its positions do.
        page.events = meant.compactMap { entry in bodies[entry.id].map { Event(position: entry.position, body: $0) } }
        if meant.count == limit, let last = meant.last {
            page.next = last.position
            page.isMore = true
        } else if try first.decode("looked", as: Int64.self) == looked {
            page.next = try first.decode("reached")
            page.isMore = true
        }
        return page
    }

    private func bodies(of ids: [String]) async throws -> [String: String] {
        guard !ids.isEmpty else { return [:] }
        let result = try await pool.query("SELECT id, body FROM events WHERE id = ANY(\(ids))")
        return Dictionary(try result.map { (id: String, body: String) in (id, body) }) { first, _ in first }
    }

    /// What was dropped ends here.
    private static let expired: SQL = """
        coalesce((SELECT floor(extract(epoch FROM dropped_before) * 1000000)::bigint FROM retention_marks
            WHERE name = 'events'), 0)
        """
    /// Where nothing has come for as long as events are kept, a reader who has read all is not told that its cursor is too old.
    private static let newest: SQL = "greatest(coalesce((SELECT last_position FROM event_numbering), 0), \(expired))"

    /// One snapshot: all positions up to `newest` are seen by it.
    private static func page(_ filter: EventFilter, after position: Int64, limit: Int, looked: Int64) -> SQL {
        let ofAccount: SQL = filter.account.map { " AND account = \($0) AND app = \(filter.app)" } ?? ""
        let types = SQL.once(filter.types.map(\.likePattern))
        return """
            WITH bounds AS MATERIALIZED (
                SELECT \(newest) AS newest, \(expired) AS expired
            ), looked AS MATERIALIZED (
                SELECT position, event_id, app, environment, type FROM event_positions
                WHERE position > (SELECT greatest(least(\(position), newest), expired) FROM bounds)\(ofAccount)
                ORDER BY position LIMIT \(looked)
            ), meant AS (
                SELECT position, event_id FROM looked
                WHERE app = \(filter.app) AND (\(filter.environment) IS NULL OR environment = \(filter.environment))
                    AND (cardinality(\(types)) = 0 OR type LIKE ANY(\(types)))
                ORDER BY position LIMIT \(limit)
            )
            SELECT meant.position, meant.event_id, bounds.newest, bounds.expired,
                (SELECT count(*) FROM looked) AS looked, (SELECT max(position) FROM looked) AS reached
            FROM bounds LEFT JOIN meant ON true ORDER BY meant.position
            """
    }

    /// What came after a position, without its content, for whoever wakes those who wait.
    package struct Arrival: Sendable, Hashable {
        package let position: Int64
        package let app: String
        package let environment: String
        package let account: Account?
        package let type: String
    }

    /// What came after a position, in order; no more than one look takes.
    ///
    /// - Throws: `PostgresError`.
    package func arrivals(after position: Int64) async throws -> [Arrival] {
        let result = try await pool.query(
            """
            SELECT position, app, environment, account, type FROM event_positions
            WHERE position > \(position) ORDER BY position LIMIT \(Limit.tail)
            """)
        return try result.map(Arrival.init)
    }
}
