import HTTPTypes
import Metrics
import ServiceRuntime

/// Requests that one sender has too many of: counted by the limit, and answered 429 with the headers of
/// draft-ietf-httpapi-ratelimit-headers-10.
enum RequestsLimited {
    /// What becomes of such a request.
    enum Result: String {
        /// It was answered 429.
        case refused
        /// It was answered later than it could have been.
        case held
        /// It was answered at once, where it asked to wait for an outcome.
        case hastened
    }

    static func count(_ limit: String, _ result: Result) {
        Counter(
            label: "countersign_requests_limited_total", dimensions: [("limit", limit), ("result", result.rawValue)]
        ).increment()
    }

    /// 429 of an account; the app asks again, and nothing is lost.
    static func problem(_ limit: String, perMinute: Int, wait: Duration) -> ProblemDetails {
        problem(limit, perMinute: perMinute, wait: wait, who: "A player")
    }

    /// 429 of an app's backends.
    static func problemOfBackend(perMinute: Int, wait: Duration) -> ProblemDetails {
        problem("app", perMinute: perMinute, wait: wait, who: "An app's backend")
    }

    /// 429 of an address.
    static func problemOfAddress(perMinute: Int, wait: Duration) -> ProblemDetails {
        problem("address", perMinute: perMinute, wait: wait, who: "An address")
    }

    /// 429 of a player whose bodies have too many bytes at a time.
    static func problemOfBytes(maximum: Int) -> ProblemDetails {
        count("bytes", .refused)
        return ProblemDetails(
            .rateLimited,
            "A player's requests may have \(maximum) bytes at a time. \(ProblemDetails.nothingIsLost)",
            retryAfterSeconds: ProblemDetails.overloadRetryAfterSeconds
        )
        .with(header: .rateLimitPolicy, "\"bytes\";q=\(maximum);qu=\"content-bytes\"")
        .with(header: .rateLimit, "\"bytes\";r=0;t=\(ProblemDetails.overloadRetryAfterSeconds)")
    }

    /// An item of `RateLimit-Policy`.
    static func policy(_ limit: String, perMinute: Int) -> String {
        "\"\(limit)\";q=\(perMinute);w=\(TurnRateLimit.window.components.seconds)"
    }

    /// An item of `RateLimit`.
    static func standing(_ limit: String, _ left: TurnsLeft) -> String {
        "\"\(limit)\";r=\(left.count);t=\(left.seconds)"
    }

    private static func problem(_ limit: String, perMinute: Int, wait: Duration, who: String) -> ProblemDetails {
        count(limit, .refused)
        let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
        let what = ["address": "requests", "app": "posts"][limit] ?? limit
        return ProblemDetails(
            .rateLimited, "\(who) may have \(perMinute) \(what) a minute. \(ProblemDetails.nothingIsLost)",
            retryAfterSeconds: Int(seconds)
        )
        .with(header: .rateLimitPolicy, policy(limit, perMinute: perMinute))
        .with(header: .rateLimit, standing(limit, TurnsLeft(count: 0, seconds: Int(seconds))))
    }
}
