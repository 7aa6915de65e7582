/// What one metric means: its line of HELP, and its row in the table of deploy/monitoring.
///
/// Every process describes its families once, in `PrometheusMetrics.describe(_:)`.
package struct MetricFamily: Sendable, Hashable {
    /// The name on the page, with its ending: `_total` of a counter, `_seconds` of a duration.
    package let name: String
    /// Its type.
    package let kind: MetricKind
    /// The names of its labels, without a histogram's `le`.
    package let labels: [String]
    /// One sentence for whoever has never seen it.
    package let help: String

    private init(_ name: String, _ kind: MetricKind, _ labels: [String], _ help: String) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.help = help
    }

    /// What only ever grows while the process runs.
    package static func counter(_ name: String, _ labels: [String] = [], help: String) -> MetricFamily {
        MetricFamily(name, .counter, labels, help)
    }

    /// What goes up and down.
    package static func gauge(_ name: String, _ labels: [String] = [], help: String) -> MetricFamily {
        MetricFamily(name, .gauge, labels, help)
    }

    /// A distribution over buckets.
    package static func histogram(_ name: String, _ labels: [String] = [], help: String) -> MetricFamily {
        MetricFamily(name, .histogram, labels, help)
    }
}

/// The type of a metric, as its line of TYPE says it.
package enum MetricKind: String, Sendable {
    case counter
    case gauge
    case histogram
}
