import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import ReceiptIntake

@Suite(
    "What is left of limits",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct RateHeadersTests {
    @Test func `every answer to a player tells what is left; a backend has no limit of reads, and hears of none`()
        async throws
    {
        try await TestDatabase.with { database in
            try await TestIntake.with(
                url: database.url, settings: ["intake.account_reads_per_minute": "6"]
            ) { intake in
                let path = "/v1/accounts/player-1?app=\(TestIntake.app)"
                let player = try ReadingFixture.player()
                for left in [5, 4] {
                    let answer = try await intake.send(.get, path, token: player)
                    #expect(answer.headers[.rateLimitPolicy] == #""reads";q=6;w=60"#)
                    #expect(answer.headers[.rateLimit]?.hasPrefix(#""reads";r=\#(left);t="#) == true)
                }
                let missing = try await intake.send(.get, "/v1/orders/1?app=\(TestIntake.app)", token: player)
                #expect(missing.status == 404 && missing.headers[.rateLimit]?.hasPrefix(#""reads";r=3;t="#) == true)
                let backend = try await intake.send(.get, path, token: TestIntake.serverKey)
                #expect(backend.status == 200 && backend.headers[.rateLimit] == nil)
            }
        }
    }

    @Test func `a post tells all the limits of which it took turns`() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let post = ["transaction_id": "2000000001"]
                let player = try await intake.post(fields: post, as: ReadingFixture.player())
                #expect(player.headers[.rateLimitPolicy] == #""posts";q=600;w=60, "ids";q=30;w=60"#)
                #expect(player.headers[.rateLimit]?.hasPrefix(#""posts";r="#) == true)
                let backend = try await intake.post(
                    fields: post.merging(["account": "a"]) { $1 }, as: TestIntake.serverKey)
                #expect(backend.headers[.rateLimitPolicy] == #""app";q=6000;w=60"#, "\(backend.text)")
            }
        }
    }

    @Test func `turns that are left grow with the time, up to those that may come at once`() throws {
        let rate = TurnRate<String>(perMinute: 60, atOnce: 10, keysMaximum: 10)
        let start = ContinuousClock.now
        #expect(rate.left("a", now: start) == TurnsLeft(count: 10, seconds: 0))
        for _ in 0..<10 { _ = try rate.take("a", now: start) }
        #expect(rate.left("a", now: start) == TurnsLeft(count: 0, seconds: 10))
        #expect(rate.left("a", now: start + .milliseconds(2_500)) == TurnsLeft(count: 2, seconds: 8))
        #expect(rate.left("a", now: start + .seconds(100)) == TurnsLeft(count: 10, seconds: 0))
    }
}
