import Logging
import Messages
import Persistence
import Postgres

/// Finds what is due and hands it to the queue, as far as there is room; now and then it looks for what others have left.
///
/// Only as many are taken as can begin at once, so that a lease never runs out in a queue.
struct DeliveryClaimer {
    /// The shortest sleep: a due row that another process is about to take must not keep this one spinning.
    private static let sleepMinimum = Duration.milliseconds(100)
    /// Statements of one look that let go what waits for its turn at endpoints that have no order any more.
    private static let turnBatchesPerLook = 10

    private let store: DeliveryStore
    private let endpointStore: EndpointStore
    private let endpoints: WebhookEndpoints
    private let settings: DeliverySettings
    private let queue: DeliveryQueue
    private let bringBack: BringBackDeliveries
    private let metrics: DeliveryMetrics
    private let clock = ContinuousClock()

    /// The endpoints of this round.
    private var current: [WebhookEndpoint] = []
    private var isRegistered = false
    private var nextLook = ContinuousClock.now
    /// Endpoints whose next due date is to be asked for.
    private var unasked: Set<String> = []
    /// How far the turns of ordered endpoints were looked at.
    private var turnsMended: [String: DeliveryStore.TurnPlace] = [:]

    init(
        pool: PostgresPool, endpoints: WebhookEndpoints, settings: DeliverySettings, queue: DeliveryQueue,
        metrics: DeliveryMetrics, logger: Logger
    ) {
        store = DeliveryStore(pool: pool)
        endpointStore = EndpointStore(pool: pool)
        self.endpoints = endpoints
        self.settings = settings
        self.queue = queue
        bringBack = BringBackDeliveries(pool: pool, lease: settings.lease, logger: logger)
        self.metrics = metrics
    }

    /// Takes over which endpoints there are now; an endpoint that is new is looked at in this round.
    mutating func follow(_ dueDates: inout DueDates) {
        current = endpoints.sendable
        let ids = current.map(\.id)
        let isNew = queue.withBoard { board in
            guard ids != board.endpointIds else { return false }
            board.follow(ids)
            return true
        }
        guard isNew else { return }
        metrics.follow(ids)
        dueDates.keep(ids)
        isRegistered = false
        nextLook = clock.now
    }

    /// Looks where it is time to, takes what is due, and asks when the next is.
    ///
    /// - Returns: when the next round is due if nothing happens: something known falls due, a pause ends, or it is time to look.
    /// - Throws: `PostgresError`.
    mutating func round(_ dueDates: inout DueDates) async throws -> ContinuousClock.Instant {
        try await look()
        try await claim(&dueDates)
        try await askForDueDates(&dueDates)
        let now = clock.now
        let pauseEnd = queue.withBoard { $0.pauseEnd(now: now) }
        return [dueDates.first, pauseEnd].compactMap { $0 }.reduce(nextLook, min)
    }

    /// Now and then: which endpoints are switched off, and anything that other processes left due.
    private mutating func look() async throws {
        guard clock.now >= nextLook else { return }
        let ids = current.map(\.id)
        if !isRegistered {
            try await endpointStore.register(ids.sorted())
            isRegistered = true
        }
        let closed = try await endpointStore.closed(among: ids)
        let unfinished = try await bringBack.run(endpointIds: ids, resuming: closed.resuming)
        let hasTurns = try await mendTurns()
        queue.withBoard { board in
            board.disable(only: closed.disabled.union(unfinished.resuming))
            board.lookEverywhere()
        }
        metrics.record(disabled: closed.disabled)
        unasked.formUnion(ids)
        // What is left is gone on with at once, after the others' turn.
        nextLook = unfinished.isEmpty && !hasTurns ? clock.now + settings.lookInterval : clock.now
    }

    /// A part of the turns of each ordered endpoint, and those that others have left; there are none but after a change.
    ///
    /// - Returns: whether there may be more of the latter.
    private mutating func mendTurns() async throws -> Bool {
        let unordered = current.filter { !$0.isOrdered }.map(\.id)
        var hasMore = true
        for _ in 1...Self.turnBatchesPerLook where hasMore {
            hasMore = try await store.dropTurns(endpointIds: unordered)
        }
        for id in current.filter(\.isOrdered).map(\.id) {
            turnsMended[id] = try await store.mendTurns(endpointId: id, after: turnsMended[id])
        }
        return hasMore
    }

    /// Takes what is due to endpoints that may have something due, as far as there is room.
    private mutating func claim(_ dueDates: inout DueDates) async throws {
        let now = clock.now
        let ripe = dueDates.takeRipe(now: now)
        unasked.formUnion(ripe)
        let ids = queue.withBoard { board in
            board.look(at: ripe)
            return board.nextToClaim(now: now)
        }
        for id in ids {
            guard let endpoint = current.first(where: { $0.id == id }) else { continue }
            let room = queue.withBoard { $0.beginClaim(id) }
            guard room > 0 else { continue }
            let leasedAt = clock.now
            let found: (due: [DeliveryStore.Due], hasMore: Bool)
            do {
                found = try await claim(endpoint, room: room)
            } catch {
                queue.withBoard { $0.endClaim(id, room: room, found: nil) }
                throw error
            }
            queue.withBoard { $0.endClaim(id, room: room, found: found.due.count, hasMore: found.hasMore) }
            begin(found.due, endpoint, leasedAt: leasedAt)
        }
    }

    private func claim(
        _ endpoint: WebhookEndpoint, room: Int
    ) async throws -> (due: [DeliveryStore.Due], hasMore: Bool) {
        if endpoint.isOrdered {
            let claim = try await store.claimInOrder(endpointId: endpoint.id, limit: room, lease: settings.lease)
            return (claim.due, claim.hasMore)
        }
        return (try await store.claimDue(endpointIds: [endpoint.id], limit: room, lease: settings.lease), false)
    }

    private func begin(
        _ due: [DeliveryStore.Due], _ endpoint: WebhookEndpoint, leasedAt: ContinuousClock.Instant
    ) {
        // Asked once more: what was due after a change goes where it says by now.
        let current = endpoints.sendable.first { $0.id == endpoint.id } ?? endpoint
        queue.begin(
            due.map { due in
                LeasedDelivery(
                    due: due, endpoint: current, traceParent: TraceContext.traceParent(event: due.body),
                    leasedAt: leasedAt)
            })
    }

    /// When the next delivery falls due that others have put off, or this process before its last: asked at every look, and
    /// when the one that was known has fallen due.
    private mutating func askForDueDates(_ dueDates: inout DueDates) async throws {
        guard !unasked.isEmpty else { return }
        let now = clock.now
        let ids = unasked.intersection(queue.withBoard { $0.open(now: now) })
        unasked = []
        guard !ids.isEmpty else { return }
        for (id, untilDue) in try await store.untilDue(endpointIds: ids.sorted()) {
            dueDates.putOff(id, until: clock.now + max(untilDue, Self.sleepMinimum))
        }
    }
}

/// When the next delivery of each endpoint falls due that was put off, as far as this process knows.
struct DueDates {
    private var next: [String: ContinuousClock.Instant] = [:]

    /// When the first of them falls due; nil where none is known.
    var first: ContinuousClock.Instant? { next.values.min() }

    /// A delivery of an endpoint falls due then.
    mutating func putOff(_ id: String, until instant: ContinuousClock.Instant) {
        next[id] = min(next[id] ?? instant, instant)
    }

    /// Takes the endpoints of which one has fallen due; when their next one does is not known then.
    mutating func takeRipe(now: ContinuousClock.Instant) -> [String] {
        let ripe = next.filter { $0.value <= now }.map(\.key)
        for id in ripe { next[id] = nil }
        return ripe
    }

    /// Forgets all other endpoints.
    mutating func keep(_ ids: [String]) {
        next = next.filter { ids.contains($0.key) }
    }
}
