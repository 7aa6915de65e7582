import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel
import ServiceLifecycle
import Synchronization
import Testing

@testable import ReceiptIntake

/// A store whose commits a test can hold back and count.
private final class FakeStore: Sendable {
    struct State {
        var batches: [[String]] = []
        var proofBytes: [Int] = []
        var rows: Set<String> = []
        var isHeld = false
        /// Whether commits happen and their answers are lost.
        var losesAnswers = false
        var held: [CheckedContinuation<Void, Never>] = []
        var inFlight = 0
        var inFlightMost = 0
    }

    let state = Mutex(State())
    let arrivals = AsyncStream.makeStream(of: Int.self)
    let failure: @Sendable ([String]) -> (any Error)?

    init(isHeld: Bool = false, failure: @escaping @Sendable ([String]) -> (any Error)? = { _ in nil }) {
        self.failure = failure
        state.withLock { $0.isHeld = isHeld }
    }

    func accept(
        _ submissions: [SubmissionStore.NewSubmission]
    ) async throws -> (new: Set<String>, existing: [String: SubmissionStore.Status]) {
        let ids = submissions.map(\.message.submissionId)
        await withCheckedContinuation { continuation in
            let passes = state.withLock { state in
                state.batches.append(ids)
                state.proofBytes += submissions.map(\.message.proof.utf8.count)
                state.inFlight += 1
                state.inFlightMost = max(state.inFlightMost, state.inFlight)
                if state.isHeld { state.held.append(continuation) }
                return !state.isHeld
            }
            arrivals.continuation.yield(ids.count)
            if passes { continuation.resume() }
        }
        defer { state.withLock { $0.inFlight -= 1 } }
        if let error = failure(ids) { throw error }
        let (new, isLost) = state.withLock { state in
            let new = Set(ids).subtracting(state.rows)
            state.rows.formUnion(new)
            return (new, state.losesAnswers)
        }
        if isLost { throw PostgresError(code: .connectionLost, reason: "the server died") }
        let known = submissions.filter { !new.contains($0.message.submissionId) }.map(\.message)
        let existing = known.map { message in
            let status = SubmissionStore.Status(
                account: message.account, app: message.app, kind: message.kind, receivedAt: Date())
            return (message.submissionId, status)
        }
        return (new, Dictionary(uniqueKeysWithValues: existing))
    }

    /// Lets all commits that wait, and all later ones, go through.
    func release() {
        let held = state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }
}

@Suite("Group commit", .timeLimit(.minutes(1)))
struct SubmissionBatcherTests {
    private func submission(
        _ id: String, proof: String = "a.b.c", isAwaited: Bool = false
    ) -> SubmissionStore.NewSubmission {
        SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: id, app: "app", account: "account", kind: .signedTransaction, proof: proof, attempt: 0,
                correlationId: "req", isAwaited: isAwaited), partitionKey: "1")
    }

    private func withBatcher<Value: Sendable>(
        _ store: FakeStore, queueMaximum: Int = 10_000, queueBytesMaximum: Int = 64 << 20,
        onAccepted: @escaping @Sendable ([SubmissionStore.NewSubmission]) -> Void = { _ in },
        _ body: @Sendable (SubmissionBatcher) async throws -> Value
    ) async throws -> Value {
        let batcher = SubmissionBatcher(
            queueMaximum: queueMaximum, queueBytesMaximum: queueBytesMaximum,
            accept: { try await store.accept($0) }, onAccepted: onAccepted)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await batcher.run() }
            let value = try await body(batcher)
            group.cancelAll()
            return value
        }
    }

    @Test("requests that come during a commit share the next one, at most two are under way, at most 500 in each")
    func sharesCommits() async throws {
        let store = FakeStore(isHeld: true)
        try await withBatcher(store) { batcher in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                var arrivals = store.arrivals.stream.makeAsyncIterator()
                for number in 0..<2 {
                    group.addTask { try await batcher.submit(submission("first-\(number)")).isNew }
                    _ = await arrivals.next()
                }
                for number in 0..<1200 {
                    group.addTask { try await batcher.submit(submission("more-\(number)")).isNew }
                }
                while batcher.waitingCount < 1200 { await Task.yield() }
                store.release()
                let new = try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                #expect(new == 1202)
            }
        }
        let (sizes, most) = store.state.withLock { ($0.batches.map(\.count), $0.inFlightMost) }
        #expect(sizes.sorted() == [1, 1, 200, 500, 500])
        #expect(most == 2)
    }

    @Test("the same id twice in a batch is one row, one publication, and two answers")
    func sameIdTwice() async throws {
        let store = FakeStore(isHeld: true)
        let published = Mutex<[String]>([])
        try await withBatcher(
            store,
            onAccepted: { rows in published.withLock { $0 += rows.map(\.message.submissionId) } }
        ) { batcher in
            try await withThrowingTaskGroup(of: Void.self) { group in
                var arrivals = store.arrivals.stream.makeAsyncIterator()
                for number in 0..<2 {
                    group.addTask { _ = try await batcher.submit(submission("busy-\(number)")) }
                    _ = await arrivals.next()
                }
                for _ in 0..<10 { group.addTask { _ = try await batcher.submit(submission("same")) } }
                while batcher.waitingCount < 10 { await Task.yield() }
                store.release()
                try await group.waitForAll()
            }
            _ = try await batcher.submit(submission("same"))
        }
        #expect(store.state.withLock { $0.batches.filter { $0.contains("same") } } == [["same"], ["same"]])
        #expect(published.withLock { $0.filter { $0 == "same" }.count } == 1)
    }

    @Test("beyond the queue's limit a request is refused at once, and the others are still written")
    func refusesWhenFull() async throws {
        let store = FakeStore(isHeld: true)
        try await withBatcher(store, queueMaximum: 3) { batcher in
            try await withThrowingTaskGroup(of: Void.self) { group in
                var arrivals = store.arrivals.stream.makeAsyncIterator()
                for number in 0..<2 {
                    group.addTask { _ = try await batcher.submit(submission("busy-\(number)")) }
                    _ = await arrivals.next()
                }
                for number in 0..<3 { group.addTask { _ = try await batcher.submit(submission("queued-\(number)")) } }
                while batcher.waitingCount < 3 { await Task.yield() }
                await #expect(throws: IntakeOverloadedError.self) { try await batcher.submit(submission("late")) }
                store.release()
                try await group.waitForAll()
            }
        }
        #expect(store.state.withLock { $0.rows.count } == 5)
    }

    @Test("beyond the queue's bytes a request is refused at once, and the rows of a commit are bounded in bytes too")
    func boundsBytes() async throws {
        let store = FakeStore(isHeld: true)
        let megabyte = String(repeating: "x", count: 1 << 20)
        try await withBatcher(store, queueBytesMaximum: 20 << 20) { batcher in
            try await withThrowingTaskGroup(of: Void.self) { group in
                var arrivals = store.arrivals.stream.makeAsyncIterator()
                for number in 0..<2 {
                    group.addTask { _ = try await batcher.submit(submission("busy-\(number)")) }
                    _ = await arrivals.next()
                }
                for number in 0..<20 {
                    group.addTask { _ = try await batcher.submit(submission("large-\(number)", proof: megabyte)) }
                }
                while batcher.waitingCount < 20 { await Task.yield() }
                await #expect(throws: IntakeOverloadedError.self) { try await batcher.submit(submission("late")) }
                store.release()
                try await group.waitForAll()
            }
            _ = try await batcher.submit(submission("there is room again", proof: megabyte))
        }
        let sizes = store.state.withLock { $0.batches.map(\.count) }
        #expect(sizes.reduce(0, +) == 23)
        #expect(sizes.max() == 8)
    }

    @Test("what is to be sent says that a caller waits, whichever of two equal posts came from it", arguments: [0, 1])
    func awaitedTwin(awaited: Int) async throws {
        let store = FakeStore(isHeld: true)
        let published = Mutex<[SubmissionMessage]>([])
        try await withBatcher(
            store, onAccepted: { rows in published.withLock { $0 += rows.map(\.message) } }
        ) { batcher in
            try await withThrowingTaskGroup(of: Void.self) { group in
                var arrivals = store.arrivals.stream.makeAsyncIterator()
                for number in 0..<2 {
                    group.addTask { _ = try await batcher.submit(submission("busy-\(number)")) }
                    _ = await arrivals.next()
                }
                for number in 0..<2 {
                    group.addTask {
                        _ = try await batcher.submit(submission("same", isAwaited: number == awaited))
                    }
                    while batcher.waitingCount <= number { await Task.yield() }
                }
                store.release()
                try await group.waitForAll()
            }
        }
        #expect(published.withLock { $0.filter { $0.submissionId == "same" }.map(\.isAwaited) } == [true])
    }

    @Test("a proof that is too large for a message is written whole, and sent as a claim check")
    func claimCheck() async throws {
        let store = FakeStore()
        let published = Mutex<[SubmissionMessage]>([])
        let limit = SubmissionStore.messageProofBytesMaximum
        try await withBatcher(
            store, onAccepted: { rows in published.withLock { $0 += rows.map(\.message) } }
        ) { batcher in
            for bytes in [limit, limit + 1] {
                _ = try await batcher.submit(submission("\(bytes)", proof: String(repeating: "x", count: bytes)))
            }
        }
        #expect(store.state.withLock { $0.proofBytes } == [limit, limit + 1])
        #expect(published.withLock { $0.map(\.isClaimCheck) } == [false, true])
        #expect(published.withLock { $0.map(\.proof.utf8.count) } == [limit, 0])
    }

    @Test("a row that the database never takes fails alone")
    func poisonFailsAlone() async throws {
        let store = FakeStore(isHeld: true) { ids in
            ids.contains("poison") ? PostgresError(code: .statementFailed, reason: "no", sqlState: "22021") : nil
        }
        try await withBatcher(store) { batcher in
            try await withThrowingTaskGroup(of: String?.self) { group in
                var arrivals = store.arrivals.stream.makeAsyncIterator()
                for number in 0..<2 {
                    group.addTask {
                        _ = try await batcher.submit(submission("busy-\(number)")); return nil
                    }
                    _ = await arrivals.next()
                }
                for id in ["one", "poison", "two"] {
                    group.addTask {
                        do { _ = try await batcher.submit(submission(id)) } catch is PostgresError { return id }
                        return nil
                    }
                }
                while batcher.waitingCount < 3 { await Task.yield() }
                store.release()
                let failed = try await group.reduce(into: [String]()) { $0 += $1.map { [$0] } ?? [] }
                #expect(failed == ["poison"])
            }
        }
        #expect(store.state.withLock { $0.rows } == ["busy-0", "busy-1", "one", "two"])
    }

    @Test("an unreachable database fails a batch once, and nothing is published")
    func unreachableDatabase() async throws {
        let store = FakeStore { _ in PostgresError(code: .connectionFailed, reason: "down") }
        try await withBatcher(store, onAccepted: { _ in Issue.record("published what was not written") }) { batcher in
            let error = await #expect(throws: PostgresError.self) { try await batcher.submit(submission("a")) }
            #expect(error?.code == .connectionFailed)
        }
        #expect(store.state.withLock { $0.batches.count } == 1)
    }

    @Test("a row whose commit lost its answer is sent when it is posted again, once")
    func lostAnswer() async throws {
        let store = FakeStore()
        let published = Mutex<[String]>([])
        try await withBatcher(
            store, onAccepted: { rows in published.withLock { $0 += rows.map(\.message.submissionId) } }
        ) { batcher in
            store.state.withLock { $0.losesAnswers = true }
            await #expect(throws: PostgresError.self) { try await batcher.submit(submission("a")) }
            store.state.withLock { $0.losesAnswers = false }
            #expect(published.withLock { $0 } == [])
            for _ in 0..<2 {
                let again = try await batcher.submit(submission("a"))
                #expect(!again.isNew)
            }
            #expect(published.withLock { $0 } == ["a"])
        }
    }

    @Test("commits in doubt are remembered up to a maximum")
    func doubtIsBounded() {
        let doubtful = DoubtfulCommits(maximum: 3)
        doubtful.add(["a", "b"])
        doubtful.add(["c", "d"])
        #expect(doubtful.settle(["a", "c", "d", "e"]) == ["c", "d"])
        #expect(doubtful.settle(["c"]) == [])
        doubtful.add(["a", "b", "c", "d"])
        #expect(doubtful.settle(["a", "b", "c", "d"]).count == 3)
    }

    @Test("what was taken in is written when the process stops, and what comes later is refused")
    func drains() async throws {
        let store = FakeStore(isHeld: true)
        let batcher = SubmissionBatcher(
            queueMaximum: 100, accept: { try await store.accept($0) }, onAccepted: { _ in })
        try await withThrowingTaskGroup(of: Void.self) { group in
            let running = Task { try await batcher.run() }
            var arrivals = store.arrivals.stream.makeAsyncIterator()
            for number in 0..<2 {
                group.addTask { _ = try await batcher.submit(submission("busy-\(number)")) }
                _ = await arrivals.next()
            }
            for number in 0..<5 { group.addTask { _ = try await batcher.submit(submission("queued-\(number)")) } }
            while batcher.waitingCount < 5 { await Task.yield() }
            running.cancel()
            await #expect(throws: IntakeOverloadedError.self) { try await batcher.submit(submission("late")) }
            store.release()
            try await group.waitForAll()
            try await running.value
        }
        #expect(store.state.withLock { $0.rows.count } == 7)
    }
}
