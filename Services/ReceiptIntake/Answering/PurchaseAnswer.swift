import Foundation
import HTTPTypes
import Hummingbird
import Messages
import Metrics
import NIOCore
import PurchaseModel

/// What the app is told about a submission.
struct PurchaseAnswer: Encodable, Sendable {
    /// After how many seconds an app that got no outcome should ask again.
    static let retryAfterSeconds = 2

    /// The submission's id; the same for the same proof, always.
    let id: String
    /// Where it stands.
    let state: SubmissionState
    /// Whether the app may finish the transaction with StoreKit.
    let finish: Bool
    /// Why it was refused or parked.
    let reason: ReasonCode?
    /// A sentence for a developer.
    let detail: String?
    /// Each transaction of the proof.
    let transactions: [TransactionOutcome]

    /// The answer for an outcome; nil is none yet.
    init(id: String, outcome: SubmissionOutcome?) {
        self.id = id
        state = outcome?.state ?? .received
        // Before there is an outcome StoreKit must go on offering the transaction, whatever happens to us.
        finish = outcome.map { $0.state.isSettled && $0.finish } ?? false
        reason = outcome?.reason
        detail = outcome?.detail
        transactions = outcome?.transactions ?? []
    }

    /// 200 once there is an outcome, else 202 with where to ask and when.
    ///
    /// - Throws: `EncodingError`.
    func response() throws -> Response {
        var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
        if !state.isSettled {
            headers[.location] = "/v1/purchases/\(id)"
            headers[.retryAfter] = "\(Self.retryAfterSeconds)"
        }
        let body = try MessageCoding.encode(self)
        return Response(
            status: state.isSettled ? .ok : .accepted, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}

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
