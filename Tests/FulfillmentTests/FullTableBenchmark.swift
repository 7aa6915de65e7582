import ChanceTesting
import Foundation
import Logging
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// Says how many purchases a second are settled where a million were before (or `COUNTERSIGN_BENCHMARK_ORDERS`), and where none was, by turns;
/// `Tests/Benchmarks/full-table` runs it.
@Suite(
    "Full table benchmark",
    .enabled(
        if: ProcessInfo.processInfo.environment["COUNTERSIGN_BENCHMARK"] == "full-table" && TestDatabase.url != nil,
        "SKIPPED: Tests/Benchmarks/full-table runs it"))
struct FullTableBenchmark {
    private static let orders =
        ProcessInfo.processInfo.environment["COUNTERSIGN_BENCHMARK_ORDERS"].flatMap { Int($0) } ?? 1_000_000
    private static let players = orders / 5
    private static let rounds = 21
    /// Before anything is measured: the first touch of a page after a checkpoint costs a whole page of the log, and it takes
    /// this long until those of most players were touched. (A checkpoint comes every five minutes, so that a round that
    /// is measured is like any other between two.)
    private static let roundsToWarmUp = 60
    private static let batchesOfRound = 8
    /// What one commit of fulfillment holds under load.
    private static let batch = 200
    /// Characters, as of a signed transaction without its certificate chain.
    private static let proofLength = 900

    @Test func `settling beside a million orders, and without`() async throws {
        try await Bench.with { empty in
            try await TestDatabase.withAddress { pool, address in
                let full = Bench(pool: pool)
                let start = ContinuousClock.now
                try await Self.fill(full)
                #expect(try await full.number("SELECT count(*) FROM orders") >= Int64(Self.orders))
                print("full table: \(Self.orders) orders written in \(ContinuousClock.now - start)")
                var rates: [(empty: Double, full: Double)] = []
                for round in 0..<Self.roundsToWarmUp + Self.rounds {
                    // The first goes first every other time.
                    let isEmptyFirst = round % 2 == 0
                    let one = try await Self.rate(round, isEmptyFirst ? empty : full)
                    let two = try await Self.rate(round, isEmptyFirst ? full : empty)
                    if round >= Self.roundsToWarmUp { rates.append(isEmptyFirst ? (one, two) : (two, one)) }
                }
                func median(_ values: [Double]) -> Int { Int(values.sorted()[values.count / 2].rounded()) }
                let ratio = rates.map { $0.full / $0.empty }.sorted()
                print(
                    "full table: empty \(median(rates.map(\.empty)))/s, full \(median(rates.map(\.full)))/s,",
                    String(format: "ratio %.3f", ratio[ratio.count / 2]),
                    String(format: "(quartiles %.3f and %.3f)", ratio[ratio.count / 4], ratio[ratio.count * 3 / 4]))
                try await empty.expectClean()
                try await Self.expectClean(address)
                print("full table: both are clean after \(ContinuousClock.now - start) in all")
            }
        }
    }

    /// Every rule of the audit holds, however long the server takes for it.
    private static func expectClean(_ address: String) async throws {
        var configuration = try PostgresConfiguration(url: address)
        configuration.responseTimeout = .seconds(60 * (ConsistencyCheck.statementTimeoutMinutes + 1))
        let pool = PostgresPool(configuration: configuration, logger: Logger(label: "audit"))
        try await Bench(pool: pool).expectClean()
        await pool.close()
    }

    /// Purchases a second, a third of them of something that is kept; they are accepted before.
    private static func rate(_ round: Int, _ bench: Bench) async throws -> Double {
        var chance = SplitMix(seed: UInt64(round))
        var batches: [[VerdictMessage]] = []
        for number in 0..<batchesOfRound {
            let verdicts = (0..<batch).map { place in
                let id = 3_000_000_000 + (round * batchesOfRound + number) * batch + place
                let transaction = Bench.signed("\(id)", product: id % 3 == 0 ? "pro" : "gems.100")
                return VerdictMessage(
                    submissionId: "new\(id)", app: Bench.app,
                    account: "player\(Int.random(in: 0..<players, using: &chance))", correlationId: "req_\(id)",
                    attempt: 0, verdict: .genuine([transaction]))
            }
            _ = try await SubmissionStore(pool: bench.pool).accept(
                verdicts.map { verdict in
                    SubmissionStore.NewSubmission(
                        message: SubmissionMessage(
                            submissionId: verdict.submissionId, app: verdict.app, account: verdict.account,
                            kind: .signedTransaction, proof: String(repeating: "x", count: proofLength), attempt: 0,
                            correlationId: verdict.correlationId), partitionKey: verdict.submissionId)
                }, lease: .seconds(3_600))
            batches.append(verdicts)
        }
        let start = ContinuousClock.now
        for batch in batches { try await bench.settle(batch) }
        let elapsed = ContinuousClock.now - start
        return Double(batchesOfRound * batch)
            / (Double(elapsed.components.attoseconds) * 1e-18
                + Double(elapsed.components.seconds))
    }

    /// Settles two purchases, and copies every row that they left, for half of the orders each.
    fileprivate static func fill(_ bench: Bench) async throws {
        for (id, product) in [("1", "gems.100"), ("2", "pro")] {
            try await bench.settle([
                try await bench.verdict(
                    "old\(id)", .genuine([Bench.signed(id, product: product)]), account: "model\(id)")
            ])
        }
        try await bench.pool.withConnection { connection in
            try await connection.executeScript("SET statement_timeout = 0")
            for copy in copies {
                let columns = try await connection.query(
                    """
                    SELECT attname::text AS name FROM pg_attribute
                    WHERE attrelid = '\(unescaped: copy.table)'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
                    """
                ).rows.map { try $0.decode("name", as: String.self) }
                // Every column by its name, so that no row goes by way of JSON.
                try await connection.executeScript(
                    """
                    INSERT INTO \(copy.table) (\(columns.joined(separator: ", "))) OVERRIDING SYSTEM VALUE
                    SELECT \(columns.map { copy.other[$0] ?? "copied.\($0)" }.joined(separator: ", "))
                    FROM (VALUES ('1'), ('2')) AS models (model) CROSS JOIN LATERAL (
                        SELECT (2000000000 + n)::text AS id, 'player' || n % \(players) AS account,
                            1 + n / \(players) AS sequence, n
                        FROM generate_series(model::int - 1, \(orders - 1), 2) AS n) AS new
                    CROSS JOIN LATERAL (SELECT * FROM \(copy.table) WHERE \(copy.model)) AS copied
                    """)
            }
            try await connection.executeScript(
                """
                INSERT INTO balances (environment, app, account, item, amount)
                SELECT environment, app, account, item, sum(amount) FROM ledger_entries
                WHERE account LIKE 'player%' GROUP BY 1, 2, 3, 4;
                INSERT INTO account_sequences (environment, app, account, last_sequence)
                SELECT environment, app, account, max(sequence) FROM events WHERE account LIKE 'player%' GROUP BY 1, 2, 3
                """)
            try await connection.executeScript("VACUUM ANALYZE")
            try await connection.executeScript("RESET statement_timeout")
        }
    }

    private struct Copy {
        let table: String
        /// Which row is copied; `model` is 1 or 2.
        let model: String
        /// What the columns of a copy are that are not the model's.
        let other: [String: String]
    }

    private static let copies = [
        Copy(
            table: "submissions", model: "submissions.id = 'old' || model",
            other: [
                "id": "'past' || n", "account": "new.account",
                "outcome": "jsonb_set(copied.outcome, '{transactions,0,transaction_id}', to_jsonb(new.id))",
            ]),
        Copy(
            table: "submission_proofs", model: "submission_id = 'old' || model",
            other: [
                "submission_id": "'past' || n", "proof": "repeat('x', \(proofLength))", "header": "NULL",
                "rest": "NULL",
            ]),
        Copy(
            table: "submission_transactions", model: "transaction_id = model",
            other: ["submission_id": "'past' || n", "transaction_id": "new.id"]),
        Copy(
            table: "orders", model: "transaction_id = model",
            other: [
                "transaction_id": "new.id", "original_transaction_id": "new.id", "account": "new.account",
                "submission_id": "'past' || n",
                "purchase_key": "CASE WHEN copied.purchase_key IS NOT NULL THEN 'o:' || new.id END",
            ]),
        Copy(
            table: "order_transactions", model: "transaction_id = model",
            other: [
                "transaction_id": "new.id", "order_transaction_id": "new.id", "submission_id": "'past' || n",
            ]),
        Copy(
            table: "lineages", model: "original_transaction_id = model",
            other: ["original_transaction_id": "new.id", "account": "new.account"]),
        Copy(
            table: "binding_history", model: "original_transaction_id = model",
            other: [
                "id": "nextval(pg_get_serial_sequence('binding_history', 'id'))", "original_transaction_id": "new.id",
                "to_account": "new.account", "submission_id": "'past' || n",
            ]),
        Copy(
            table: "ledger_entries", model: "transaction_id = model",
            other: [
                "id": "nextval(pg_get_serial_sequence('ledger_entries', 'id'))", "transaction_id": "new.id",
                "account": "new.account",
            ]),
        Copy(
            table: "entitlements", model: "transaction_id = model",
            other: ["transaction_id": "new.id", "account": "new.account"]),
        Copy(
            table: "events", model: "transaction_id = model",
            other: [
                // Of the month in which they are written, as an event's id says.
                "id": "event_floor(now()) || lpad(to_hex(n), 19, '0') || model", "transaction_id": "new.id",
                "account": "new.account",
                "sequence": "new.sequence",
            ]),
    ]
}

/// Fills the database itself that it is given, with `COUNTERSIGN_BENCHMARK_ORDERS` orders; `Tests/Benchmarks/ten-times` runs it.
@Suite(
    "Full table filling",
    .enabled(
        if: ProcessInfo.processInfo.environment["COUNTERSIGN_BENCHMARK"] == "fill-table" && TestDatabase.url != nil,
        "SKIPPED: Tests/Benchmarks/ten-times runs it"))
struct FullTableFilling {
    @Test func `orders of the past`() async throws {
        let pool = PostgresPool(
            configuration: try PostgresConfiguration(url: try #require(TestDatabase.url)),
            logger: Logger(label: "filling"))
        try await FullTableBenchmark.fill(Bench(pool: pool))
        await pool.close()
    }
}
