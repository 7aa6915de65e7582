import Messages
import Metrics
import Persistence

/// Takes events over from fulfillment: from here on each matching endpoint has a delivery that stays due until it has
/// an outcome.
///
/// What there is room for is leased in the same statement and attempted at once, with the bytes that came by Kafka.
struct TakeOverEvents: Sendable {
    /// An event as it came by Kafka.
    ///
    /// - body: what is sent if these are the stored bytes; nil for what did not come by Kafka, and is read back.
    /// - traceParent: W3C trace context of the request that led to it.
    typealias Event = (summary: EventSummary, body: [UInt8]?, traceParent: String?)

    private let store: DeliveryStore
    private let endpoints: WebhookEndpoints
    private let queue: DeliveryQueue
    private let lease: Duration
    private let predecessorsMaximum: Int
    private let clock = ContinuousClock()
    private let takenOver = Counter(label: "countersign_webhook_events_taken_over_total")

    /// - Parameters:
    ///   - queue: says what there is room for, and is handed it.
    ///   - lease: after how long another process may attempt what this one has leased.
    ///   - predecessorsMaximum: what one look finds of what comes before a batch.
    init(
        store: DeliveryStore, endpoints: WebhookEndpoints, queue: DeliveryQueue, lease: Duration,
        predecessorsMaximum: Int = DeliveryStore.OrderLimit.predecessors
    ) {
        self.predecessorsMaximum = predecessorsMaximum
        self.store = store
        self.endpoints = endpoints
        self.queue = queue
        self.lease = lease
    }

    /// Writes the deliveries of a batch in one transaction; an event that no endpoint takes is done with.
    ///
    /// - Throws: `PostgresError`.
    func takeOver(_ batch: [Event]) async throws {
        let endpoints = endpoints.all
        let ordered = endpoints.filter(\.isOrdered).map(\.id)
        var events = batch
        if !ordered.isEmpty {
            var before = try await predecessors(of: batch)
            if before.count >= predecessorsMaximum, batch.count > 1 {
                // The oldest are missing, and an order without them is none: fewer events have fewer before them.
                try await takeOver(Array(batch.prefix(batch.count / 2)))
                return try await takeOver(Array(batch.suffix(from: batch.count / 2)))
            }
            events += before
            while before.count >= predecessorsMaximum, let oldest = before.last {
                before = try await predecessors(of: [oldest])
                events += before
            }
        }
        let tellings = tellings(of: events, endpoints)
        let hasRoom = reserve(tellings)
        let leasedAt = clock.now
        let ids = Set(events.map(\.summary.id))
        let made: [DeliveryStore.Made]
        do {
            made = try await store.takeOver(
                eventIds: ids.sorted(),
                deliveries: zip(tellings, hasRoom).map { telling, hasRoom in
                    .init(
                        eventId: telling.event.summary.id, endpointId: telling.endpoint.id,
                        body: hasRoom ? telling.event.body : nil)
                }, orderedEndpointIds: ordered, lease: lease)
        } catch {
            queue.giveBack(zip(tellings, hasRoom).filter(\.1).map(\.0.endpoint.id))
            throw error
        }
        takenOver.increment(by: ids.count)
        begin(zip(tellings, hasRoom).filter(\.1).map(\.0), made, leasedAt: leasedAt)
    }

    /// What comes before these events for the same accounts, and was not taken over yet: an ordered endpoint hears of it first.
    private func predecessors(of events: [Event]) async throws -> [Event] {
        let ids = Set(events.map(\.summary.id)).sorted()
        return try await store.predecessors(of: ids, limit: predecessorsMaximum).map { event in
            (
                EventSummary(id: event.id, type: event.type, app: event.app, environment: event.environment),
                body: nil, traceParent: nil
            )
        }
    }

    /// Which are attempted at once: what the queue has room for, unless it has to wait for its turn.
    private func reserve(_ tellings: [(event: Event, endpoint: WebhookEndpoint)]) -> [Bool] {
        let isDirect = tellings.map { !$0.endpoint.isOrdered && $0.event.body != nil }
        var hasRoom = queue.reserve(zip(tellings, isDirect).filter(\.1).map(\.0.endpoint.id)).makeIterator()
        return isDirect.map { $0 && hasRoom.next() ?? false }
    }

    /// Who is told of what; an event that comes twice counts once.
    private func tellings(
        of events: [Event], _ endpoints: [WebhookEndpoint]
    ) -> [(event: Event, endpoint: WebhookEndpoint)] {
        var seen: Set<String> = []
        return events.filter { seen.insert($0.summary.id).inserted }.flatMap { event in
            endpoints.filter { $0.takes(event.summary) }.map { (event, $0) }
        }
    }

    /// Attempts what was leased, gives back the room of what was not, and lets the loop look for the rest.
    private func begin(
        _ reserved: [(event: Event, endpoint: WebhookEndpoint)], _ made: [DeliveryStore.Made],
        leasedAt: ContinuousClock.Instant
    ) {
        var leased: [Telling: DeliveryStore.Made] = [:]
        for delivery in made where delivery.isLeased {
            leased[Telling(eventId: delivery.eventId, endpointId: delivery.endpointId)] = delivery
        }
        var deliveries: [LeasedDelivery] = []
        var unused: [String] = []
        for (event, endpoint) in reserved {
            // Without a row of this statement it was there before: whoever made it attempts it.
            guard let made = leased[Telling(eventId: event.summary.id, endpointId: endpoint.id)], let body = event.body
            else {
                unused.append(endpoint.id)
                continue
            }
            deliveries.append(
                LeasedDelivery(
                    due: .init(
                        eventId: made.eventId, endpointId: made.endpointId, body: body,
                        createdAt: made.createdAt),
                    endpoint: endpoint, traceParent: event.traceParent, leasedAt: leasedAt))
        }
        queue.begin(deliveries)
        queue.giveBack(unused)
        queue.look(at: Set(made.filter { !$0.isLeased }.map(\.endpointId)))
    }
}

/// What decides where an event goes; the rest of it is sent on as it is, so that tomorrow's events need no new code.
struct EventSummary: EventMessage, Decodable, Hashable {
    /// What the types of all events begin with that are told to the studio's backend.
    static let typePrefix = PurchaseEvent.typePrefix

    /// The event's id.
    let id: String
    /// Its type.
    let type: String
    /// The app's bundle id.
    let app: String
    /// `production` or `sandbox`.
    let environment: String
}
