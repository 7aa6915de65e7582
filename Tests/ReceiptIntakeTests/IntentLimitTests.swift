import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "How many purchase intents an account may open",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct IntentLimitTests {
    @Test("beyond the limit it is 429 with the time until there is room, for this account of this app only")
    func limit() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, settings: ["intake.intents_per_day": "3"]) { intake in
                let rows = IntentRows(pool: database.pool)
                for _ in 0..<3 {
                    #expect(try await intake.openIntent("p", as: IntentRows.player()).status == 201)
                }
                let refused = try await intake.openIntent("p", as: IntentRows.player())
                #expect(refused.status == 429)
                #expect(refused.slug == "intents-exhausted")
                let wait = try #require(refused.headers[.retryAfter].flatMap { Int($0) })
                #expect((86_000...86_400).contains(wait))
                let served = try await intake.openIntent("p", as: TestIntake.serverKey, account: "player-1")
                #expect(served.slug == "intents-exhausted", "whoever asks for it")
                #expect(try await intake.openIntent("p", as: IntentRows.player("player-2")).status == 201)
                let elsewhere = try await intake.openIntent(
                    "p", as: TestIntake.otherServerKey, account: "player-1", app: TestIntake.otherApp)
                #expect(elsewhere.status == 201)
                #expect(try await rows.intents().count == 5)
                #expect(try await rows.tokens().count == 5)
            }
        }
    }

    @Test("there is room again when the oldest that counts is a day old, and then for one")
    func window() async throws {
        try await TestDatabase.with { database in
            let store = IntentStore(pool: database.pool)
            let rows = IntentRows(pool: database.pool)
            func open() async throws -> IntentStore.Opening {
                try await store.open(UUID(), app: "a", account: "p", productId: "x", limit: 2)
            }
            func isOpen() async throws -> Bool {
                if case .opened = try await open() { true } else { false }
            }
            #expect(try await isOpen())
            try await rows.age("p", by: 80_000)
            #expect(try await isOpen())
            guard case .exhausted(let seconds) = try await open() else {
                Issue.record("a third was opened")
                return
            }
            #expect((1...6_400).contains(seconds))
            #expect(seconds > 6_000)
            try await rows.age("p", by: 6_400)
            #expect(try await isOpen())
            #expect(try await isOpen() == false)
            try await rows.age("p", by: 86_400)
            #expect(try await isOpen())
        }
    }

    @Test("a hundred at once of one account get no more than the limit, and each that got one has a token")
    func concurrency() async throws {
        try await TestDatabase.with { database in
            let settings = ["intake.intents_per_day": "40", "intake.account_posts_per_minute": "100000"]
            try await TestIntake.with(url: database.url, settings: settings) { intake in
                let player = try IntentRows.player()
                let answers = try await Self.atOnce(100) { _ in try await intake.openIntent("p", as: player) }
                #expect(answers.filter { $0.status == 201 }.count == 40)
                #expect(answers.filter { $0.status == 429 && $0.slug == "intents-exhausted" }.count == 60)
                let ids = Set(answers.filter { $0.status == 201 }.map(\.id))
                #expect(ids.count == 40)
                let rows = IntentRows(pool: database.pool)
                #expect(Set(try await rows.tokens()) == Set(ids.map { "\($0) \(TestIntake.app) player-1" }))
                #expect(try await rows.intents().count == 40)
            }
        }
    }

    @Test("a hundred at once of a hundred accounts, and of one below its limit, are all opened")
    func many() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                for isOne in [true, false] {
                    let answers = try await Self.atOnce(100) { number in
                        try await intake.openIntent(
                            "p", as: TestIntake.serverKey, account: isOne ? "one" : "player-\(number)")
                    }
                    #expect(answers.allSatisfy { $0.status == 201 })
                    #expect(Set(answers.map(\.id)).count == 100)
                }
                #expect(try await IntentRows(pool: database.pool).intents().count == 200)
            }
        }
    }

    @Test("a restart forgets neither intents nor how many there were")
    func restart() async throws {
        try await TestDatabase.with { database in
            let settings = ["intake.intents_per_day": "1"]
            let opened = try await TestIntake.with(url: database.url, settings: settings) { intake in
                try await intake.openIntent("p", as: IntentRows.player())
            }
            try await TestIntake.with(url: database.url, settings: settings) { intake in
                let player = try IntentRows.player()
                #expect(try await intake.intent(opened.id, as: player).text == opened.text)
                #expect(try await intake.openIntent("p", as: player).slug == "intents-exhausted")
            }
        }
    }

    @Test("the limit is a number of the configuration, and none is no number", arguments: ["0", "-1", "x", "1000001"])
    func setting(value: String) throws {
        let settings = ["postgres.url": "postgresql://a@b/c", "kafka.bootstrap_servers": "a:1", "apps.file": "x"]
        #expect(try Configuration(SettingReader(settings)).limits.intentsPerDay == 1000)
        #expect(throws: (any Error).self) {
            try Configuration(SettingReader(settings.merging(["intake.intents_per_day": value]) { $1 }))
        }
    }

    private static func atOnce(
        _ count: Int, _ body: @escaping @Sendable (Int) async throws -> TestIntake.Answer
    ) async throws -> [TestIntake.Answer] {
        try await withThrowingTaskGroup(of: TestIntake.Answer.self) { group in
            for number in 0..<count { group.addTask { try await body(number) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
