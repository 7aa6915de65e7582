import Foundation

/// A webhook that was accepted, as one line of the receiver's file.
struct ReceivedWebhook: Codable, Sendable, Equatable {
    /// The header `webhook-id`, the same in every attempt.
    let eventId: String
    let type: String?
    let transactionId: String?
    let account: String?
    let sequence: Int64?
    let receivedAt: String
    /// The header `webhook-timestamp`: when this attempt was signed, in seconds since 1970.
    let attemptTimestamp: String
    let userAgent: String?
    /// The header of W3C trace context; nil where there was none.
    let traceparent: String?

    /// Reads what matters of a body; a field that is not there is nil.
    init(
        eventId: String, attemptTimestamp: String, userAgent: String?, traceparent: String?, body: [UInt8],
        receivedAt: String
    ) {
        let event = JSONValue(json: Data(body))
        let customer = event?["customer"]
        self.eventId = eventId
        self.attemptTimestamp = attemptTimestamp
        self.userAgent = userAgent
        self.traceparent = traceparent
        self.receivedAt = receivedAt
        type = event?["type"]?.text
        account = customer?["id"]?.text
        sequence = customer?["sequence"]?.whole
        transactionId = event?["data"]?["transaction"]?["transaction_id"]?.text
    }

    /// The line, with its end.
    ///
    /// - Throws: `EncodingError`.
    func line() throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self) + Data("\n".utf8)
    }
}
