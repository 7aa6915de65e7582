import Foundation
import Logging
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import VerificationWorker

/// A database that was restored to an earlier point.
@Suite("Reconciling after a restore", .enabled(if: SweepBooks.isThere, SweepBooks.missing))
struct ReconcileTests {
    @Test("a database restored to yesterday has everything back, but for whom it never knew")
    func restored() async throws {
        try await TestDatabase.withAddress { _, url in
            try await Stage.run { stage in
                try await stage.withAccess { access in
                    let store = stage.simulator
                    try await store.keepNotifications()
                    let yesterday = Date(timeIntervalSinceNow: -2 * 86_400)
                    try await store.setClock(yesterday)
                    let known = UUID()
                    var sold: [Simulator.Sold] = []
                    try await using(url) { pool in
                        let books = SweepBooks(stage: stage, pool: pool) { yesterday.addingTimeInterval(60) }
                        _ = try await pool.query(
                            "INSERT INTO account_tokens (app, token, account) VALUES ($1, $2, 'player')",
                            [.text(SubmissionFixture.app), .uuid(known)])
                        sold.append(try await store.sell("coins.100", type: "Consumable", to: "a", token: known))
                        try await books.sweep(access)
                        #expect(try await books.number("SELECT count(*) AS n FROM orders") == 1)
                    }
                    let backup = try await copy(url, as: "\(databaseName(url))_backup")
                    let restored = Date(timeIntervalSinceNow: -3 * 86_400)
                    try await store.advance("P1D")
                    try await using(url) { pool in
                        let books = SweepBooks(stage: stage, pool: pool)
                        for _ in 0..<3 {
                            sold.append(try await store.sell("coins.100", type: "Consumable", to: "a", token: known))
                        }
                        try await store.refund(sold[0])
                        // Its token is registered after the backup was made: the backup does not know whose it is.
                        let late = try await books.token(of: "late")
                        sold.append(try await store.sell("coins.100", type: "Consumable", to: "b", token: late))
                        try await store.setClock(Date())
                        try await books.hurry()
                        try await books.sweep(access)
                        #expect(try await books.orders() == books.apple(access, customersOf: sold))
                    }
                    // The disk is lost, and yesterday's backup takes its place.
                    try await using(backup) { pool in
                        try await reconcile(SweepBooks(stage: stage, pool: pool), since: restored, sold, access)
                    }
                    try await drop(backup)
                }
            }
        }
    }

    private func reconcile(
        _ books: SweepBooks, since: Date, _ sold: [Simulator.Sold], _ access: AppStoreAccess
    ) async throws {
        #expect(try await books.number("SELECT count(*) AS n FROM orders") == 1)
        let runs = SweepRunStore(pool: books.pool)
        let begun = try await runs.begin(since: since, isFull: false, actor: "anna", reason: "the disk was lost")
        #expect(begun.tasks > 0)
        #expect(try await runs.run(begun.id)?.waiting == begun.tasks)
        try await books.sweep(access)
        let run = try #require(try await runs.run())
        #expect(run.id == begun.id)
        #expect(run.waiting == 0 && run.unsettled == 0)
        #expect(
            try await books.number(
                "SELECT count(DISTINCT transaction_id) AS n FROM recoveries WHERE found_at >= $1",
                [.timestamptz(run.requestedAt)]) == 5, "four purchases and a refund")
        #expect(try await books.orders() == books.apple(access, customersOf: sold))
        let outcomes = try await runs.outcomes(since: run.requestedAt)
        let counts = outcomes.map { "\($0.count) \($0.state) \($0.reason ?? "")" }.sorted()
        #expect(counts == ["1 parked account_token_unknown", "1 revoked revoked_by_apple", "3 granted "])
        #expect(
            try await books.number("SELECT amount AS n FROM balances WHERE account = 'player' AND item = 'coin'") == 300
        )
        try await runs.finish(run.id)
        #expect(try await runs.run()?.finishedAt != nil)
        try await ConsistencyCheck(pool: books.pool).expectClean()
    }

    // MARK: - Databases

    private func using(_ url: String, _ body: (PostgresPool) async throws -> Void) async throws {
        var configuration = try PostgresConfiguration(url: url)
        configuration.poolSizeMaximum = 4
        let pool = PostgresPool(configuration: configuration, logger: Stage.quiet)
        do {
            try await body(pool)
        } catch {
            await pool.close()
            throw error
        }
        await pool.close()
    }

    private func databaseName(_ url: String) -> String {
        URLComponents(string: url)?.path.dropFirst().description ?? ""
    }

    /// A copy of a database that nobody is connected to.
    private func copy(_ url: String, as name: String) async throws -> String {
        var components = try #require(URLComponents(string: url))
        try await using(try #require(TestDatabase.url)) { admin in
            try await admin.withConnection {
                try await $0.executeScript("CREATE DATABASE \(name) TEMPLATE \(databaseName(url))")
            }
        }
        components.path = "/\(name)"
        return try #require(components.string)
    }

    private func drop(_ url: String) async throws {
        try await using(try #require(TestDatabase.url)) { admin in
            try await admin.withConnection { try await $0.executeScript("DROP DATABASE \(databaseName(url))") }
        }
    }
}
