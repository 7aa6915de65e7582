import Foundation

/// What the App Store asks a backend when somebody is about to cancel: Apple's `DecodedRealtimeRequestBody`.
struct RealtimeRequest: Sendable {
    var originalTransactionId: String
    var appAppleId: Int64
    var productId: String
    var userLocale: String
    /// A lower-case UUID, another for each request.
    var requestIdentifier = newIdentifier()
    var environment: StoreEnvironment

    static func newIdentifier() -> String { UUID().uuidString.lowercased() }

    /// - Parameter signedDate: milliseconds since 1970.
    func payload(signedDate: Int64) -> String {
        var json = JSONText()
        json.add("originalTransactionId", originalTransactionId)
        json.add("appAppleId", appAppleId)
        json.add("productId", productId)
        json.add("userLocale", userLocale)
        json.add("requestIdentifier", requestIdentifier)
        json.add("environment", environment.rawValue)
        json.add("signedDate", signedDate)
        return json.object
    }
}

/// What a backend answered to a ``RealtimeRequest``.
struct RealtimeAnswer: Sendable {
    var result: SendAttemptResult
    /// The HTTP status, when there was an answer.
    var status: Int?
    /// How long it took to the answer's last byte.
    var milliseconds: Int64
    /// The answer's body when it is a JSON object.
    var body: Data?

    /// Apple's four ways to keep a customer (`RealtimeResponseBody`): an answer has exactly one, which names a message.
    private static let choices = ["message", "alternateProduct", "promotionalOffer", "advancedCommerceInfo"]

    /// The message that the answer chose, in lower case.
    var messageIdentifier: String? {
        guard result == .success, let answer = body.flatMap(JSONValue.init(json:)) else { return nil }
        let chosen = Self.choices.compactMap { answer[$0] }.filter { !$0.isNull }
        return chosen.count == 1 ? chosen[0]["messageIdentifier"]?.text?.lowercased() : nil
    }
}
