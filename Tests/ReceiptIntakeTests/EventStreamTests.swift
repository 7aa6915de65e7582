import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import Persistence
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// An account's events as they come: resumed without a gap, bounded, and ended when they must.
@Suite(
    "Streams of events", .serialized,
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(1)))
struct EventStreamTests {
    private static let path = "/v1/accounts/player-1/events?app=\(TestIntake.app)"

    private static func with(
        settings: [String: String] = [:],
        _ body: @escaping @Sendable (TestIntake, EventRows, _ port: Int) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, setup: .live, settings: settings) { intake in
                try await body(intake, EventRows(pool: database.pool), try #require(intake.client.port))
            }
        }
    }

    @Test("a stream has what comes, and goes on from its last id without a gap or a repetition")
    func resumes() async throws {
        try await Self.with { (_, rows, port) async throws in
            let old = try await rows.tell(EventRows.draft(), EventRows.draft(account: "player-2"))
            let first = try await StreamReader.open(Self.path, port: port, token: ReadingFixture.player())
            #expect(await first.status() == "200")
            #expect(await first.has("retry: 2000\n\n"))
            #expect(first.text.lowercased().contains("content-type: text/event-stream"))
            let seen = try await rows.tell(EventRows.draft(), EventRows.draft(account: "player-2"), EventRows.draft())
            #expect(await first.events(2) == [seen[0], seen[2]])
            #expect(!first.text.contains("req_secret"), "a player's form")
            let cursors = first.cursors
            #expect(cursors.count == 2)
            try await first.close()
            let missed = try await rows.tell(EventRows.draft(), EventRows.draft())
            let header = "last-event-id: \(cursors[0])\r\n"
            let second = try await StreamReader.open(
                Self.path + "&after=now", port: port, token: ReadingFixture.player(), headers: header)
            #expect(await second.events(3) == [seen[2]] + missed)
            let later = try await rows.tell(EventRows.draft())
            #expect(await second.events(4) == [seen[2]] + missed + later)
            try await second.close()
            let whole = try await StreamReader.open(
                Self.path + "&after=", port: port, token: TestIntake.key(.read))
            #expect(await whole.events(6) == [old[0], seen[0], seen[2]] + missed + later)
            #expect(whole.text.contains("req_secret"), "the backend's form")
            try await whole.close()
        }
    }

    @Test("an account and a process have so many streams and no more, and a place is given back")
    func limits() async throws {
        let settings = ["intake.streams_maximum": "2", "intake.account_streams_maximum": "1"]
        try await Self.with(settings: settings) { (intake, _, port) async throws in
            let first = try await StreamReader.open(Self.path, port: port, token: ReadingFixture.player())
            #expect(await first.has("retry"))
            func refused(_ name: String) async throws -> TestIntake.Answer {
                try await intake.send(
                    .get, "/v1/accounts/\(name)/events?app=\(TestIntake.app)", token: TestIntake.serverKey,
                    headers: [.accept: "text/event-stream"])
            }
            let more = try await refused("player-1")
            #expect(more.status == 429 && more.slug == "streams-of-account" && more.headers[.retryAfter] != nil)
            let other = try await StreamReader.open(
                Self.path.replacing("player-1", with: "player-2"), port: port, token: TestIntake.serverKey)
            #expect(await other.has("retry"))
            let full = try await refused("player-3")
            #expect(full.status == 503 && full.slug == "streams-full" && full.headers[.retryAfter] != nil)
            try await first.close()
            while true {
                let again = try await StreamReader.open(Self.path, port: port, token: ReadingFixture.player())
                let status = await again.status()
                try await again.close()
                if status == "200" { break }
                #expect(status == "429" || status == "503", "the server has not seen yet that the first has gone")
            }
            try await other.close()
        }
    }

    @Test("a stream has heartbeats with its cursor, and ends with its token")
    func ends() async throws {
        try await Self.with(settings: ["intake.stream_heartbeat": "0.1"]) { (_, rows, port) async throws in
            var claims = TestTokens.claims("player-1")
            claims["exp"] = Int(Date().timeIntervalSince1970 - AccountClaims.clockSkewSeconds) + 2
            let reader = try await StreamReader.open(Self.path, port: port, token: TestTokens.hs256(claims))
            #expect(await reader.status() == "200")
            try await rows.tell(EventRows.draft(account: "player-2"))
            #expect(await reader.has("\n:\n\n"))
            #expect(await reader.has("0\r\n\r\n"), "the answer ends as it should")
            #expect(await reader.events(0).isEmpty)
            try await reader.close()
        }
    }

    @Test("a reader that takes nothing is dropped, and the events wait for its cursor")
    func slow() async throws {
        let settings = ["intake.stream_stall_time": "0.5", "intake.account_streams_maximum": "1"]
        try await Self.with(settings: settings) { (intake, rows, port) async throws in
            let cursor = try await intake.pull("after=now").next
            let name = String(repeating: "x", count: 200_000)
            let draft = EventRows.draft(payload: PurchaseEvent.Payload(transaction: nil, entitlements: [name]))
            for _ in 0..<10 { try await rows.write(Array(repeating: draft, count: 10)) }
            try await rows.number()
            let reader = try await StreamReader.open(
                Self.path + "&after=\(cursor)", port: port, token: ReadingFixture.player(), reads: false)
            // It reads nothing, so that it does not see the end; that its place is free says that it was dropped.
            while true {
                let next = try await StreamReader.open(Self.path, port: port, token: ReadingFixture.player())
                let status = await next.status()
                try await next.close()
                if status == "200" { break }
                #expect(status == "429")
            }
            try await reader.close()
            #expect(try await intake.pull("after=\(cursor)").events.count == 100)
        }
    }

    @Test("a process that is to stop ends its streams, and waits for none")
    func stops() async throws {
        let reader = Mutexed<StreamReader?>(nil)
        try await Self.with { (_, _, port) async throws in
            let open = try await StreamReader.open(Self.path, port: port, token: ReadingFixture.player())
            #expect(await open.has("retry"))
            reader.withLock { $0 = open }
        }
        let open = try #require(reader.withLock { $0 })
        #expect(await open.has("0\r\n\r\n"), "the answer ends as it should")
        try? await open.close()
    }
}
