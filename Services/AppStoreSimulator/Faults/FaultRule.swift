/// One rule of misbehaviour as a client writes it: for which requests, what happens, how often.
///
/// ``FaultRule/checked(named:)`` says whether it makes sense. Unknown fields are refused: a typo would be a fault that
/// never happens.
struct FaultRule: Codable, Sendable, Equatable {
    enum Limit {
        /// Rules that are in force at a time.
        static let rules = 100
        /// Milliseconds that an answer may be late, all rules together.
        static let latency: Int64 = 120_000
        /// Bytes of a path, of a header's value, of a message.
        static let text = 1_024
        /// Seconds that a rule or a storm may last: a week.
        static let seconds: Double = 7 * 86_400
        /// Bytes a second of a slow answer.
        static let bytesPerSecond: Int64 = 1_000_000
    }

    /// For which requests; a field that is missing leaves it open.
    struct Match: Codable, Sendable, Equatable {
        /// `Production` or `Sandbox`.
        var environment: String?
        /// How the path begins.
        var path: String?
        /// An ``EndpointGroup``.
        var group: String?
        /// `GET`, `POST`, `PUT`, `DELETE`.
        var method: String?

        enum CodingKeys: String, CodingKey, CaseIterable { case environment, path, group, method }
    }

    /// What happens; `kind` decides which of the other fields it has.
    struct Fault: Codable, Sendable, Equatable {
        /// A ``FaultKind``.
        var kind: String
        /// latency: how late, in milliseconds.
        var ms: Int64?
        /// latency: half of the answers are later than this, in milliseconds.
        var medianMs: Double?
        /// latency: one answer of a hundred is later than this, in milliseconds.
        var p99Ms: Double?
        /// status: the HTTP status, 400 to 599.
        var status: Int?
        /// status: `json` (as Apple's API answers), `htmlPage` (as something in front of it does) or `empty`.
        var body: String?
        /// status: Apple's error code; there is a fitting one for each status.
        var errorCode: Int64?
        /// status: Apple's error message.
        var errorMessage: String?
        /// status: the header `Retry-After` as it stands, right or wrong.
        var retryAfter: String?
        /// status: `Retry-After` so many milliseconds from now, written as Apple does: UNIX time in milliseconds.
        var retryAfterMs: Int64?
        /// slowLoris: how many bytes of the body arrive in a second.
        var bytesPerSecond: Int64?
        /// unauthorizedStorm: how long it lasts from the first 401 on.
        var seconds: Double?
        /// reset, hang: whether the request is carried out before its answer is lost; false unless it is given.
        var afterHandling: Bool?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case kind, ms, medianMs, p99Ms, status, body, errorCode, errorMessage, retryAfter, retryAfterMs
            case bytesPerSecond, seconds, afterHandling
        }
    }

    enum CodingKeys: String, CodingKey, CaseIterable { case match, fault, share, count, seed, until }

    var match: Match?
    var fault: Fault
    /// The share of matching requests that it happens to, 0 to 1; all unless it is given.
    var share: Double?
    /// How often it happens at most: the first `count` times.
    var count: Int?
    /// Decides the random numbers of this rule, so that a run can be repeated.
    var seed: Int64?
    /// After how many real seconds from now the rule is over.
    var until: Double?
}

/// The faults there are.
enum FaultKind: String, CaseIterable, Sendable {
    case latency, status, reset, truncatedBody, wrongContentType, slowLoris, hang, garbageJSON, emptyBody
    case unauthorizedStorm
}

/// What a status fault has for a body.
enum FaultBody: String, CaseIterable, Sendable {
    case json, htmlPage, empty
}
