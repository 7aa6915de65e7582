import HTTPTypes

extension HTTPField.Name {
    /// The caller's name of a request, by which a repetition is known.
    static var idempotencyKey: HTTPField.Name { idempotencyKeyName }
    /// The person who acts, as a key says that speaks for staff.
    static var actor: HTTPField.Name { actorName }

    /// Which version of the API a request wants, and an answer is of.
    static var countersignVersion: HTTPField.Name { countersignVersionName }
    /// That an answer is told again.
    static var idempotentReplayed: HTTPField.Name { idempotentReplayedName }
    /// Which limit a caller has met (draft-ietf-httpapi-ratelimit-headers).
    static var rateLimitPolicy: HTTPField.Name { rateLimitPolicyName }
    /// What is left of it.
    static var rateLimit: HTTPField.Name { rateLimitName }
    /// The cursor with which a reader of a stream comes back (HTML standard, section 9.2.4).
    static var lastEventId: HTTPField.Name { lastEventIdName }
    /// `no`: nginx hands an answer on as it comes.
    static var accelBuffering: HTTPField.Name { accelBufferingName }
}

private let actorName = fieldName("Countersign-Actor")
private let lastEventIdName = fieldName("Last-Event-ID")
private let accelBufferingName = fieldName("X-Accel-Buffering")
private let countersignVersionName = fieldName("Countersign-Version")
private let idempotencyKeyName = fieldName("Idempotency-Key")
private let idempotentReplayedName = fieldName("Idempotent-Replayed")
private let rateLimitPolicyName = fieldName("RateLimit-Policy")
private let rateLimitName = fieldName("RateLimit")

private func fieldName(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a field name") }
    return name
}
