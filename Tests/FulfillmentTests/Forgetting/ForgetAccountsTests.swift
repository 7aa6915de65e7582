import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// Fulfillment takes requests up, and puts off what cannot be done yet.
@Suite("Taking up requests to forget", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct ForgetAccountsTests {
    private func status(_ id: String, _ story: ForgettingStory) async throws -> ForgetRequestStore.Status {
        try #require(try await ForgetRequestStore(pool: story.bench.pool).find(id, app: Bench.app))
    }

    private func makeDue(_ story: ForgettingStory) async throws {
        try await story.bench.pool.withConnection { connection in
            try await connection.executeScript("UPDATE forget_requests SET due_at = now() WHERE due_at IS NOT NULL")
        }
    }

    @Test func `a purchase that is under way puts a request off, and its outcome lets it go on`() async throws {
        try await ForgettingStory.with(ForgettingTests.name) { story, _ in
            let forget = ForgetAccounts(pool: story.bench.pool)
            let gems = ForgettingStory.signed("g7", product: "gems.100", token: story.token)
            let late = try await story.verdict("s-late", .genuine([gems]), by: story.name)
            let id = try await story.ask().id
            #expect(try await forget.forget(limit: 1) == 1)
            #expect(try await forget.forget(limit: 1) == 0, "it is put off")
            #expect(try await status(id, story).waitsFor == "purchases that have no outcome yet")
            try await story.bench.settle([late])
            try await makeDue(story)
            #expect(try await forget.forget(limit: 1) == 1)
            let ended = try await status(id, story)
            #expect(ended.finishedAt != nil && ended.waitsFor == nil)
            try await story.expectNoTrace()
        }
    }

    @Test func `a failure is told by the request, and the next look goes on`() async throws {
        try await ForgettingStory.with(ForgettingTests.name) { story, _ in
            let forget = ForgetAccounts(pool: story.bench.pool)
            let id = try await story.ask().id
            try await story.bench.pool.withConnection { connection in
                try await connection.executeScript(
                    "CREATE TRIGGER dies BEFORE UPDATE ON spends FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()")
            }
            await #expect(throws: PostgresError.self) { try await forget.forget(limit: 1) }
            #expect(try await status(id, story).waitsFor == "a failure: see the log of fulfillment")
            try await story.bench.pool.withConnection { connection in
                try await connection.executeScript("DROP TRIGGER dies ON spends")
            }
            try await makeDue(story)
            #expect(try await forget.forget(limit: 1) == 1)
            #expect(try await status(id, story).finishedAt != nil)
            try await story.expectNoTrace()
        }
    }
}
