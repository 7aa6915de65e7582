import Persistence

/// What an endpoint said to a webhook.
enum EndpointAnswer: Sendable, Hashable {
    /// It answered.
    ///
    /// - status: of HTTP.
    /// - excerpt: the beginning of the answer's text.
    /// - retryAfter: how long it asks to be left alone.
    case answered(status: Int, excerpt: String, retryAfter: Duration?)
    /// There was no answer, or none in time, or the address was refused.
    case failed(String)
}

/// What follows from an answer: for the delivery, and for its endpoint.
struct DeliveryVerdict: Sendable {
    /// The longest that one answer's `Retry-After` holds up an endpoint's other deliveries.
    static let pauseMaximum = Duration.seconds(60)

    /// For the delivery.
    let result: DeliveryStore.AttemptResult
    /// Whether the endpoint took it.
    let isSuccess: Bool
    /// Why the endpoint is to be switched off now; nil to leave it on.
    let disableReason: String?
    /// How long the endpoint is to be left alone in this process; nil when it asked for nothing.
    let pause: Duration?

    /// Judges an answer: 2xx is success; 410 switches the endpoint off; everything else, redirects too, is tried again.
    ///
    /// - Parameters:
    ///   - attempts: made for the delivery, this one included.
    ///   - chance: from -1 to 1, for the jitter.
    init(_ answer: EndpointAnswer, attempts: Int, schedule: RetrySchedule, chance: Double) {
        let delay = schedule.delay(afterAttempts: attempts, chance: chance)
        switch answer {
        case .answered(let status, _, _) where (200..<300).contains(status):
            result = .delivered(status: status)
            (isSuccess, disableReason, pause) = (true, nil, nil)
        case .answered(410, let excerpt, _):
            // It stays pending whatever the schedule says: it goes out when somebody switches the endpoint on again.
            result = .retry(
                status: 410, error: Self.error(410, excerpt), after: delay ?? schedule.delays.last ?? .zero)
            (isSuccess, disableReason, pause) = (false, "it answered 410 Gone", nil)
        case .answered(let status, let excerpt, let retryAfter):
            let asked = status == 429 || status == 503 ? retryAfter : nil
            result = Self.failure(status: status, error: Self.error(status, excerpt), delay: delay, asked: asked)
            (isSuccess, disableReason, pause) = (false, nil, asked.map { min($0, Self.pauseMaximum) })
        case .failed(let reason):
            result = Self.failure(status: nil, error: reason, delay: delay, asked: nil)
            (isSuccess, disableReason, pause) = (false, nil, nil)
        }
    }

    private static func failure(
        status: Int?, error: String, delay: Duration?, asked: Duration?
    ) -> DeliveryStore.AttemptResult {
        guard let delay else { return .abandoned(status: status, error: error) }
        return .retry(status: status, error: error, after: max(delay, asked ?? .zero))
    }

    private static func error(_ status: Int, _ excerpt: String) -> String {
        let what = (300..<400).contains(status) ? "redirects are not followed" : excerpt
        return what.isEmpty ? "status \(status)" : "status \(status): \(what)"
    }
}
