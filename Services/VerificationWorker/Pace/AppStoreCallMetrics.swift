import AppStoreServerAPI
import Metrics
import Synchronization

/// Counts what Apple's servers answer, and how long they take.
///
/// The timers are kept, one for each host. The counters are looked up: status and code are known only with the answer.
final class AppStoreCallMetrics: Sendable {
    /// Codes of Apple's that have a label of their own; further ones count as ``AppStoreCallMetrics/other``.
    static let codesMaximum = 64

    static let other = "other"
    static let none = "none"

    private let durations: [AppStoreHost: Timer]
    private let codes = Mutex<Set<Int64>>([])

    init() {
        durations = Dictionary(
            uniqueKeysWithValues: AppStoreHost.all.map { host in
                (
                    host,
                    Timer(label: "countersign_app_store_call_duration", dimensions: [("host", host.name)])
                )
            })
    }

    /// A call has ended; a cancelled one is no answer.
    func record<Value>(_ host: AppStoreHost, _ result: Result<Value, any Error>, took elapsed: Duration) {
        let labels: (status: String, code: String)
        switch result {
        case .success: labels = ("200", Self.none)
        case .failure(let error as AppStoreServerError):
            labels = (error.status.map { "\($0)" } ?? Self.none, label(of: error.code))
        case .failure: return
        }
        durations[host]?.record(duration: elapsed)
        Counter(
            label: "countersign_app_store_answers_total",
            dimensions: [("host", host.name), ("status", labels.status), ("code", labels.code)]
        ).increment()
    }

    /// A code as a label: whoever answers in Apple's place cannot make labels without end.
    func label(of code: AppStoreServerError.Code?) -> String {
        guard let code else { return Self.none }
        let isKnown = codes.withLock { codes in
            if codes.contains(code.rawValue) { return true }
            guard codes.count < AppStoreCallMetrics.codesMaximum else { return false }
            codes.insert(code.rawValue)
            return true
        }
        return isKnown ? "\(code.rawValue)" : Self.other
    }
}
