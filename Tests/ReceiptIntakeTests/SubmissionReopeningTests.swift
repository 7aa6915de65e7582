import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel
import Testing

@Suite(
    "Submissions that Apple did not know",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct SubmissionReopeningTests {
    private static let notFound = SubmissionOutcome(state: .rejected, finish: false, reason: .transactionNotFound)

    private func submission(
        _ id: String, _ kind: ProofKind = .transactionId, proof: String = "2000000123", named: String? = nil,
        app: String = "app", account: String = "account", isServer: Bool = false
    ) -> SubmissionStore.NewSubmission {
        SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: id, app: app, account: account, kind: kind, proof: proof, attempt: 0,
                correlationId: "req", namedTransactionId: named), partitionKey: "key", isServer: isServer)
    }

    private func claim(_ store: SubmissionStore, _ pool: PostgresPool) async throws -> [SubmissionMessage] {
        _ = try await pool.query(
            "UPDATE submissions SET due_at = now() - interval '1 second' WHERE state = 'received'")
        return try await store.claimDue(limit: 500, lease: .seconds(60), leaseMaximum: .seconds(600)).submissions
            .map(\.message)
    }

    private func putOff(_ id: String, _ reason: ReasonCode, _ pool: PostgresPool) async throws {
        try await pool.withTransaction { connection in
            try await SubmissionStore.putOff([(id: id, reason: reason, delay: .seconds(30))], on: connection)
        }
    }

    private func settle(
        _ id: String, _ outcome: SubmissionOutcome = notFound, ago: Int = 0, _ pool: PostgresPool
    ) async throws {
        try await pool.withTransaction { connection in
            try await SubmissionStore.settle([SettlementMessage(submissionId: id, outcome: outcome)], on: connection)
            _ = try await connection.query(
                "UPDATE submissions SET settled_at = now() - $2 * interval '1 second' WHERE id = $1",
                [.text(id), .int8(Int64(ago))])
        }
    }

    @Test("count real answers, one of each sending, and carry the count and its age")
    func counts() async throws {
        try await TestDatabase.with { database in
            let (pool, store) = (database.pool, SubmissionStore(pool: database.pool))
            _ = try await store.accept([submission("a")], lease: .seconds(60))
            // The verdict of the first sending, delivered twice.
            for _ in 0..<2 { try await putOff("a", .transactionNotFound, pool) }
            _ = try await pool.query("UPDATE submissions SET first_not_found_at = now() - interval '100 seconds'")
            let second = try #require(try await claim(store, pool).first)
            #expect(second.notFound?.count == 1)
            #expect((100...200).contains(second.notFound?.seconds ?? 0))
            for reason in [ReasonCode.rateLimited, .appStoreUnavailable, .noVerdict] {
                try await putOff("a", reason, pool)
                #expect(try await claim(store, pool).first?.notFound?.count == 1)
            }
            // An order's id counts like a transaction's.
            try await putOff("a", .orderNotFound, pool)
            let last = try #require(try await claim(store, pool).first)
            #expect(last.notFound?.count == 2 && last.attempt == 5)
            #expect((last.notFound?.seconds ?? 0) >= 100, "since the first")
        }
    }

    @Test("have no count before Apple answered")
    func noCount() async throws {
        try await TestDatabase.with { database in
            let store = SubmissionStore(pool: database.pool)
            _ = try await store.accept([submission("a")], lease: .seconds(60))
            try await putOff("a", .rateLimited, database.pool)
            #expect(try await claim(store, database.pool).map(\.notFound) == [nil])
        }
    }

    @Test("are judged anew when they are posted again, at a pace that doubles up to an hour; the counters begin anew")
    func pace() async throws {
        try await TestDatabase.with { database in
            let (pool, store) = (database.pool, SubmissionStore(pool: database.pool))
            let post = submission("a")
            _ = try await store.accept([post], lease: .seconds(60))
            for seconds in [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600] {
                try await putOff("a", .transactionNotFound, pool)
                try await settle("a", Self.notFound, ago: seconds - 5, pool)
                let early = try await store.accept([post], lease: .seconds(60))
                #expect(early.new == [] && early.existing["a"]?.outcome == Self.notFound, "\(seconds)")
                _ = try await pool.query("UPDATE submissions SET settled_at = settled_at - interval '5 seconds'")
                let late = try await store.accept([post], lease: .seconds(60))
                #expect(late.new == ["a"], "\(seconds)")
                let status = try #require(late.existing["a"])
                #expect(status.outcome == nil && status.wasNotFound)
                #expect(try await store.statuses(of: ["a"])["a"]?.wasNotFound == true)
                let sent = try #require(try await claim(store, pool).first)
                #expect(sent.notFound == nil && sent.attempt == 1)
            }
        }
    }

    @Test("are opened once, however many posts come at once")
    func concurrentPosts() async throws {
        try await TestDatabase.with { database in
            let store = SubmissionStore(pool: database.pool)
            let posts = (0..<20).map { submission("\($0)") }
            _ = try await store.accept(posts, lease: .seconds(60))
            for post in posts { try await settle(post.message.submissionId, ago: 60, database.pool) }
            let opened = try await withThrowingTaskGroup(of: [String].self) { group in
                for turn in 0..<8 {
                    let posts = turn % 2 == 0 ? posts : posts.reversed()
                    group.addTask { Array(try await store.accept(posts, lease: .seconds(60)).new) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(opened.sorted() == posts.map(\.message.submissionId).sorted())
        }
    }

    @Test("are judged anew whatever they were rejected for, when the same is posted again in time")
    func everyRejection() async throws {
        try await TestDatabase.with { database in
            let (pool, store) = (database.pool, SubmissionStore(pool: database.pool))
            let rejected: [(kind: ProofKind, reason: String)] = [
                (.orderId, "order_not_found"), (.signedTransaction, "root_not_trusted"),
                (.signedTransaction, "certificate_denied"), (.receipt, "receipt_malformed"),
                (.receipt, "receipt_without_purchases"), (.transactionId, "sandbox_refused"),
                (.serverNotification, "certificate_revoked"),
            ]
            let posts = rejected.indices.map { submission("\($0)", rejected[$0].kind, proof: "proof-\($0)") }
            _ = try await store.accept(posts, lease: .seconds(60))
            for (index, rejection) in rejected.enumerated() {
                let reason = ReasonCode(rawValue: rejection.reason)
                try await settle(
                    "\(index)", .init(state: .rejected, finish: false, reason: reason), ago: 55, pool)
            }
            #expect(try await store.accept(posts, lease: .seconds(60)).new == [], "not before its time")
            _ = try await pool.query("UPDATE submissions SET settled_at = settled_at - interval '5 seconds'")
            let again = try await store.accept(posts, lease: .seconds(60))
            #expect(again.new.count == posts.count)
            #expect(again.existing.values.allSatisfy { $0.outcome == nil })
        }
    }

    @Test("whose proof retention has dropped get it back by the same post, and are judged anew by it")
    func droppedProof() async throws {
        try await TestDatabase.with { database in
            let (pool, store) = (database.pool, SubmissionStore(pool: database.pool))
            let posts = [
                submission("signed", .signedTransaction, proof: "e30.e30.c2ln"),
                submission("receipt", .receipt, proof: "MIIB"),
            ]
            _ = try await store.accept(posts, lease: .seconds(60))
            let refused = SubmissionOutcome(
                state: .rejected, finish: false, reason: ReasonCode(rawValue: "certificate_denied"))
            for post in posts { try await settle(post.message.submissionId, refused, ago: 7_200, pool) }
            #expect(try await store.removeRejectedProofs(olderThan: .seconds(3_600), limit: 10).removed == 2)
            let dropped = try await pool.withTransaction { connection in
                try await connection.query("SELECT count(*)::int8 AS n FROM submission_proofs").rows.first?
                    .decode("n", as: Int64.self)
            }
            #expect(dropped == 0)
            #expect(Set(try await store.accept(posts, lease: .seconds(60)).new) == ["signed", "receipt"])
            let sent = try await claim(store, pool)
            #expect(Set(sent.map(\.proof)) == ["e30.e30.c2ln", "MIIB"])
        }
    }

    @Test("keep their outcome when they were rejected for good, or fulfilled")
    func otherOutcomes() async throws {
        try await TestDatabase.with { database in
            let (pool, store) = (database.pool, SubmissionStore(pool: database.pool))
            let outcomes = [
                SubmissionOutcome(state: .rejected, finish: true, reason: .belongsToAnotherAccount),
                SubmissionOutcome(state: .fulfilled, finish: true),
                SubmissionOutcome(state: .parked, finish: false, reason: .possessionUnproven),
            ]
            let posts = outcomes.indices.map { submission("\($0)") }
            _ = try await store.accept(posts, lease: .seconds(60))
            for (index, outcome) in outcomes.enumerated() { try await settle("\(index)", outcome, ago: 7_200, pool) }
            let again = try await store.accept(posts, lease: .seconds(60))
            #expect(again.new == [])
            for (index, outcome) in outcomes.enumerated() {
                #expect(again.existing["\(index)"]?.outcome == outcome)
            }
        }
    }

    @Test("a server's post makes a player's submission the server's; what waited for a proof is judged anew at once")
    func serverPosts() async throws {
        try await TestDatabase.with { database in
            let (pool, store) = (database.pool, SubmissionStore(pool: database.pool))
            let unproven = SubmissionOutcome(state: .parked, finish: false, reason: .possessionUnproven)
            let doubtful = SubmissionOutcome(state: .parked, finish: true, reason: .productUnknown)
            _ = try await store.accept([submission("a"), submission("b"), submission("c")], lease: .seconds(60))
            try await settle("a", unproven, pool)
            try await settle("b", doubtful, pool)
            let posted = try await store.accept(
                ["a", "b", "c"].map { submission($0, isServer: true) }, lease: .seconds(60))
            #expect(posted.new == ["a"])
            #expect(posted.existing["b"]?.outcome == doubtful)
            let rows = try await pool.withConnection {
                try await SubmissionStore.rows(of: ["a", "b", "c", "nobody"], on: $0)
            }
            #expect(rows.mapValues(\.isServer) == ["a": true, "b": true, "c": true])
            #expect(rows.mapValues(\.state) == ["a": .received, "b": .parked, "c": .received])
            _ = try await store.accept([submission("a")], lease: .seconds(60))
            #expect(try await store.statuses(of: ["a"])["a"]?.isServer == true, "a player's post takes nothing back")
        }
    }

    @Test("are due at once when an order of the transaction appears that they named")
    func orderAppears() async throws {
        try await TestDatabase.with { database in
            let (pool, store) = (database.pool, SubmissionStore(pool: database.pool))
            let receipt = String(repeating: "A", count: 300)
            let posts = [
                submission("bare"), submission("named", .receipt, proof: receipt, named: "2000000123"),
                submission("lacking", .receipt, proof: receipt, named: "2000000124"),
                submission("other-id", proof: "2000000125"), submission("other-app", app: "other"),
                submission("waiting"), submission("unnamed", .receipt, proof: receipt),
            ]
            _ = try await store.accept(posts, lease: .seconds(60))
            for id in ["bare", "named", "other-id", "other-app", "unnamed"] {
                try await settle(id, Self.notFound, pool)
            }
            try await settle(
                "lacking", .init(state: .rejected, finish: false, reason: .transactionNotInReceipt), pool)
            let opened = try await pool.withTransaction { connection in
                try await SubmissionStore.reopen(
                    naming: [("app", "2000000123"), ("app", "2000000124"), ("app", "2000000123"), ("app", "7")],
                    on: connection)
            }
            #expect(opened == 3)
            let none = try await pool.withTransaction { try await SubmissionStore.reopen(naming: [], on: $0) }
            #expect(none == 0)
            let due = try await store.claimDue(limit: 10, lease: .seconds(60), leaseMaximum: .seconds(60))
            #expect(Set(due.submissions.map(\.message.submissionId)) == ["bare", "named", "lacking"])
            let states = try await pool.withConnection {
                try await SubmissionStore.rows(of: posts.map(\.message.submissionId), on: $0).mapValues(\.state)
            }
            #expect(Set(states.filter { $0.value == .rejected }.keys) == ["other-id", "other-app", "unnamed"])
        }
    }

    @Test("are found by their index: the table is not read")
    func index() async throws {
        try await TestDatabase.with { database in
            let pool = database.pool
            try await pool.withConnection { connection in
                try await connection.executeScript(
                    """
                    INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof, state, reason,
                        outcome, settled_at)
                    SELECT 'sub_' || n, 'app', 'b', 'transaction_id', 'k', 'r', n::text,
                        CASE WHEN n % 100 = 0 THEN 'rejected' ELSE 'fulfilled' END, 'transaction_not_found', '{}', now()
                    FROM generate_series(1, 20000) AS n;
                    ANALYZE submissions
                    """)
            }
            func scans(_ relation: String) async throws -> Int64 {
                try await pool.withConnection { connection in
                    _ = try await connection.query("SELECT pg_stat_force_next_flush()")
                    let result = try await connection.query(
                        "SELECT pg_stat_get_numscans($1::regclass) AS n", [.text(relation)])
                    return try #require(result.rows.first).decode("n")
                }
            }
            let before = (table: try await scans("submissions"), index: try await scans("submissions_not_found"))
            let opened = try await pool.withTransaction { connection in
                let opened = try await SubmissionStore.reopen(
                    naming: [("app", "700"), ("app", "701")], on: connection)
                _ = try await connection.query("SELECT pg_stat_force_next_flush()")
                return opened
            }
            #expect(opened == 1)
            #expect(try await scans("submissions_not_found") > before.index)
            #expect(try await scans("submissions") == before.table)
        }
    }

    @Test("do not look as old as their first post: whoever posts an old number again wakes nobody")
    func age() async throws {
        try await TestDatabase.with { database in
            let (pool, store) = (database.pool, SubmissionStore(pool: database.pool))
            _ = try await store.accept([submission("a")], lease: .seconds(60))
            _ = try await pool.query("UPDATE submissions SET received_at = now() - interval '30 days'")
            #expect(try await SubmissionStore(pool: pool).raiseAlarms(olderThan: .seconds(3_600), limit: 10).count == 1)
            try await settle("a", Self.notFound, ago: 60, pool)
            #expect(try await store.accept([submission("a")], lease: .seconds(60)).new == ["a"])
            let oldest = try #require(try await store.oldestUnsettled())
            #expect(Date().timeIntervalSince(oldest) < 3_600)
            #expect(try await BacklogStore(pool: pool).oldestUnsettledSeconds() ?? .infinity < 3_600)
            let alarms = SubmissionStore(pool: pool)
            #expect(try await alarms.alarmed() == [])
            #expect(try await alarms.raiseAlarms(olderThan: .seconds(3_600), limit: 10) == [])
            #expect(try await alarms.raiseAlarms(olderThan: .zero, limit: 10).count == 1, "it has its alarm again")
        }
    }
}
