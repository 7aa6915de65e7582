package import Foundation
package import Postgres

/// What the database server is doing: who is connected, who waits for whom, and how far the months go.
package struct ServerActivityStore: Sendable {
    /// The server and the database.
    package struct Server: Codable, Sendable, Hashable {
        package let version: String
        package let database: String
        package let user: String
        /// Whether it only follows a primary.
        package let standby: Bool
        package let startedAt: Date
        package let schemaVersion: Int64
        package let databaseBytes: Int64
        package let connections: Int64
        package let connectionsMaximum: Int64
        /// Whether this user sees what others' sessions are at: it needs `pg_read_all_stats`.
        package let seesAllSessions: Bool
    }

    /// Connections of one program that are at the same.
    package struct Sessions: Codable, Sendable, Hashable {
        package let application: String
        /// `active`, `idle`, `idle in transaction` and so on; `hidden` where this user may not see it.
        package let state: String
        /// What kind of thing it waits for: `Lock`, `IO`, `Client`.
        package let waitsFor: String?
        package let count: Int64
        /// Of the statement under way, or of the last one.
        package let longestSeconds: Double
    }

    /// A transaction that lasts, or waits for another.
    package struct Transaction: Codable, Sendable, Hashable {
        package let pid: Int32
        package let application: String
        package let user: String?
        package let state: String
        package let seconds: Double
        /// Who holds what it waits for.
        package let blockedBy: [Int32]
        /// The first characters of its statement.
        package let statement: String
    }

    /// Until when a table that is divided by month has its partitions.
    package struct Months: Codable, Sendable, Hashable {
        package let table: String
        package let partitions: Int64
        package let endsAt: Date
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// - Throws: `PostgresError`.
    package func server() async throws -> Server {
        let result = try await pool.query(
            """
            SELECT current_setting('server_version') AS version, current_database()::text AS database,
                current_user::text AS username, pg_is_in_recovery() AS standby, pg_postmaster_start_time() AS started_at,
                pg_database_size(current_database()) AS bytes,
                (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
                current_setting('max_connections')::bigint AS most,
                pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_all
            """)
        guard let row = result.rows.first else { throw PostgresError(code: .decodingFailed, reason: "no row") }
        let (version, database, user, isStandby, startedAt, bytes, connections, connectionsMaximum, seesAllSessions) =
            try row.decode((String, String, String, Bool, Date, Int64, Int64, Int64, Bool).self)
        return Server(
            version: version, database: database, user: user, standby: isStandby, startedAt: startedAt,
            schemaVersion: try await Migrator(pool: pool).state().version, databaseBytes: bytes,
            connections: connections, connectionsMaximum: connectionsMaximum, seesAllSessions: seesAllSessions)
    }

    /// The connections to this database, those first that are at something for longest.
    ///
    /// - Throws: `PostgresError`.
    package func sessions() async throws -> [Sessions] {
        let result = try await pool.query(
            """
            SELECT coalesce(nullif(application_name, ''), '-') AS application, coalesce(state, 'hidden') AS state,
                wait_event_type AS waits_for, count(*) AS count,
                coalesce(greatest(max(extract(epoch FROM now() - query_start)), 0), 0)::float8 AS longest_seconds
            FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
            GROUP BY 1, 2, 3 ORDER BY 5 DESC LIMIT 100
            """)
        return try result.map(Sessions.init)
    }

    /// Transactions that are open for longer than so, or that wait for a lock, the longest first.
    ///
    /// - Throws: `PostgresError`.
    package func transactions(olderThan age: Duration, limit: Int) async throws -> [Transaction] {
        let result = try await pool.query(
            """
            SELECT pid, coalesce(nullif(application_name, ''), '-') AS application, usename::text AS "user",
                coalesce(state, 'hidden') AS state, coalesce(extract(epoch FROM now() - xact_start), 0)::float8 AS seconds,
                pg_blocking_pids(pid) AS blocked_by, left(regexp_replace(query, '\\s+', ' ', 'g'), 100) AS statement
            FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
                AND (xact_start < now() - \(age) OR wait_event_type = 'Lock')
            ORDER BY xact_start NULLS LAST LIMIT \(limit)
            """)
        return try result.map(Transaction.init)
    }

    /// - Throws: `PostgresError`.
    package func months() async throws -> [Months] {
        let result = try await pool.query(
            """
            SELECT table_name AS "table", count(*) AS partitions, max(ends_at) AS ends_at FROM table_months GROUP BY 1 ORDER BY 1
            """)
        return try result.map(Months.init)
    }
}
