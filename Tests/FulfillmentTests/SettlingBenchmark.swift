import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// Says how many new consumables a second are settled, with how many statements and rows read for a batch;
/// `Tests/Benchmarks/settling` runs it, of two versions by turns.
@Suite(
    "Settling benchmark",
    .enabled(
        if: ProcessInfo.processInfo.environment["COUNTERSIGN_BENCHMARK"] == "settling" && TestDatabase.url != nil,
        "SKIPPED: Tests/Benchmarks/settling runs it"))
struct SettlingBenchmark {
    private static let batches = 60
    private static let batchesToWarmUp = 20
    /// What one commit of fulfillment holds under load.
    private static let batch = 200

    @Test func `settling new consumables`() async throws {
        try await Bench.with { bench in
            let pool = bench.pool
            _ = try await pool.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            for batch in try await Self.accepted(Self.batchesToWarmUp, from: 0, bench) { try await bench.settle(batch) }
            let measured = try await Self.accepted(Self.batches, from: Self.batchesToWarmUp, bench)
            let rowsBefore = try await Self.rowsRead(bench)
            _ = try await pool.query("SELECT pg_stat_statements_reset()")
            let start = ContinuousClock.now
            for batch in measured { try await bench.settle(batch) }
            let elapsed = ContinuousClock.now - start
            let statements = try await bench.number(
                """
                SELECT sum(calls) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
                WHERE d.datname = current_database()
                """)
            let rows = try await Self.rowsRead(bench) - rowsBefore
            let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18
            print(
                "settling: \(Int(Double(Self.batches * Self.batch) / seconds)) purchases/s,",
                String(format: "%.1f statements and", Double(statements - 1) / Double(Self.batches)),
                String(format: "%.1f rows read a batch of %d", Double(rows) / Double(Self.batches), Self.batch))
            try await Self.printStatements(bench)
        }
    }

    /// What each statement took of the server's time for a batch, the dearest first.
    private static func printStatements(_ bench: Bench) async throws {
        let result = try await bench.pool.query(
            """
            SELECT total_exec_time + total_plan_time AS milliseconds, calls,
                left(regexp_replace(query, '\\s+', ' ', 'g'), 100) AS query
            FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
            WHERE d.datname = current_database() ORDER BY 1 DESC LIMIT 15
            """)
        for row in result.rows {
            print(
                "statement:",
                String(format: "%7.3f ms", try row.decode("milliseconds", as: Double.self) / Double(batches)),
                String(format: "%5.2f calls", Double(try row.decode("calls", as: Int64.self)) / Double(batches)),
                try row.decode("query", as: String.self))
        }
    }

    /// Verdicts whose submissions are accepted: a single purchase of a consumable each.
    private static func accepted(_ count: Int, from first: Int, _ bench: Bench) async throws -> [[VerdictMessage]] {
        var batches: [[VerdictMessage]] = []
        for number in first..<first + count {
            let verdicts = (0..<batch).map { place in
                let id = "\(3_000_000_000 + number * batch + place)"
                return VerdictMessage(
                    submissionId: "new\(id)", app: Bench.app, account: "player\(number)-\(place)",
                    correlationId: "req_\(id)", attempt: 0, verdict: .genuine([Bench.signed(id)]))
            }
            _ = try await SubmissionStore(pool: bench.pool).accept(
                verdicts.map { verdict in
                    SubmissionStore.NewSubmission(
                        message: SubmissionMessage(
                            submissionId: verdict.submissionId, app: verdict.app, account: verdict.account,
                            kind: .signedTransaction, proof: String(repeating: "x", count: 5_000), attempt: 0,
                            correlationId: verdict.correlationId), partitionKey: verdict.submissionId)
                }, lease: .seconds(3_600))
            batches.append(verdicts)
        }
        return batches
    }

    /// Rows that were read of all tables so far; a connection tells its counts when it ends, so all others are ended.
    private static func rowsRead(_ bench: Bench) async throws -> Int64 {
        try await bench.pool.withConnection { connection in
            try await connection.executeScript(
                """
                SELECT pg_stat_force_next_flush();
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
                """)
            let result = try await connection.query(
                "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int8 AS n FROM pg_stat_user_tables"
            )
            return try #require(result.rows.first).decode("n")
        }
    }
}
