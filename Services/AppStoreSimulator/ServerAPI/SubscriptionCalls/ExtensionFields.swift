import Foundation

/// The fields that both kinds of extension have, checked (Apple's `ExtendRenewalDateRequest`).
struct ExtensionFields: Sendable {
    enum Limit {
        /// Days of one extension.
        static let days: ClosedRange<Int64> = 1...90
        /// Apple's `extendReasonCode`: undeclared, customer satisfaction, other, service issue or outage.
        static let reasons: ClosedRange<Int64> = 0...3
        /// Characters of a request's identifier.
        static let identifierLength = 128
    }

    let days: Int
    let reason: Int
    let requestIdentifier: String

    /// - Throws: 4000009, 4000010, 4000011.
    init(_ body: [String: JSONValue]) throws(APIError) {
        guard let days = body["extendByDays"]?.whole, Limit.days.contains(days) else { throw .invalidExtendByDays }
        guard let reason = body["extendReasonCode"]?.whole, Limit.reasons.contains(reason) else {
            throw .invalidExtendReasonCode
        }
        guard let identifier = body["requestIdentifier"]?.text,
            (1...Limit.identifierLength).contains(identifier.utf8.count)
        else { throw .invalidRequestIdentifier }
        self.days = Int(days)
        self.reason = Int(reason)
        requestIdentifier = identifier
    }
}
