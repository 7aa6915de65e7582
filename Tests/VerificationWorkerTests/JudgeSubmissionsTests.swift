import AppStore
import Foundation
import Logging
import Messages
import NIOHTTP1
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Synchronization
import Testing

@testable import VerificationWorker

@Suite("Judging a batch offline")
struct JudgeSubmissionsTests {
    @Test("Each gets its own finding, in the order of the batch", .enabled(if: Simulator.isThere, Simulator.missing))
    func order() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sell(count: 60)
            let (proof, bought) = try await stage.purchase("batch")
            let submissions =
                sold.map { SubmissionFixture.make(.signedTransaction, $0.signedTransaction) }
                + (0..<60).map { _ in receipt(proof) } + [asked("2000000000000001")]
            try await stage.withAccess { access in
                let judge = JudgeSubmissions(
                    judge: access.judge.offline, proofs: ProofReader(pool: nil, logger: Stage.quiet), revocation: nil,
                    isPaused: { false })
                let found = await judge.findings(for: submissions).map { finding -> [String]? in
                    finding?.transactions.map(\.transactionId)
                }
                let expected: [[String]?] =
                    sold.map { [$0.transactionId] } + (0..<60).map { _ in bought.map(\.transactionId) } + [nil]
                #expect(found == expected)
            }
        }
    }

    @Test("Work is cut by count and by bytes, and nothing is left out")
    func pieces() {
        func submissions(_ sizes: [Int]) -> [SubmissionMessage] {
            sizes.map { SubmissionFixture.make(.receipt, String(repeating: "M", count: $0)) }
        }
        #expect(ProofBatches.pieces(submissions([])) == [])
        #expect(ProofBatches.pieces(submissions(Array(repeating: 10, count: 40))) == [0..<16, 16..<32, 32..<40])
        let large = ProofBatches.bytesMaximum
        #expect(
            ProofBatches.pieces(submissions([10, large, 10, large * 3, large / 2, large / 2, 1])) == [
                0..<1, 1..<2, 2..<3, 3..<4, 4..<6, 6..<7,
            ])
    }

    private static let postgres = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_POSTGRES"]

    @Test(
        "A proof that is too large for a message is read from its row",
        .enabled(
            if: postgres != nil && Simulator.isThere,
            "SKIPPED: COUNTERSIGN_TEST_POSTGRES or COUNTERSIGN_BIN_DIR is not set"))
    func claimCheck() async throws {
        let schema = "worker_" + UUID().uuidString.lowercased().replacing("-", with: "")
        let url = Self.postgres ?? ""
        let plain = PostgresPool(configuration: try PostgresConfiguration(url: url), logger: Stage.quiet)
        _ = try await plain.query("CREATE SCHEMA \(unescaped: schema)")
        let option = (url.contains("?") ? "&" : "?") + "options=-csearch_path%3D\(schema)"
        let pool = PostgresPool(configuration: try PostgresConfiguration(url: url + option), logger: Stage.quiet)
        do {
            _ = try await Migrator(pool: pool).migrate()
            try await judgeFromRow(pool)
        } catch {
            Issue.record(error)
        }
        await pool.close()
        _ = try await plain.query("DROP SCHEMA \(unescaped: schema) CASCADE")
        await plain.close()
    }

    private func judgeFromRow(_ pool: PostgresPool) async throws {
        try await Stage.run { stage in
            let (proof, sold) = try await stage.purchase("large")
            _ = try await pool.query(
                """
                INSERT INTO submissions (id, app, account, kind, proof, partition_key, correlation_id, due_at)
                VALUES ('sub_test', $1, 'player', 'receipt', $2, 'player', 'req_test', now())
                """, [.text(SubmissionFixture.app), .text(proof)])
            let large = SubmissionFixture.make(.receipt, "", isClaimCheck: true)
            var missing = large
            missing.submissionId = "sub_other"
            for setup in [Setup(), Setup(receipts: "verify_receipt")] {
                try await stage.withAccess(setup) { access in
                    let proofs = ProofReader(pool: pool, logger: Stage.quiet)
                    let offline = JudgeSubmissions(
                        judge: access.judge.offline, proofs: proofs, revocation: nil, isPaused: { false })
                    let lookups = JudgeLookups(judge: access.judge, proofs: proofs, inFlightMaximum: 10)
                    var findings: [Finding] = []
                    for (submission, finding) in zip([large, missing], await offline.findings(for: [large, missing])) {
                        if let finding {
                            findings.append(finding)
                        } else {
                            findings += await lookups.findings(for: [submission])
                        }
                    }
                    #expect(findings.first?.transactions.map(\.transactionId) == sold.map(\.transactionId))
                    #expect(findings.last?.reason == "claim_check_unavailable")
                }
            }
        }
    }

    @Test("While the database rests, a large proof is not there, and a warning says so; small ones need no database")
    func databaseRests() async throws {
        let warnings = Mutex<[String]>([])
        let logger = Logger(label: "test") { _ in CapturingHandler { line in warnings.withLock { $0.append(line) } } }
        // Nobody listens at port 1.
        let configuration = try PostgresConfiguration(url: "postgresql://nobody@127.0.0.1:1/none")
        let pool = PostgresPool(configuration: configuration, logger: Stage.quiet)
        let proofs = ProofReader(pool: pool, logger: logger)
        #expect(await proofs.proof(of: SubmissionFixture.make(.receipt, "small")) == "small")
        #expect(warnings.withLock { $0 } == [])
        #expect(await proofs.proof(of: SubmissionFixture.make(.receipt, "", isClaimCheck: true)) == nil)
        #expect(warnings.withLock { $0 } == ["warning: a proof cannot be read from the database"])
        await pool.close()
    }

    @Test("Somebody is told once a minute about each app and reason, and counted every time")
    func attention() {
        let told = Mutex<[String]>([])
        let logger = Logger(label: "test") { _ in CapturingHandler { line in told.withLock { $0.append(line) } } }
        let attention = AttentionLog(logger: logger)
        for _ in 0..<5 {
            attention.raise(.answerMismatch, app: "a", "x")
            attention.raise(.answerMismatch, app: "b", "x")
            attention.raise(.appStoreUnauthorized, app: "a", "x")
        }
        #expect(told.withLock { $0 }.count == 3)
    }
}

/// Hands over what is logged.
private struct CapturingHandler: LogHandler {
    let take: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(_ take: @escaping @Sendable (String) -> Void) {
        self.take = take
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        take("\(event.level): \(event.message)")
    }
}
