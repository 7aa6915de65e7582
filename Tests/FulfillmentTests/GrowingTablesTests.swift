import EventProcessing
import Logging
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

/// A new database, and a new month's partitions, begin empty: what is planned then must be good for what comes.
@Suite("Growing tables", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct GrowingTablesTests {
    /// So few that a plan which reads tables whole is the cheapest.
    private static let batchesOfEmptyTables = 12
    private static let batches = 40
    private static let batch = 50
    /// Entries of one index that a purchase may have read.
    private static let indexEntriesMaximum = 12

    @Test("what is prepared while tables are empty goes by indexes when they have grown")
    func readsNoTableWhole() async throws {
        try await TestDatabase.withAddress { pool, url in
            // As a service has it, or what is measured is another thing.
            var configuration = try PostgresSettings.read(
                SettingReader(["postgres.url": url]), applicationName: "fulfillment")
            configuration.poolSizeMaximum = 1
            let own = PostgresPool(configuration: configuration, logger: Logger(label: "tests"))
            let bench = Bench(pool: own)
            var number = 0
            for _ in 0..<Self.batchesOfEmptyTables { try await Self.settle(1, after: &number, bench) }
            for _ in 0..<Self.batches { try await Self.settle(Self.batch, after: &number, bench) }
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == Int64(number))
            try await Self.expectReadWhole(atMost: number, own)
            try await Self.expectIndexEntries(atMost: Self.indexEntriesMaximum * number, own)
            await own.close()
        }
    }

    /// Accepts so many new purchases, and settles them together.
    private static func settle(_ count: Int, after number: inout Int, _ bench: Bench) async throws {
        var verdicts: [VerdictMessage] = []
        for _ in 0..<count {
            number += 1
            let id = "\(4_000_000_000 + number)"
            let verdict = Verdict.genuine([Bench.signed(id)])
            verdicts.append(try await bench.verdict("new\(id)", verdict, account: "player\(number)"))
        }
        try await bench.settle(verdicts)
    }

    private static let tables = "^(submissions|submission_proofs|orders|order_transactions|events|ledger_entries)"

    /// Rows that were read by going through a table, of those that grow with purchases.
    private static func expectReadWhole(atMost maximum: Int, _ pool: PostgresPool) async throws {
        let read = try await statistics(
            "SELECT 'rows' AS name, sum(seq_tup_read)::int8 AS n FROM pg_stat_user_tables WHERE relname ~ '\(tables)'",
            pool)
        #expect(try #require(read["rows"]) <= Int64(maximum))
    }

    /// Entries that were read from any one index of these tables: a key that is matched by its first column alone is
    /// another way of reading everything.
    private static func expectIndexEntries(atMost maximum: Int, _ pool: PostgresPool) async throws {
        let read = try await statistics(
            "SELECT indexrelname::text AS name, idx_tup_read AS n FROM pg_stat_user_indexes WHERE relname ~ '\(tables)'",
            pool)
        #expect(read["orders_pkey"] != nil)
        for (index, entries) in read where entries > maximum {
            Issue.record("\(index): \(entries) entries were read, \(maximum) are the most")
        }
    }

    private static func statistics(_ sql: String, _ pool: PostgresPool) async throws -> [String: Int64] {
        try await pool.withConnection { connection in
            try await connection.executeScript("SELECT pg_stat_force_next_flush()")
            let rows = try await connection.query(sql).rows
            return try Dictionary(
                uniqueKeysWithValues: rows.map {
                    (try $0.decode("name", as: String.self), try $0.decode("n", as: Int64.self))
                })
        }
    }
}
