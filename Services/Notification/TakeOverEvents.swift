import Metrics
import Persistence

/// Takes events over from fulfillment: from here on each matching endpoint has a delivery that stays due until it has
/// an outcome.
struct TakeOverEvents: Sendable {
    private let store: DeliveryStore
    private let endpoints: WebhookEndpoints
    private let wake: @Sendable (Set<String>) -> Void
    private let takenOver = Counter(label: "countersign_webhook_events_taken_over_total")

    /// - Parameter wake: called with the endpoints that have something new, after the commit.
    init(store: DeliveryStore, endpoints: WebhookEndpoints, wake: @escaping @Sendable (Set<String>) -> Void) {
        self.store = store
        self.endpoints = endpoints
        self.wake = wake
    }

    /// Which endpoints are told of which events; an event that comes twice counts once.
    func deliveries(for events: [EventSummary]) -> [(eventId: String, endpointId: String)] {
        let endpoints = endpoints.all
        var seen: Set<String> = []
        return events.filter { seen.insert($0.id).inserted }.flatMap { event in
            endpoints.filter { $0.takes(event) }.map { (eventId: event.id, endpointId: $0.id) }
        }
    }

    /// Writes the deliveries of a batch in one transaction; an event that no endpoint takes is done with.
    ///
    /// - Throws: `PostgresError`.
    func takeOver(_ events: [EventSummary]) async throws {
        let deliveries = deliveries(for: events)
        let ids = Set(events.map(\.id))
        try await store.takeOver(eventIds: ids.sorted(), deliveries: deliveries)
        takenOver.increment(by: ids.count)
        wake(Set(deliveries.map(\.endpointId)))
    }
}
