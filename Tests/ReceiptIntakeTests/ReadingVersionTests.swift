import Foundation
import HTTPTypes
import HummingbirdTesting
import Logging
import Persistence
import PurchaseModel
import ServiceLifecycle
import Testing

@testable import ReceiptIntake

@Suite("Waiting for a version", .timeLimit(.minutes(1)))
struct ReadingVersionTests {
    private static let customer = Customer(
        environment: .production, app: TestIntake.app, account: Account(stored: "player"))
    private static let long = Duration.seconds(600)

    @Test("a wait ends when the version is there, and has looked before")
    func ends() async throws {
        let looks = Mutexed<Int64>(0)
        let waits = VersionWaits { _ in
            looks.withLock { looks in
                looks += 1
                return looks
            }
        }
        try await waits.wait(for: Self.customer, atLeast: 3, within: Self.long, connection: nil)
        #expect(looks.withLock { $0 } == 3)
        #expect(waits.count == 0)
    }

    @Test("a wait ends by its time")
    func time() async throws {
        let waits = VersionWaits { _ in 0 }
        try await waits.wait(for: Self.customer, atLeast: 1, within: .milliseconds(5), connection: nil)
        #expect(waits.count == 0)
    }

    @Test("a wait ends by cancellation, and leaves its place")
    func cancellation() async throws {
        let (looked, look) = AsyncStream<Void>.makeStream()
        let waits = VersionWaits { _ in
            look.yield()
            return 0
        }
        let task = Task { try await waits.wait(for: Self.customer, atLeast: 1, within: Self.long, connection: nil) }
        for await _ in looked { break }
        #expect(waits.count == 1)
        task.cancel()
        _ = await task.result
        #expect(waits.count == 0)
    }

    @Test("a wait ends when the process is to stop")
    func shutdown() async throws {
        let (looked, look) = AsyncStream<Void>.makeStream()
        let waits = VersionWaits { _ in
            look.yield()
            return 0
        }
        let waiting = WaitingService(waits: waits)
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: waiting, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })))
        async let run: Void = group.run()
        for await _ in looked { break }
        await group.triggerGracefulShutdown()
        try await run
        #expect(waits.count == 0)
    }

    private struct WaitingService: Service {
        let waits: VersionWaits

        func run() async throws {
            try await waits.wait(for: customer, atLeast: 1, within: long, connection: nil)
        }
    }

    @Test("beyond the limit nobody waits, and nobody looks for who does not wait")
    func limit() async throws {
        let looks = Mutexed(0)
        let waits = VersionWaits(waitersMaximum: 0) { _ in
            looks.withLock { $0 += 1 }
            return 0
        }
        try await waits.wait(for: Self.customer, atLeast: 1, within: Self.long, connection: nil)
        try await VersionWaits { _ in
            looks.withLock { $0 += 1 }
            return 0
        }.wait(for: Self.customer, atLeast: 1, within: .zero, connection: nil)
        #expect(looks.withLock { $0 } == 0)
    }

    @Test("what the database says goes to the caller")
    func failure() async throws {
        struct Failure: Error {}
        let waits = VersionWaits { _ in throw Failure() }
        await #expect(throws: Failure.self) {
            try await waits.wait(for: Self.customer, atLeast: 1, within: Self.long, connection: nil)
        }
        #expect(waits.count == 0)
    }

    @Test(
        "a reader that has heard of an event reads its effects, or hears how far the account is",
        .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment))
    func readYourWrites() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, setup: .live) { intake in
                let rows = ReadingFixture(pool: database.pool)
                try await rows.setVersion(4, of: "player-1")
                let path = "/v1/accounts/player-1?app=\(TestIntake.app)&at_least="
                let there = try await intake.send(.get, path + "4", token: TestIntake.serverKey)
                #expect(there.status == 200)
                for wait in ["", "&wait=1"] {
                    let early = try await intake.send(.get, "\(path)5\(wait)", token: TestIntake.serverKey)
                    #expect(early.status == 409)
                    #expect(early.slug == "version-not-reached")
                    #expect(early.fields["version"] as? String == "4")
                    #expect(early.headers[.retryAfter] == "1")
                }
                async let answer = intake.send(.get, path + "6&wait=30", token: TestIntake.serverKey)
                try await rows.setVersion(5, of: "player-1")
                try await rows.setVersion(6, of: "player-1")
                let reached = try await answer
                #expect(reached.status == 200)
                #expect(reached.fields["version"] as? Int == 6)
            }
        }
    }
}
