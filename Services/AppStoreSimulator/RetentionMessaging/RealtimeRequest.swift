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

    /// The message that the answer chose, in lower case.
    var messageIdentifier: String? {
        guard result == .success, let body,
            let choice = try? JSONDecoder().decode(RealtimeChoice.self, from: body)
        else { return nil }
        return choice.messageIdentifier?.lowercased()
    }
}

/// Apple's `RealtimeResponseBody`: exactly one of four ways to keep a customer; each names a message.
private struct RealtimeChoice: Decodable {
    struct Choice: Decodable {
        var messageIdentifier: String?
    }

    var message: Choice?
    var alternateProduct: Choice?
    var promotionalOffer: Choice?
    var advancedCommerceInfo: Choice?

    /// Nil as well when there is more than one.
    var messageIdentifier: String? {
        let choices = [message, alternateProduct, promotionalOffer, advancedCommerceInfo].compactMap { $0 }
        return choices.count == 1 ? choices[0].messageIdentifier : nil
    }
}
