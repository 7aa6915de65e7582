import Logging
import Persistence
import Postgres

/// Writes down what attempts led to: those that ended together in one statement, and one for each of the ways that they came.
///
/// First how the endpoints fare, since whether a delivery is given up depends on that.
struct DeliveryRecorder {
    /// How long ended attempts wait for others that are under way, to be recorded in one statement.
    private static let gatherTime = Duration.milliseconds(3)

    private let store: DeliveryStore
    private let queue: DeliveryQueue
    private let report: AttemptReport
    private let clock = ContinuousClock()
    private var health: EndpointHealth
    /// While writing fails it grows to the queue's maximum at most.
    private var unrecorded: [DeliveryInbox.Finished] = []
    /// Whether it has waited once for more to record.
    private var hasGathered = false

    init(pool: PostgresPool, queue: DeliveryQueue, settings: DeliverySettings, report: AttemptReport, logger: Logger) {
        store = DeliveryStore(pool: pool)
        self.queue = queue
        self.report = report
        health = EndpointHealth(store: EndpointStore(pool: pool), settings: settings, logger: logger)
    }

    /// Takes in what has ended.
    mutating func add(_ finished: [DeliveryInbox.Finished]) {
        unrecorded += finished
    }

    /// Waits once, and briefly, while other attempts are under way, so that a statement records many.
    ///
    /// - Returns: whether it has waited, and there may be more to record.
    mutating func gather(isIdle: Bool) async -> Bool {
        guard !unrecorded.isEmpty, !isIdle, !hasGathered else {
            hasGathered = false
            return false
        }
        hasGathered = true
        try? await Task.sleep(for: Self.gatherTime)
        return true
    }

    /// Writes down all that it has.
    ///
    /// - Parameter dueDates: gets when what was not taken falls due.
    /// - Throws: `PostgresError`; what was not written is tried again, unless that would fail for ever.
    mutating func record(_ dueDates: inout DueDates) async throws {
        guard !unrecorded.isEmpty else { return }
        let finished = unrecorded
        do {
            let disabled = try await health.note(finished)
            queue.withBoard { board in
                for id in disabled { board.disable(id) }
            }
            // Each part is done with once it is written: where an order's lock is held up, the others' are not written again.
            try await writeFirst(FirstAttempts(finished), &dueDates)
            try await write(finished.filter { $0.claim == nil && !$0.isOrdered }, &dueDates)
            try await writeInOrder(finished.filter(\.isOrdered), &dueDates)
        } catch let error as PostgresError where !error.isRetriable {
            // The same statement would fail for ever. The leases and claims bring these deliveries again.
            forget(unrecorded.count) { _ in true }
            throw error
        }
    }

    private mutating func writeFirst(_ attempts: FirstAttempts, _ dueDates: inout DueDates) async throws {
        let finished = attempts.finished
        guard !finished.isEmpty else { return }
        let recorded = try await store.record(first: attempts.first, completing: attempts.complete)
        attempts.recorded()
        forget(finished.count) { $0.claim != nil }
        putOff(finished, recorded, &dueDates)
    }

    private mutating func write(_ finished: [DeliveryInbox.Finished], _ dueDates: inout DueDates) async throws {
        guard !finished.isEmpty else { return }
        let recorded = try await store.record(finished.map(\.ended))
        forget(finished.count) { $0.claim == nil && !$0.isOrdered }
        putOff(finished, recorded, &dueDates)
    }

    private mutating func writeInOrder(_ finished: [DeliveryInbox.Finished], _ dueDates: inout DueDates) async throws {
        guard !finished.isEmpty else { return }
        let ordered = try await store.recordInOrder(finished.map(\.ended))
        queue.look(at: ordered.released)
        forget(finished.count, where: \.isOrdered)
        putOff(finished, ordered.recorded, &dueDates)
    }

    /// Notes when what was not taken falls due, and tells what became of deliveries whose schedule is used up.
    private func putOff(
        _ finished: [DeliveryInbox.Finished], _ recorded: [DeliveryStore.Recorded], _ dueDates: inout DueDates
    ) {
        let failures = finished.filter { !$0.verdict.isSuccess }
        guard !failures.isEmpty else { return }
        let tellings = recorded.map { (Telling(eventId: $0.eventId, endpointId: $0.endpointId), $0) }
        let outcomes = Dictionary(tellings) { first, _ in first }
        let now = clock.now
        for finished in failures {
            switch finished.verdict.result {
            case .delivered: continue
            case .retry(_, _, let delay): dueDates.putOff(finished.endpointId, until: now + delay)
            case .exhausted(_, let error, let outageDelay, let anew):
                let telling = Telling(eventId: finished.eventId, endpointId: finished.endpointId)
                guard let outcome = outcomes[telling] else { continue }
                report.exhausted(finished, outcome, error: error)
                guard let delay = outcome.waitsForEndpoint ? outageDelay : anew else { continue }
                dueDates.putOff(finished.endpointId, until: now + delay)
            }
        }
    }

    private mutating func forget(_ count: Int, where isDone: (DeliveryInbox.Finished) -> Bool) {
        unrecorded.removeAll(where: isDone)
        queue.withBoard { $0.recorded(count) }
    }
}
