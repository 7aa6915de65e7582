import Foundation
import Logging
import Persistence
import Postgres
import ServiceLifecycle
import ServiceRuntime

/// The delivery loop: takes due deliveries as there is room, attempts them side by side, and records what came of it.
///
/// Only as many are taken as can begin at once, so a lease never runs out in a queue; and every endpoint has room of
/// its own, so a slow one holds up nobody else. Any number of processes may run it on one database.
final class DeliverWebhooks: Service {
    /// The shortest sleep: a due row that another process is about to take must not keep this one spinning.
    private static let sleepMinimum = Duration.milliseconds(100)
    /// The sleep after the database failed.
    private static let failureDelay = Duration.seconds(1)

    private let store: DeliveryStore
    private let endpointStore: EndpointStore
    private let endpoints: WebhookEndpoints
    private let settings: DeliverySettings
    private let clients: EndpointClients
    private let sender: SendWebhook
    private let metrics: DeliveryMetrics
    private let logger: Logger
    private let inbox = DeliveryInbox()
    private let clock = ContinuousClock()

    /// Makes the loop; it begins with ``run()``.
    init(
        pool: PostgresPool, endpoints: WebhookEndpoints, settings: DeliverySettings, clients: EndpointClients,
        metrics: DeliveryMetrics, version: String, logger: Logger
    ) {
        store = DeliveryStore(pool: pool)
        endpointStore = EndpointStore(pool: pool)
        self.endpoints = endpoints
        self.settings = settings
        self.clients = clients
        sender = SendWebhook(clients: clients, timeout: settings.timeout, version: version)
        self.metrics = metrics
        self.logger = logger
    }

    /// Lets the loop look for due deliveries of these endpoints at once.
    func wake(_ endpointIds: Set<String>) {
        inbox.wake(endpointIds)
    }

    /// Delivers until graceful shutdown, which lets attempts under way end and records them; or until cancellation,
    /// which breaks them off: their leases run out, and they are made again.
    func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                await deliver(in: &group)
            }
        } onGracefulShutdown: {
            self.inbox.stop()
        }
        await clients.close()
    }

    /// What the loop remembers from round to round.
    private struct Memory {
        var board: DeliveryBoard
        /// The endpoints of this round, by id.
        var endpoints: [String: WebhookEndpoint] = [:]
        var health: EndpointHealth
        var unrecorded: [DeliveryInbox.Finished] = []
        var isRegistered = false
        var nextLook: ContinuousClock.Instant
    }

    private func deliver(in group: inout DiscardingTaskGroup) async {
        var memory = Memory(
            board: DeliveryBoard(
                endpointIds: [], perEndpointMaximum: settings.concurrencyPerEndpoint,
                maximum: settings.concurrencyMaximum),
            health: EndpointHealth(store: endpointStore, disableAfter: settings.disableAfter, logger: logger),
            nextLook: clock.now)
        while !Task.isCancelled {
            let news = inbox.take()
            follow(endpoints.all, &memory)
            takeIn(news, &memory)
            var sleep = Self.failureDelay
            do {
                try await record(&memory)
                if news.isStopping {
                    if memory.board.isIdle { return }
                    sleep = settings.timeout
                } else {
                    try await look(&memory)
                    try await claim(&memory, in: &group)
                    sleep = try await sleepDuration(&memory)
                }
            } catch {
                if Task.isCancelled { return }
                logger.warning("deliveries cannot be taken or recorded", metadata: .fields([.error: "\(error)"]))
                // With the database away there is nobody to record to: the leases bring the deliveries again.
                if news.isStopping, memory.board.isIdle { return }
            }
            await inbox.wait(atMost: sleep)
        }
    }

    /// Takes over what the file says now; an endpoint that is new is looked at in this round.
    private func follow(_ endpoints: [WebhookEndpoint], _ memory: inout Memory) {
        memory.endpoints = Dictionary(endpoints.map { ($0.id, $0) }) { first, _ in first }
        let ids = endpoints.map(\.id)
        guard ids != memory.board.endpointIds else { return }
        memory.board.follow(ids)
        metrics.follow(ids)
        memory.isRegistered = false
        memory.nextLook = clock.now
    }

    private func takeIn(_ news: DeliveryInbox.Content, _ memory: inout Memory) {
        memory.board.look(at: news.endpointIds)
        for finished in news.finished {
            memory.board.finished(finished.endpointId)
            if let pause = finished.verdict?.pause {
                memory.board.pause(finished.endpointId, until: clock.now + pause)
            }
        }
        memory.unrecorded += news.finished.filter { $0.verdict != nil }
    }

    /// Writes down what attempts led to; while that fails nothing new is taken, so the list is bounded.
    private func record(_ memory: inout Memory) async throws {
        guard !memory.unrecorded.isEmpty else { return }
        let finished = memory.unrecorded
        do {
            try await store.record(
                finished.compactMap { finished in
                    finished.verdict.map {
                        (eventId: finished.eventId, endpointId: finished.endpointId, result: $0.result)
                    }
                })
        } catch let error as PostgresError where !error.isRetriable {
            // The same statement would fail for ever. The leases bring these deliveries again.
            memory.unrecorded = []
            throw error
        }
        memory.unrecorded = []
        for id in try await memory.health.note(finished) { memory.board.disable(id) }
    }

    /// Now and then: which endpoints are switched off, and anything that other processes left due.
    private func look(_ memory: inout Memory) async throws {
        guard clock.now >= memory.nextLook else { return }
        let endpointIds = memory.board.endpointIds
        if !memory.isRegistered {
            try await endpointStore.register(endpointIds.sorted())
            memory.isRegistered = true
        }
        let disabled = try await endpointStore.disabled(among: endpointIds)
        memory.board.disable(only: disabled)
        metrics.record(disabled: disabled)
        memory.board.lookEverywhere()
        memory.nextLook = clock.now + settings.lookInterval
    }

    private func claim(_ memory: inout Memory, in group: inout DiscardingTaskGroup) async throws {
        for id in memory.board.nextToClaim(now: clock.now) {
            let limit = memory.board.room(for: id)
            guard limit > 0, let endpoint = memory.endpoints[id] else { continue }
            let claimedAt = clock.now
            let due = try await store.claimDue(endpointIds: [id], limit: limit, lease: settings.lease)
            memory.board.claimed(id, count: due.count, limit: limit)
            for delivery in due {
                group.addTask { await self.attempt(delivery, endpoint, claimedAt: claimedAt) }
            }
        }
    }

    /// Makes one attempt, unless the claim took so long that the lease could end before it.
    private func attempt(
        _ due: DeliveryStore.Due, _ endpoint: WebhookEndpoint, claimedAt: ContinuousClock.Instant
    ) async {
        let start = clock.now
        guard start + settings.timeout < claimedAt + settings.lease else {
            inbox.post(.init(eventId: due.eventId, endpointId: endpoint.id, verdict: nil))
            return
        }
        let answer = await sender.send(due, to: endpoint)
        // Broken off by us: that says nothing about the endpoint.
        if Task.isCancelled { return }
        let verdict = DeliveryVerdict(
            answer, attempts: due.attempts + 1, schedule: settings.schedule, chance: .random(in: -1...1))
        metrics.record(
            verdict, endpointId: endpoint.id, duration: clock.now - start,
            age: .seconds(Date().timeIntervalSince(due.createdAt)))
        log(verdict, due, endpoint)
        inbox.post(.init(eventId: due.eventId, endpointId: endpoint.id, verdict: verdict))
    }

    /// How long to sleep: until something known falls due, and never past the next look for what others left due.
    private func sleepDuration(_ memory: inout Memory) async throws -> Duration {
        let now = clock.now
        let open = memory.board.open(now: now)
        if !open.isEmpty, let next = try await store.nextDueDate(endpointIds: open) {
            let untilDue = max(.seconds(next.timeIntervalSinceNow), Self.sleepMinimum)
            memory.nextLook = min(memory.nextLook, now + untilDue)
        }
        return memory.nextLook - now
    }

    private func log(_ verdict: DeliveryVerdict, _ due: DeliveryStore.Due, _ endpoint: WebhookEndpoint) {
        var metadata = Logger.Metadata.fields([
            .event: "\(due.eventId)", .endpoint: "\(endpoint.id)", .attempt: "\(due.attempts + 1)",
        ])
        switch verdict.result {
        case .delivered:
            logger.debug("webhook delivered", metadata: metadata)
        case .retry(_, let error, let delay):
            metadata.merge(.fields([.error: "\(error)", .delay: "\(delay)"])) { first, _ in first }
            logger.info("webhook not delivered, to be tried again", metadata: metadata)
        case .abandoned(_, let error):
            metadata.merge(.fields([.error: "\(error)"])) { first, _ in first }
            logger.error("webhook given up", metadata: metadata)
        }
    }
}
