import Logging
import ServiceLifecycle

/// Runs performance tests, one after the other for an app and environment, several apps at once.
///
/// A service: the call that starts a test answers at once, and the test goes on here.
struct PerformanceTester: Service {
    enum Limit {
        /// Tests that wait for their turn; a further one is refused.
        static let waiting = 64
    }

    /// A test that was started, and what each of its requests says but for the request's own UUID.
    struct Run: Sendable {
        let bundleId: String
        let test: PerformanceTest
        let request: RealtimeRequest
    }

    let store: Store
    let sender: RealtimeSender
    private let logger: Logger
    private let runs: AsyncStream<Run>
    private let waiting: AsyncStream<Run>.Continuation

    init(store: Store, sender: RealtimeSender, logger: Logger = Logger(label: "app-store-simulator")) {
        self.store = store
        self.sender = sender
        self.logger = logger
        (runs, waiting) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Limit.waiting))
    }

    /// - Returns: false when too many wait already.
    func start(_ run: Run) -> Bool {
        if case .enqueued = waiting.yield(run) { true } else { false }
    }

    func run() async throws {
        await withDiscardingTaskGroup { group in
            for await run in runs.cancelOnGracefulShutdown() {
                group.addTask { await perform(run) }
            }
            group.cancelAll()
        }
    }

    private func perform(_ run: Run) async {
        let answers = await attempt(run)
        var outcome = PerformanceTest.Outcome(responseTimes: [], failures: [:])
        for answer in answers {
            if answer.result == .success {
                outcome.responseTimes.append(answer.milliseconds)
            } else {
                outcome.failures[answer.result.rawValue, default: 0] += 1
            }
        }
        outcome.responseTimes.sort()
        var test = run.test
        test.outcome = outcome
        do {
            try await store.change { [test] state, _ in
                try state.putRetention(test, of: run.bundleId, in: run.request.environment)
            }
        } catch {
            logger.error("a performance test's result was not kept", metadata: ["error": "\(error)"])
        }
    }

    /// Sends the requests, so many at a time, and stops when the time is over.
    private func attempt(_ run: Run) async -> [RealtimeAnswer] {
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: .milliseconds(PerformanceTest.Configuration.totalDuration))
        return await withTaskGroup(of: RealtimeAnswer.self) { group in
            var answers: [RealtimeAnswer] = []
            for number in 0..<PerformanceTest.Configuration.totalRequests where clock.now < end && !Task.isCancelled {
                if number >= PerformanceTest.Configuration.maxConcurrentRequests, let answer = await group.next() {
                    answers.append(answer)
                }
                group.addTask { await send(run) }
            }
            for await answer in group { answers.append(answer) }
            return answers
        }
    }

    private func send(_ run: Run) async -> RealtimeAnswer {
        var request = run.request
        request.requestIdentifier = RealtimeRequest.newIdentifier()
        guard let signed = try? sender.sign(request) else { return RealtimeAnswer(result: .other, milliseconds: 0) }
        return await sender.post(
            signed, to: run.test.target, within: PerformanceTest.Configuration.responseTimeThreshold)
    }
}
