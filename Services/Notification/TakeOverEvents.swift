import Foundation
import Messages
import Metrics
import Persistence

/// Takes events over from fulfillment: from here on each matching endpoint has a delivery that stays due until it has
/// an outcome.
///
/// An event whose endpoints all have room is claimed and attempted first, with the bytes that came by Kafka; its deliveries are
/// written with the answers. Of others, what there is room for is leased in the statement that writes it, and attempted at once.
struct TakeOverEvents: Sendable {
    /// An event as it came by Kafka.
    ///
    /// - body: what is sent if these are the stored bytes; nil for what did not come by Kafka, and is read back.
    /// - traceParent: W3C trace context of the request that led to it.
    typealias Event = (summary: EventSummary, body: [UInt8]?, traceParent: String?)

    /// A delivery that is to be made.
    private struct Wanted {
        let event: Event
        let endpoint: WebhookEndpoint
        /// Whether room for its attempt is reserved.
        let hasRoom: Bool
    }

    let store: DeliveryStore
    let endpoints: WebhookEndpoints
    let queue: DeliveryQueue
    let lease: Duration
    var predecessorsMaximum = DeliveryStore.OrderLimit.predecessors
    private let clock = ContinuousClock()
    private let takenOver = Counter(label: "countersign_webhook_events_taken_over_total")

    /// Takes a batch over: each event is claimed, or has its deliveries written; one that no endpoint takes is done with.
    ///
    /// - Throws: `PostgresError`; what was claimed by then is attempted all the same, and is left alone when the batch comes again.
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
        let wanted = reserve(tellings(of: events, endpoints))
        let claimed = try await claim(wanted)
        try await takeOver(
            Set(events.map(\.summary.id)).subtracting(claimed),
            wanted.filter { !claimed.contains($0.event.summary.id) },
            orderedEndpointIds: ordered)
    }

    /// Claims events whose endpoints all have room, and attempts them: their deliveries are written with the answers.
    ///
    /// - Returns: the events that this process has claimed.
    /// - Throws: `PostgresError`; all room is given back then.
    private func claim(_ wanted: [Wanted]) async throws -> Set<String> {
        let byEvent = Dictionary(grouping: wanted, by: \.event.summary.id).filter { $0.value.allSatisfy(\.hasRoom) }
        let leasedAt = clock.now
        let claimed: [String: Date]
        do {
            claimed = try await store.claim(
                byEvent.sorted { $0.key < $1.key }.compactMap { id, wanted in
                    wanted[0].event.body.map { (id: id, body: $0) }
                }, lease: lease)
        } catch {
            giveBack(wanted)
            throw error
        }
        takenOver.increment(by: claimed.count)
        var claims: [String: EventClaim] = [:]
        for (id, at) in claimed {
            claims[id] = EventClaim(eventId: id, claimedAt: at, deliveries: byEvent[id]?.count ?? 0)
        }
        queue.begin(
            wanted.compactMap { wanted in
                guard let claim = claims[wanted.event.summary.id], let body = wanted.event.body else { return nil }
                return LeasedDelivery(
                    due: .init(
                        eventId: claim.eventId, endpointId: wanted.endpoint.id, body: body, createdAt: claim.claimedAt),
                    endpoint: wanted.endpoint, traceParent: wanted.event.traceParent, leasedAt: leasedAt, claim: claim)
            })
        return Set(claimed.keys)
    }

    /// Writes rows for the others, and attempts those that there is room for.
    private func takeOver(_ ids: Set<String>, _ wanted: [Wanted], orderedEndpointIds: [String]) async throws {
        let leasedAt = clock.now
        let made: [DeliveryStore.Made]
        do {
            made = try await store.takeOver(
                eventIds: ids.sorted(),
                deliveries: wanted.map { wanted in
                    .init(
                        eventId: wanted.event.summary.id, endpointId: wanted.endpoint.id,
                        body: wanted.hasRoom ? wanted.event.body : nil)
                }, orderedEndpointIds: orderedEndpointIds, lease: lease)
        } catch {
            giveBack(wanted)
            throw error
        }
        takenOver.increment(by: ids.count)
        begin(wanted.filter(\.hasRoom), made, leasedAt: leasedAt)
    }

    private func giveBack(_ wanted: [Wanted]) {
        queue.giveBack(wanted.filter(\.hasRoom).map(\.endpoint.id))
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
    private func reserve(_ tellings: [(event: Event, endpoint: WebhookEndpoint)]) -> [Wanted] {
        let isDirect = tellings.map { !$0.endpoint.isOrdered && $0.event.body != nil }
        var hasRoom = queue.reserve(zip(tellings, isDirect).filter(\.1).map(\.0.endpoint.id)).makeIterator()
        return zip(tellings, isDirect).map { telling, isDirect in
            Wanted(event: telling.event, endpoint: telling.endpoint, hasRoom: isDirect && hasRoom.next() ?? false)
        }
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
        _ reserved: [Wanted], _ made: [DeliveryStore.Made], leasedAt: ContinuousClock.Instant
    ) {
        var leased: [Telling: DeliveryStore.Made] = [:]
        for delivery in made where delivery.isLeased {
            leased[Telling(eventId: delivery.eventId, endpointId: delivery.endpointId)] = delivery
        }
        var deliveries: [LeasedDelivery] = []
        var unused: [String] = []
        for wanted in reserved {
            let (event, endpoint) = (wanted.event, wanted.endpoint)
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
