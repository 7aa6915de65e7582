import Metrics
import PurchaseModel

/// Counts and times the answers about purchases.
///
/// Every series is made once: to look one up takes the lock of all metrics, and this is asked for at every request.
struct PurchaseAnswerMetrics: Sendable {
    /// Where an answer comes from.
    enum Route: String, CaseIterable {
        case post, get
    }

    private struct Series {
        let count: Counter
        let duration: Timer
    }

    private let series: [Route: [SubmissionState: Series]]

    init() {
        series = Dictionary(
            uniqueKeysWithValues: Route.allCases.map { route in
                (
                    route,
                    Dictionary(
                        uniqueKeysWithValues: SubmissionState.allCases.map { ($0, Self.series(route, $0)) })
                )
            })
    }

    /// An answer goes out.
    ///
    /// - Parameter start: when the request was there.
    func record(_ route: Route, _ state: SubmissionState, since start: ContinuousClock.Instant) {
        guard let series = series[route]?[state] else { return }
        series.count.increment()
        series.duration.record(duration: ContinuousClock.now - start)
    }

    private static func series(_ route: Route, _ state: SubmissionState) -> Series {
        let labels = [("route", route.rawValue), ("state", state.rawValue)]
        return Series(
            count: Counter(label: "countersign_purchase_answers_total", dimensions: labels),
            duration: Timer(label: "countersign_purchase_answer_duration", dimensions: labels))
    }
}
