import Metrics
import Persistence
import ServiceRuntime
import Synchronization

/// The numbers of delivering, by endpoint; `deploy/site/pages/metrics.md` lists them.
final class DeliveryMetrics: Sendable {
    private struct OfEndpoint: Sendable {
        let delivered: Counter
        let retried: Counter
        let abandoned: Counter
        let duration: Timer
        let delay: Timer
        let pending: Gauge
        let failingAge: Gauge
        let disabled: Gauge
        let breaker: Gauge

        func destroy() {
            for counter in [delivered, retried, abandoned] { counter.destroy() }
            for timer in [duration, delay] { timer.destroy() }
            for gauge in [pending, failingAge, disabled, breaker] { gauge.destroy() }
        }
    }

    private let endpoints = Mutex<[String: OfEndpoint]>([:])

    /// Tells of these endpoints from now on; of others nothing waits and nothing is switched off.
    func follow(_ ids: [String]) {
        let gone = endpoints.withLock { endpoints in
            let gone = endpoints.filter { !ids.contains($0.key) }
            endpoints = Dictionary(ids.map { ($0, endpoints[$0] ?? Self.ofEndpoint($0)) }) { first, _ in first }
            return gone
        }
        for (id, endpoint) in gone {
            endpoint.pending.record(0)
            endpoint.failingAge.record(0)
            endpoint.disabled.record(0)
            endpoint.breaker.record(0)
            // Whoever has a key makes and removes endpoints of the database: series of all that ever were would pile up.
            if id.hasPrefix(StoredEndpoint.idPrefix) { endpoint.destroy() }
        }
    }

    private static func ofEndpoint(_ id: String) -> OfEndpoint {
        let label = [("endpoint", id)]
        func counter(_ result: String) -> Counter {
            Counter(label: "countersign_webhook_attempts_total", dimensions: label + [("result", result)])
        }
        return OfEndpoint(
            delivered: counter("delivered"), retried: counter("retry"), abandoned: counter("abandoned"),
            duration: Timer(label: "countersign_webhook_attempt_duration", dimensions: label),
            delay: Timer(label: "countersign_webhook_delivery_delay", dimensions: label),
            pending: Gauge(label: "countersign_webhook_deliveries_pending", dimensions: label),
            failingAge: Gauge(label: "countersign_webhook_deliveries_failing_oldest_age_seconds", dimensions: label),
            disabled: Gauge(label: "countersign_webhook_endpoint_disabled", dimensions: label),
            breaker: Gauge(label: "countersign_webhook_endpoint_breaker_open", dimensions: label))
    }

    /// An attempt has ended.
    ///
    /// - Parameters:
    ///   - duration: of the attempt.
    ///   - age: of the delivery.
    func record(_ verdict: DeliveryVerdict, endpointId: String, duration: Duration, age: Duration) {
        guard let endpoint = endpoints.withLock({ $0[endpointId] }) else { return }
        endpoint.duration.record(duration: duration)
        switch verdict.result {
        case .delivered:
            endpoint.delivered.increment()
            // Two machines' clocks may make an age negative.
            endpoint.delay.record(duration: max(.zero, age))
        case .retry: endpoint.retried.increment()
        // What becomes of it is known when it is written down.
        case .exhausted: break
        }
    }

    /// A delivery whose schedule is used up was given up, or is tried again.
    func record(exhausted recorded: DeliveryStore.Recorded) {
        guard let endpoint = endpoints.withLock({ $0[recorded.endpointId] }) else { return }
        (recorded.isAbandoned ? endpoint.abandoned : endpoint.retried).increment()
    }

    /// What waits for each endpoint.
    func record(waiting: [String: DeliveryStore.Waiting]) {
        for (id, endpoint) in endpoints.withLock({ $0 }) {
            endpoint.pending.record(waiting[id]?.count ?? 0)
            endpoint.failingAge.record(waiting[id]?.failingAge ?? 0)
        }
    }

    /// Whether an endpoint only fails and is tried now and then.
    func record(breaker endpointId: String, isOpen: Bool) {
        endpoints.withLock({ $0[endpointId] })?.breaker.record(isOpen ? 1 : 0)
    }

    /// Which endpoints are switched off.
    func record(disabled: Set<String>) {
        for (id, endpoint) in endpoints.withLock({ $0 }) { endpoint.disabled.record(disabled.contains(id) ? 1 : 0) }
    }
}

extension DeliveryMetrics {
    /// What the metrics of notification mean.
    static let families: [MetricFamily] = [
        .counter("countersign_webhook_events_taken_over_total", help: "Events that were taken over for delivery."),
        .counter(
            "countersign_webhook_attempts_total", ["endpoint", "result"],
            help: "Attempts to deliver, by endpoint and result: delivered, retry or abandoned."),
        .counter(
            "countersign_webhook_resends_total", help: "Deliveries that are sent again on request."),
        .histogram("countersign_webhook_attempt_duration_seconds", ["endpoint"], help: "How long an attempt took."),
        .histogram(
            "countersign_webhook_delivery_delay_seconds", ["endpoint"], help: "From take-over to delivery."),
        .gauge(
            "countersign_webhook_deliveries_pending", ["endpoint"],
            help: "Deliveries that wait for the endpoint; 10,000 means at least as many."),
        .gauge(
            "countersign_webhook_deliveries_failing_oldest_age_seconds", ["endpoint"],
            help: "Age of the oldest delivery that was attempted and not accepted yet; 0 where there is none."),
        .counter(
            "countersign_notification_forwards_total", ["app", "result"],
            help: "Attempts to send Apple's notifications on, by app and result: delivered, retry or given_up."),
        .gauge(
            "countersign_webhook_endpoints_held",
            help: "Endpoints of the database that nothing can be sent to: their secrets cannot be opened, for instance."
        ),
        .gauge("countersign_webhook_endpoint_disabled", ["endpoint"], help: "1 while the endpoint is switched off."),
        .gauge(
            "countersign_webhook_endpoint_breaker_open", ["endpoint"],
            help: "1 while the endpoint only fails and this process tries it now and then."),
    ]
}
