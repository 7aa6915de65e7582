import Logging
import Synchronization
import Testing

@testable import EventProcessing

@Suite("A redriver", .timeLimit(.minutes(1)))
struct RedriverTests {
    private final class Counted: Sendable {
        private let state = Mutex(0)

        var value: Int { state.withLock { $0 } }

        func next() -> Int {
            state.withLock { number in
                defer { number += 1 }
                return number
            }
        }
    }

    @Test("looks again at once while more is due, and then waits for its interval or to be woken")
    func goesOn() async throws {
        let (looks, seen) = AsyncStream.makeStream(of: Int.self)
        // A batch that bytes ended, a full one, the rest, and nothing although more is said to be due.
        let rounds = [
            Redriver.Round(count: 3, isMoreDue: true), Redriver.Round(count: 10, limit: 10),
            Redriver.Round(count: 9, limit: 10), Redriver.Round(count: 0, isMoreDue: true),
        ]
        let number = Counted()
        let redriver = Redriver(
            name: "test", interval: .seconds(3_600), batchMaximum: 10,
            logger: Logger(label: "redriver") { _ in SwiftLogNoOpLogHandler() }
        ) { limit in
            #expect(limit == 10)
            let index = number.next()
            seen.yield(index)
            return index < rounds.count ? rounds[index] : Redriver.Round(count: 0, isMoreDue: false)
        }
        let running = Task { try await redriver.run() }
        var iterator = looks.makeAsyncIterator()
        for expected in 0..<3 { #expect(await iterator.next() == expected) }
        // An hour is left; each of these two looks is somebody's who wakes it.
        for expected in 3..<5 {
            redriver.wake()
            #expect(await iterator.next() == expected)
        }
        running.cancel()
        _ = try? await running.value
        #expect(number.value == 5)
    }
}
