import Foundation
import Logging
import Messages
import Persistence
import Postgres
import ServiceLifecycle
import ServiceRuntime

/// The delivery loop: takes due deliveries as there is room, has them attempted side by side, and records what came of
/// it.
///
/// Only as many are taken as can begin at once, so a lease never runs out in a queue; and every endpoint has room of
/// its own, so a slow one holds up nobody else. New events do not wait for the loop: ``TakeOverEvents`` hands what it
/// has leased to the ``queue``. Any number of processes may run it on one database.
final class DeliverWebhooks: Service {
    /// The shortest sleep: a due row that another process is about to take must not keep this one spinning.
    private static let sleepMinimum = Duration.milliseconds(100)
    /// The sleep after the database failed.
    private static let failureDelay = Duration.seconds(1)
    /// How long ended attempts wait for others that are under way, to be recorded in one statement.
    private static let gatherTime = Duration.milliseconds(3)
    /// Statements of one look that let go what waits for its turn at endpoints that have no order any more.
    private static let turnBatchesPerLook = 10

    /// Says what there is room for, and takes what is to be attempted.
    let queue: DeliveryQueue

    private let store: DeliveryStore
    private let endpointStore: EndpointStore
    private let endpoints: WebhookEndpoints
    private let settings: DeliverySettings
    private let clients: EndpointClients
    private let sender: SendWebhook
    private let bringBack: BringBackDeliveries
    private let metrics: DeliveryMetrics
    private let report: AttemptReport
    private let logger: Logger
    private let inbox = DeliveryInbox()
    private let clock = ContinuousClock()

    /// Makes the loop; it begins with ``run()``.
    init(
        pool: PostgresPool, endpoints: WebhookEndpoints, settings: DeliverySettings, clients: EndpointClients,
        metrics: DeliveryMetrics, version: String, logger: Logger
    ) {
        let report = AttemptReport(metrics: metrics, logger: logger)
        queue = DeliveryQueue(settings: settings, inbox: inbox, report: report)
        store = DeliveryStore(pool: pool)
        endpointStore = EndpointStore(pool: pool)
        self.endpoints = endpoints
        self.settings = settings
        self.clients = clients
        sender = SendWebhook(clients: clients, timeout: settings.timeout, version: version)
        bringBack = BringBackDeliveries(pool: pool, lease: settings.lease, logger: logger)
        self.metrics = metrics
        self.report = report
        self.logger = logger
    }

    /// Lets the loop see at once that there are other endpoints, and look for what is due to these.
    func wake(_ endpointIds: Set<String>) {
        queue.look(at: endpointIds)
        inbox.ring()
    }

    /// Delivers until graceful shutdown, which lets attempts under way end and records them; or until cancellation,
    /// which breaks them off: their leases run out, and they are made again.
    func run() async throws {
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.attemptAll() }
                await self.deliver()
                self.queue.close()
            }
        } onGracefulShutdown: {
            self.queue.withBoard { $0.stop() }
            self.inbox.stop()
        }
        await clients.close()
    }

    /// Attempts what is handed over, side by side; the queue's room bounds how much.
    private func attemptAll() async {
        await withDiscardingTaskGroup { group in
            for await delivery in queue.deliveries {
                group.addTask { await self.attempt(delivery) }
            }
        }
    }

    /// What the loop remembers from round to round.
    private struct Memory {
        /// The endpoints of this round.
        var endpoints: [WebhookEndpoint] = []
        var health: EndpointHealth
        var unrecorded: [DeliveryInbox.Finished] = []
        /// Whether the loop has waited once for more to record.
        var hasGathered = false
        var isRegistered = false
        var isStopping = false
        var nextLook: ContinuousClock.Instant
        /// When the next delivery of an endpoint falls due that was put off, as far as this process knows.
        var nextDue: [String: ContinuousClock.Instant] = [:]
        /// Endpoints whose next due date is to be asked for.
        var unasked: Set<String> = []
        /// How far the turns of ordered endpoints were looked at.
        var turnsMended: [String: DeliveryStore.TurnPlace] = [:]

        mutating func putOff(_ id: String, until instant: ContinuousClock.Instant) {
            nextDue[id] = min(nextDue[id] ?? instant, instant)
        }
    }

    private func deliver() async {
        var memory = Memory(
            health: EndpointHealth(store: endpointStore, disableAfter: settings.disableAfter, logger: logger),
            nextLook: clock.now)
        queue.withBoard { $0.start() }
        while !Task.isCancelled {
            // Before the news are taken: of a board that was idle all of them are there.
            let isIdle = queue.withBoard { $0.isIdle }
            let news = inbox.take()
            memory.unrecorded += news.finished
            if news.isStopping, !memory.isStopping {
                // A board that was idle before it stopped may have given room since.
                memory.isStopping = true
                continue
            }
            if !news.isStopping { follow(&memory) }
            if await gather(&memory, isIdle: isIdle) { continue }
            var wake = clock.now + Self.failureDelay
            do {
                try await record(&memory)
                if news.isStopping {
                    if isIdle { return }
                    wake = clock.now + settings.timeout
                } else {
                    try await look(&memory)
                    try await claim(&memory)
                    try await askForDueDates(&memory)
                    wake = nextRound(memory)
                }
            } catch {
                if Task.isCancelled { return }
                logger.warning("deliveries cannot be taken or recorded", metadata: .fields([.error: "\(error)"]))
                // With the database away there is nobody to record to: the leases bring the deliveries again.
                if news.isStopping, isIdle { return }
            }
            await inbox.wait(until: wake)
        }
    }

    /// Takes over which endpoints there are now; an endpoint that is new is looked at in this round.
    private func follow(_ memory: inout Memory) {
        memory.endpoints = endpoints.sendable
        let ids = memory.endpoints.map(\.id)
        let isNew = queue.withBoard { board in
            guard ids != board.endpointIds else { return false }
            board.follow(ids)
            return true
        }
        guard isNew else { return }
        metrics.follow(ids)
        memory.nextDue = memory.nextDue.filter { ids.contains($0.key) }
        memory.isRegistered = false
        memory.nextLook = clock.now
    }

    /// Waits once, and briefly, while other attempts are under way, so that a statement records many.
    ///
    /// - Returns: whether it has waited, and there may be more to record.
    private func gather(_ memory: inout Memory, isIdle: Bool) async -> Bool {
        guard !memory.unrecorded.isEmpty, !isIdle, !memory.hasGathered else {
            memory.hasGathered = false
            return false
        }
        memory.hasGathered = true
        try? await Task.sleep(for: Self.gatherTime)
        return true
    }

    /// Writes down what attempts led to; while that fails the list grows to the queue's maximum at most.
    private func record(_ memory: inout Memory) async throws {
        guard !memory.unrecorded.isEmpty else { return }
        let finished = memory.unrecorded
        do {
            // First how the endpoints fare: whether a delivery is given up depends on that.
            let disabled = try await memory.health.note(finished)
            queue.withBoard { board in
                for id in disabled { board.disable(id) }
            }
            // Each part is done with once it is written: where an order's lock is held up, the others' are not written again.
            try await write(finished.filter { !$0.isOrdered }, &memory)
            try await writeInOrder(finished.filter(\.isOrdered), &memory)
        } catch let error as PostgresError where !error.isRetriable {
            // The same statement would fail for ever. The leases bring these deliveries again.
            forget(memory.unrecorded.count, &memory) { _ in true }
            throw error
        }
    }

    private func write(_ finished: [DeliveryInbox.Finished], _ memory: inout Memory) async throws {
        guard !finished.isEmpty else { return }
        let recorded = try await store.record(finished.map(\.ended))
        forget(finished.count, &memory) { !$0.isOrdered }
        putOff(finished, recorded, &memory)
    }

    private func writeInOrder(_ finished: [DeliveryInbox.Finished], _ memory: inout Memory) async throws {
        guard !finished.isEmpty else { return }
        let ordered = try await store.recordInOrder(finished.map(\.ended))
        queue.look(at: ordered.released)
        forget(finished.count, &memory, where: \.isOrdered)
        putOff(finished, ordered.recorded, &memory)
    }

    /// Notes when what was not taken falls due, and tells what became of deliveries whose schedule is used up.
    private func putOff(
        _ finished: [DeliveryInbox.Finished], _ recorded: [DeliveryStore.Recorded], _ memory: inout Memory
    ) {
        let failures = finished.filter { !$0.verdict.isSuccess }
        guard !failures.isEmpty else { return }
        let outcomes = Dictionary(recorded.map { (Telling($0), $0) }) { first, _ in first }
        let now = clock.now
        for finished in failures {
            switch finished.verdict.result {
            case .delivered: continue
            case .retry(_, _, let delay): memory.putOff(finished.endpointId, until: now + delay)
            case .exhausted(_, let error, let outageDelay, let anew):
                guard let outcome = outcomes[Telling(finished)] else { continue }
                report.exhausted(finished, outcome, error: error)
                guard let delay = outcome.waitsForEndpoint ? outageDelay : anew else { continue }
                memory.putOff(finished.endpointId, until: now + delay)
            }
        }
    }

    /// What a delivery is found by.
    private struct Telling: Hashable {
        let eventId: String
        let endpointId: String

        init(_ recorded: DeliveryStore.Recorded) {
            (eventId, endpointId) = (recorded.eventId, recorded.endpointId)
        }

        init(_ finished: DeliveryInbox.Finished) {
            (eventId, endpointId) = (finished.eventId, finished.endpointId)
        }
    }

    private func forget(
        _ count: Int, _ memory: inout Memory, where isDone: (DeliveryInbox.Finished) -> Bool
    ) {
        memory.unrecorded.removeAll(where: isDone)
        queue.withBoard { $0.recorded(count) }
    }

    /// Now and then: which endpoints are switched off, and anything that other processes left due.
    private func look(_ memory: inout Memory) async throws {
        guard clock.now >= memory.nextLook else { return }
        let endpointIds = memory.endpoints.map(\.id)
        if !memory.isRegistered {
            try await endpointStore.register(endpointIds.sorted())
            memory.isRegistered = true
        }
        let closed = try await endpointStore.closed(among: endpointIds)
        let unfinished = try await bringBack.run(endpointIds: endpointIds, resuming: closed.resuming)
        let hasTurns = try await mendTurns(&memory)
        queue.withBoard { board in
            board.disable(only: closed.disabled.union(unfinished.resuming))
            board.lookEverywhere()
        }
        metrics.record(disabled: closed.disabled)
        memory.unasked.formUnion(endpointIds)
        // What is left is gone on with at once, after the others' turn.
        memory.nextLook = unfinished.isEmpty && !hasTurns ? clock.now + settings.lookInterval : clock.now
    }

    /// A part of the turns of each ordered endpoint, and those that others have left; there are none but after a change.
    ///
    /// - Returns: whether there may be more of the latter.
    private func mendTurns(_ memory: inout Memory) async throws -> Bool {
        let unordered = memory.endpoints.filter { !$0.isOrdered }.map(\.id)
        var hasMore = true
        for _ in 1...Self.turnBatchesPerLook where hasMore {
            hasMore = try await store.dropTurns(endpointIds: unordered)
        }
        for id in memory.endpoints.filter(\.isOrdered).map(\.id) {
            memory.turnsMended[id] = try await store.mendTurns(endpointId: id, after: memory.turnsMended[id])
        }
        return hasMore
    }

    /// Takes what is due to endpoints that may have something due, as far as there is room.
    private func claim(_ memory: inout Memory) async throws {
        let now = clock.now
        let ripe = memory.nextDue.filter { $0.value <= now }.map(\.key)
        for id in ripe { memory.nextDue[id] = nil }
        memory.unasked.formUnion(ripe)
        let ids = queue.withBoard { board in
            board.look(at: ripe)
            return board.nextToClaim(now: now)
        }
        for id in ids {
            guard let endpoint = memory.endpoints.first(where: { $0.id == id }) else { continue }
            let room = queue.withBoard { $0.beginClaim(id) }
            guard room > 0 else { continue }
            let leasedAt = clock.now
            let due: [DeliveryStore.Due]
            var hasMore = false
            do {
                if endpoint.isOrdered {
                    let claim = try await store.claimInOrder(endpointId: id, limit: room, lease: settings.lease)
                    (due, hasMore) = (claim.due, claim.hasMore)
                } else {
                    due = try await store.claimDue(endpointIds: [id], limit: room, lease: settings.lease)
                }
            } catch {
                queue.withBoard { $0.endClaim(id, room: room, found: nil) }
                throw error
            }
            queue.withBoard { $0.endClaim(id, room: room, found: due.count, hasMore: hasMore) }
            // Asked once more: what was due after a change goes where it says by now.
            let current = endpoints.sendable.first { $0.id == id } ?? endpoint
            queue.begin(
                due.map { due in
                    LeasedDelivery(
                        due: due, endpoint: current, traceParent: TraceContext.traceParent(event: due.body),
                        leasedAt: leasedAt)
                })
        }
    }

    /// When the next delivery falls due that others have put off, or this process before its last: asked at every look, and
    /// when the one that was known has fallen due.
    private func askForDueDates(_ memory: inout Memory) async throws {
        guard !memory.unasked.isEmpty else { return }
        let now = clock.now
        let ids = memory.unasked.intersection(queue.withBoard { $0.open(now: now) })
        memory.unasked = []
        guard !ids.isEmpty else { return }
        for (id, untilDue) in try await store.untilDue(endpointIds: ids.sorted()) {
            memory.putOff(id, until: clock.now + max(untilDue, Self.sleepMinimum))
        }
    }

    /// When the next round is due if nothing happens: something known falls due, a pause ends, or it is time to look.
    private func nextRound(_ memory: Memory) -> ContinuousClock.Instant {
        let now = clock.now
        let pauseEnd = queue.withBoard { $0.pauseEnd(now: now) }
        let instants = [memory.nextLook, memory.nextDue.values.min(), pauseEnd].compactMap { $0 }
        return instants.min() ?? memory.nextLook
    }

    /// Makes one attempt, unless it comes so late that the lease could end before it.
    private func attempt(_ delivery: LeasedDelivery) async {
        let due = delivery.due
        let (start, beganAt) = (clock.now, Date())
        guard start + settings.timeout < delivery.leasedAt + settings.lease else {
            queue.finished(delivery, nil)
            return
        }
        let answer = await sender.send(delivery)
        // Broken off by us: that says nothing about the endpoint.
        if Task.isCancelled { return }
        let verdict = DeliveryVerdict(
            answer, attempts: due.attempts + 1 - due.attemptsForgiven, waitsForEndpoint: due.waitsForEndpoint,
            schedule: settings.schedule,
            chance: .random(in: -1...1))
        let duration = clock.now - start
        report.ended(verdict, due, duration: duration)
        queue.finished(
            delivery, .init(beganAt: beganAt, duration: duration, answer: answer.text, verdict: verdict))
    }
}
