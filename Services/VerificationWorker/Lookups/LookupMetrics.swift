import Pacing
import ServiceRuntime

/// Numbers that are read when somebody asks for them.
enum LookupMetrics {
    static func register(_ access: AppStoreAccess, in metrics: PrometheusMetrics) {
        metrics.onScrape {
            let judge = access.judge
            var samples = [
                ("transaction", judge.transactions.inFlight), ("order", judge.orders.inFlight),
                ("renewal", judge.subscriptions.inFlight), ("receipt", judge.receipts.inFlight),
            ].map { GaugeSample("countersign_lookups_in_flight", labels: [("kind", $0.0)], Double($0.1)) }
            for (key, statistics) in access.pace.budgetStatistics {
                samples += Self.samples(of: key, statistics)
            }
            for host in AppStoreHost.all {
                samples += CallUse.allCases.map { use in
                    GaugeSample(
                        "countersign_app_store_breaker_open", labels: [("host", host.name), ("use", use.rawValue)],
                        access.pace.breaker(of: host, for: use).isOpen ? 1 : 0)
                }
            }
            return samples
        }
    }

    private static func samples(of key: BudgetKey, _ statistics: RateBudget.Statistics) -> [GaugeSample] {
        let labels = [("app", key.app), ("host", key.host.name), ("class", key.callClass.rawValue)]
        return [
            GaugeSample("countersign_app_store_budget_tokens", labels: labels, statistics.tokens),
            GaugeSample(
                "countersign_app_store_budget_waiting", labels: labels,
                Double(statistics.waiting.values.reduce(0, +))),
            GaugeSample(
                "countersign_app_store_budget_closed_seconds", labels: labels, statistics.closedFor?.inSeconds ?? 0),
        ]
    }
}
