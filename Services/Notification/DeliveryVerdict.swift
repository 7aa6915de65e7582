import Persistence

/// What an endpoint said to a webhook.
enum EndpointAnswer: Sendable, Hashable {
    /// It answered.
    ///
    /// - status: of HTTP.
    /// - excerpt: the beginning of the answer's text; more than a line of an error has room for.
    /// - retryAfter: how long it asks to be left alone.
    case answered(status: Int, excerpt: String, retryAfter: Duration?)
    /// There was no answer, or none in time, or the address was refused.
    case failed(String)

    /// The beginning of what it said; nil where that is nothing.
    var text: String? {
        guard case .answered(_, let excerpt, _) = self, !excerpt.isEmpty else { return nil }
        return excerpt
    }
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
    ///   - attempts: made for the delivery in this run of its schedule, this one included.
    ///   - waitsForEndpoint: whether it waited for its endpoint, an earlier run being used up.
    ///   - chance: from -1 to 1, for the jitter.
    init(
        _ answer: EndpointAnswer, attempts: Int, waitsForEndpoint: Bool = false, schedule: RetrySchedule, chance: Double
    ) {
        let next = Self.next(attempts: attempts, waitsForEndpoint: waitsForEndpoint, schedule: schedule, chance: chance)
        switch answer {
        case .answered(let status, _, _) where (200..<300).contains(status):
            result = .delivered(status: status)
            (isSuccess, disableReason, pause) = (true, nil, nil)
        case .answered(410, let excerpt, _):
            // It stays pending whatever the schedule says: it goes out when somebody switches the endpoint on again.
            result = .retry(status: 410, error: Self.error(410, excerpt), after: next.delay ?? next.outageDelay)
            (isSuccess, disableReason, pause) = (false, "it answered 410 Gone", nil)
        case .answered(let status, let excerpt, let retryAfter):
            let asked = status == 429 || status == 503 ? retryAfter : nil
            result = Self.failure(status: status, error: Self.error(status, excerpt), next: next, asked: asked)
            (isSuccess, disableReason, pause) = (false, nil, asked.map { min($0, Self.pauseMaximum) })
        case .failed(let reason):
            result = Self.failure(status: nil, error: reason, next: next, asked: nil)
            (isSuccess, disableReason, pause) = (false, nil, nil)
        }
    }

    /// - delay: the pause; nil when the schedule is used up.
    /// - outageDelay: the pause where that is, and the endpoint takes nothing.
    /// - anew: the pause where that is, the delivery was held, and the endpoint takes others by now: nothing of what it used up
    ///   was its fault.
    private typealias Next = (delay: Duration?, outageDelay: Duration, anew: Duration?)

    /// What the schedule says after a failure.
    private static func next(
        attempts: Int, waitsForEndpoint: Bool, schedule: RetrySchedule, chance: Double
    ) -> Next {
        let delay = schedule.delay(afterAttempts: attempts, chance: chance)
        let outageDelay = schedule.outageDelay(chance: chance)
        return waitsForEndpoint ? (nil, outageDelay, delay ?? outageDelay) : (delay, outageDelay, nil)
    }

    private static func failure(
        status: Int?, error: String, next: Next, asked: Duration?
    ) -> DeliveryStore.AttemptResult {
        let least = asked ?? .zero
        if let delay = next.delay { return .retry(status: status, error: error, after: max(delay, least)) }
        return .exhausted(
            status: status, error: error, outageDelay: max(next.outageDelay, least),
            anew: next.anew.map { max($0, least) })
    }

    private static func error(_ status: Int, _ excerpt: String) -> String {
        let what =
            (300..<400).contains(status)
            ? "redirects are not followed" : String(excerpt.prefix(AnswerText.errorCharactersMaximum))
        return what.isEmpty ? "status \(status)" : "status \(status): \(what)"
    }
}
