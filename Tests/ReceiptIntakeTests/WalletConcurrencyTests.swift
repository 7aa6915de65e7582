import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import Testing

@testable import ReceiptIntake

@Suite(
    "Spending at the same time",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct WalletConcurrencyTests {
    /// Runs with two intakes, as two processes, on one database.
    private static func withTwo(
        _ body: @escaping @Sendable (TestIntake, TestIntake, WalletRows) async throws -> Void
    ) async throws {
        try await WalletRows.with { one, rows, database in
            try await TestIntake.with(url: database.url) { two in try await body(one, two, rows) }
        }
    }

    @Test("two of the same request at once are one spend, told to both, though there is enough for one only")
    func sameRequest() async throws {
        try await Self.withTwo { one, two, rows in
            try await rows.grant([("gold", 10)], to: "player-1", order: "1")
            let answers = try await rows.pool.withTransaction { connection in
                try await Self.lock("gold", on: connection)
                async let first = one.spend([("gold", 10)], key: "k")
                async let second = two.spend([("gold", 10)], key: "k")
                try await rows.untilWaiting(2)
                // Sets both free, and leaves a transaction for the pool to end.
                _ = try await connection.query("ROLLBACK AND CHAIN")
                return try await [first, second]
            }
            #expect(answers.map(\.status) == [200, 200], "\(answers.map(\.text))")
            #expect(answers[0].text == answers[1].text)
            #expect(answers.filter { $0.headers[.idempotentReplayed] == "true" }.count == 1)
            #expect(try await rows.count("spends") == 1)
            #expect(try await rows.balance("gold", of: "player-1") == 0)
        }
    }

    @Test("one key for two requests at once, of different items, is the first's")
    func sameKey() async throws {
        try await Self.withTwo { one, two, rows in
            try await rows.grant([("gold", 10), ("wood", 10)], to: "player-1", order: "1")
            let answers = try await rows.pool.withTransaction { connection in
                // Each has its balance and its row in `spends`, and waits before its lines; so one waits for the other's row.
                _ = try await connection.query("LOCK TABLE ledger_entries IN SHARE MODE")
                async let first = one.spend([("gold", 1)], key: "k")
                async let second = two.spend([("wood", 1)], key: "k")
                try await rows.untilWaiting(2)
                _ = try await connection.query("ROLLBACK AND CHAIN")
                return try await [first, second]
            }
            #expect(answers.map(\.status).sorted() == [200, 422], "\(answers.map(\.text))")
            #expect(answers.compactMap(\.slug) == ["idempotency-key-reused"])
            #expect(try await rows.count("spends") == 1)
            let gold = try #require(try await rows.balance("gold", of: "player-1"))
            let wood = try #require(try await rows.balance("wood", of: "player-1"))
            #expect(gold + wood == 19)
        }
    }

    @Test(
        "a spend locks in the order of grants, whatever order it names, so that neither waits for the other in a ring")
    func grantBatch() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("apple", 10), ("pear", 10)], to: "player-1", order: "1")
            let answer = try await rows.pool.withTransaction { connection in
                // A batch has the first of its balances; a spend that had taken the second would be a ring with it.
                try await WalletRows.grant(
                    [("apple", 1)], to: WalletRows.customer("player-1"), order: "2", on: connection)
                async let spent = intake.spend([("pear", 11), ("apple", 11)], key: "k")
                try await rows.untilWaiting(1)
                try await WalletRows.grant(
                    [("pear", 1)], to: WalletRows.customer("player-1"), order: "3", on: connection)
                _ = try await connection.query("COMMIT AND CHAIN")
                return try await spent
            }
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await rows.balance("pear", of: "player-1") == 0)
        }
    }

    @Test("crossed spends and grants of two accounts never dead-lock")
    func crossed() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let rows = WalletRows(pool: intake.pool)
                let items = ["a", "b", "c", "d"]
                for account in ["p", "q"] {
                    try await rows.grant(items.map { ($0, 10_000) }, to: account, order: "start-\(account)")
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for caller in 0..<8 {
                        group.addTask {
                            for round in 0..<15 {
                                let order = (caller + round).isMultiple(of: 2) ? items : items.reversed()
                                let account = caller.isMultiple(of: 2) ? "p" : "q"
                                if caller < 6 {
                                    let answer = try await intake.spend(
                                        order.map { ($0, 1) }, of: account, key: "\(caller)-\(round)")
                                    #expect(answer.status == 200, "\(answer.text)")
                                } else {
                                    try await rows.grant(
                                        order.map { ($0, 1) }, to: account, order: "\(caller)-\(round)")
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await rows.balance("a", of: "p") == 10_000 - 45 + 15)
            }
            // Connections tell their counts when they end: those of the intake have.
            let result = try await database.pool.query(
                "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
            #expect(try #require(result.rows.first).decode("deadlocks", as: Int64.self) == 0)
        }
    }

    @inline(never)
    private static func lock(_ item: String, on connection: PostgresConnection) async throws {
        _ = try await connection.query("SELECT 1 FROM balances WHERE item = $1 FOR UPDATE", [.text(item)])
    }
}
