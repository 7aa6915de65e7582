import Metrics
import ServiceRuntime

/// What the metrics of the console mean.
enum ConsoleMetrics {
    static let families: [MetricFamily] = [
        .counter(
            "countersign_console_log_ins_total", ["result"],
            help: """
                Log-ins, by result: in; no_role, the people file has no entry; refused, what came back was not of this log-in or \
                not genuine; away, the provider.
                """),
        .counter(
            "countersign_console_sessions_ended_total", ["reason"],
            help: "Sessions that the provider ended: refused, when it was asked again; back_channel, it said so itself."
        ),
        .counter(
            "countersign_console_troubles_total", ["kind"],
            help: "Pages that could not be shown, by kind: forbidden, intakeAway, providerAway and so on."),
        .gauge("countersign_console_sessions", help: "Sessions that are not over."),
    ]

    /// A log-in.
    static func count(_ result: String) {
        Counter(label: "countersign_console_log_ins", dimensions: [("result", result)]).increment()
    }

    /// Sessions that the provider ended.
    static func countEnded(_ reason: String, _ count: Int = 1) {
        Counter(label: "countersign_console_sessions_ended", dimensions: [("reason", reason)]).increment(by: count)
    }
}
