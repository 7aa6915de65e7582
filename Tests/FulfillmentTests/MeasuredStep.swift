import Logging
import Postgres
import Testing

/// Something that is done again and again, and how many rows it reads.
struct MeasuredStep: Sendable {
    private static let sessionName = "measured-step"

    let name: String
    /// The most rows of one table, and entries of its indexes, that it may read.
    let rowsMaximum: Int64
    private let run: @Sendable (PostgresPool) async throws -> Void

    init(_ name: String, _ rowsMaximum: Int64, _ run: @escaping @Sendable (PostgresPool) async throws -> Void) {
        self.name = name
        self.rowsMaximum = rowsMaximum
        self.run = run
    }

    /// Does it once, in sessions of its own.
    ///
    /// - Returns: how many rows and entries of indexes were read of each table, by the server's own count.
    func reads(_ pool: PostgresPool, _ url: String) async throws -> [String: Int64] {
        let before = try await Self.reads(pool)
        var configuration = try PostgresConfiguration(url: url)
        configuration.applicationName = Self.sessionName
        // As the services' connections are.
        configuration.prefersIndexes = true
        let own = PostgresPool(configuration: configuration, logger: Logger(label: "tests"))
        do {
            try await run(own)
        } catch {
            Issue.record(error, "\(name)")
        }
        await own.close()
        return try await Self.reads(pool).merging(before) { $0 - $1 }
    }

    /// Rows and entries of indexes that were ever read, by table.
    private static func reads(_ pool: PostgresPool) async throws -> [String: Int64] {
        // What a session read is counted when it has ended at the latest.
        let running = """
            SELECT count(*) AS n, pg_sleep(0.01)::text FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = $1
            """
        while try await pool.query(running, [.text(sessionName)]).rows[0].decode("n", as: Int64.self) > 0 {}
        let result = try await pool.query(
            """
            SELECT name, sum(rows)::int8 AS rows FROM (
                -- What was read of a partition was read of its table.
                SELECT coalesce(pg_partition_root(t.relid), t.relid::regclass)::text AS name,
                    t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0) AS rows
                FROM pg_stat_user_tables t LEFT JOIN pg_stat_user_indexes i USING (relid)
                GROUP BY t.relid, t.seq_tup_read) parts
            GROUP BY name
            """)
        return Dictionary(
            uniqueKeysWithValues: try result.rows.map { (try $0.decode("name"), try $0.decode("rows")) })
    }
}
