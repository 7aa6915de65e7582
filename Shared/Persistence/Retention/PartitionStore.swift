package import Foundation
package import Postgres

/// The months of divided tables: made ahead of their time, dropped when their time is over.
///
/// The work is done by functions with the owner's rights, since no service may make or drop a table. They hold back what is
/// still wanted, whoever calls them.
package struct PartitionStore: Sendable {
    /// A table that is divided by month.
    package enum Table: String, Sendable, CaseIterable {
        case events
        case webhookDeliveries = "webhook_deliveries"
        case submissionProofs = "submission_proofs"
        case webhookAttempts = "webhook_attempts"
        /// After ``events``: a month of positions goes when the events are gone that it numbers.
        case eventPositions = "event_positions"
    }

    /// A part of a table.
    package struct Partition: Sendable, Hashable {
        /// Its own name.
        package let name: String
        /// The first instant after it.
        package let endsAt: Date
    }

    /// What became of a partition that was to be dropped.
    package enum Dropping: Sendable, Equatable {
        case dropped
        /// Something in it is still wanted.
        case stays(because: String)
        /// Somebody else used the table at the moment: it is to be tried again.
        case busy
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Makes the month that it is now and those after it, as far as they are missing.
    ///
    /// - Parameter ahead: how many after this one.
    /// - Returns: whether nothing is missing now; not so where a table was in use: it is to be tried again.
    /// - Throws: `PostgresError`.
    package func makeMonths(of table: Table, ahead: Int) async throws -> Bool {
        for month in 0...ahead {
            do {
                let day: SQL = "(date_trunc('month', now() AT TIME ZONE 'UTC') + \(month) * interval '1 month')::date"
                if table == .eventPositions {
                    _ = try await pool.query("SELECT make_positions(\(day)) AS is_made")
                } else {
                    _ = try await pool.query(
                        "SELECT make_month(\(table.rawValue), \(day)) AS is_made")
                }
            } catch let error as PostgresError where error.sqlState == LockWait.sqlState {
                return false
            }
        }
        return true
    }

    /// The partitions that ended longer ago than `age`, the oldest first.
    ///
    /// - Throws: `PostgresError`.
    package func ended(of table: Table, before age: Duration) async throws -> [Partition] {
        let result = try await pool.query(
            """
            SELECT partition_name AS name, ends_at FROM table_months
            WHERE table_name = \(table.rawValue) AND ends_at < now() - \(age) ORDER BY ends_at
            """)
        return try result.map(Partition.init)
    }

    /// Drops a partition, unless something in it is still wanted.
    ///
    /// - Throws: `PostgresError`.
    package func drop(_ partition: Partition, of table: Table) async throws -> Dropping {
        do {
            let result =
                table == .eventPositions
                ? try await pool.query("SELECT drop_positions(\(partition.name)) AS reason")
                : try await pool.query(
                    "SELECT drop_month(\(table.rawValue), \(partition.name)) AS reason")
            guard let reason: String = try result.rows.first?.decode(String?.self) ?? nil else {
                return .dropped
            }
            return .stays(because: reason)
        } catch let error as PostgresError where error.sqlState == LockWait.sqlState {
            return .busy
        }
    }

    /// Submissions that are no record of money.
    package enum Removable: String, Sendable {
        /// Apple's notifications that were dealt with.
        case notifications
        /// What accounts posted, and was rejected.
        case rejected
    }

    /// Removes submissions that were settled longer ago than `age`, with their proofs; the oldest first.
    ///
    /// - Returns: how many; fewer than the limit where no more is to be removed.
    /// - Throws: `PostgresError`.
    package func remove(_ what: Removable, olderThan age: Duration, limit: Int) async throws -> Int {
        let result = try await pool.query(
            "SELECT drop_submissions(\(what.rawValue), now() - \(age), \(limit)) AS count")
        return try result.rows.first?.decode(Int.self) ?? 0
    }

    /// For how long rows of each table have a month that they are meant for, in seconds from now; negative, or nil where
    /// there is none, when they go into the default partition.
    ///
    /// - Throws: `PostgresError`.
    package func secondsAhead() async throws -> [Table: Double] {
        let result = try await pool.query(
            """
            SELECT table_name, extract(epoch FROM max(ends_at) - now())::float8 AS seconds FROM table_months
            GROUP BY table_name
            """)
        var seconds: [Table: Double] = [:]
        for (name, ahead) in try result.map({ (name: String, ahead: Double) in (name, ahead) }) {
            if let table = Table(rawValue: name) { seconds[table] = ahead }
        }
        return seconds
    }
}
