import AppStoreServerAPI
import Pacing
import ServiceRuntime
import Synchronization
import Testing

@testable import VerificationWorker

@Suite("A worker's share of Apple's limits")
struct RateShareTests {
    @Test("A worker whose group is still forming may ask: partitions that come refuse nothing until the next look")
    func beforeTheFirstPartition() async throws {
        let pace = AppStorePace(
            rates: AppStoreRates(perSecond: 10_000, share: 1), breaker: .init(), logger: Stage.quiet, probe: {})
        let (looks, looked) = AsyncStream.makeStream(of: Void.self)
        let share = RateShare.task(
            pace: pace, total: { 12 },
            assigned: {
                looked.yield()
                return 0
            }, logger: Stage.quiet)
        let running = Task { try await share.run() }
        defer { running.cancel() }
        // The second look comes after what the first one set.
        var iterator = looks.makeAsyncIterator()
        _ = await iterator.next()
        _ = await iterator.next()
        let outcome = await pace.call(.main, app: "a", priority: .player, asker: "", patience: .seconds(30)) { true }
        guard case .answer(true) = outcome else {
            Issue.record("refused: \(outcome)")
            return
        }
    }
}
