import Pacing
import ServiceRuntime

/// Numbers that are read when somebody asks for them.
enum LookupMetrics {
    static func register(_ access: AppStoreAccess, in metrics: PrometheusMetrics) {
        metrics.onScrape {
            var samples = [
                GaugeSample(
                    "countersign_lookups_in_flight", labels: [("kind", "transaction")],
                    Double(access.judge.transactions.inFlight)),
                GaugeSample(
                    "countersign_lookups_in_flight", labels: [("kind", "order")],
                    Double(access.judge.orders.inFlight)),
                GaugeSample(
                    "countersign_lookups_in_flight", labels: [("kind", "renewal")],
                    Double(access.judge.renewals.inFlight)),
                GaugeSample(
                    "countersign_lookups_in_flight", labels: [("kind", "receipt")],
                    Double(access.judge.receipts.inFlight)),
            ]
            for host in AppStoreHost.all {
                samples.append(
                    GaugeSample(
                        "countersign_app_store_breaker_open", labels: [("host", host.name)],
                        access.pace.breaker(of: host).isOpen ? 1 : 0))
            }
            return samples
        }
    }
}
