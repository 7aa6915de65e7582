import Foundation

extension AppStoreServerError {
    enum Limit {
        /// Characters of a message that are kept; Apple's have up to some 200.
        static let message = 500
    }

    /// Apple's error: `{"errorCode":4040010,"errorMessage":"Transaction id not found."}`.
    private struct Wire: Decodable {
        let errorCode: Int64
        let errorMessage: String?
    }

    /// Reads an answer whose status is not 2xx.
    ///
    /// The status decides about codes that are not known. A 401 has no code, and what stands before Apple's servers may
    /// answer 429 and 5xx by itself; every other answer without a code is not Apple's.
    init(_ answer: Exchange.Answer, now: Date = Date()) {
        let wire = answer.isJSON ? try? JSONDecoder().decode(Wire.self, from: answer.body) : nil
        let category: Category =
            switch answer.status {
            case 401: .unauthorized
            case 429: .rateLimited
            case 500...: .server
            case 404 where wire != nil: .notFound
            case 400..<500 where wire != nil: .invalidRequest
            default: .unreadable
            }
        let message =
            if category == .unauthorized {
                "the App Store does not accept the token: check the issuer id, the key, the bundle id and the clock"
            } else {
                wire.map { $0.errorMessage ?? "" } ?? "the answer has no error code"
            }
        self.init(
            category: category, status: answer.status, code: wire.map { Code(rawValue: $0.errorCode) },
            message: Self.shown(message), retryAfter: answer.retryAfter.flatMap { RetryAfter.date($0, now: now) })
    }

    /// A request that is not sent, since Apple would refuse it.
    static func refused(_ code: Code?, _ message: String) -> AppStoreServerError {
        AppStoreServerError(category: .invalidRequest, status: nil, code: code, message: message)
    }

    /// An answer that is not the API's.
    static func unreadable(_ status: Int, _ message: String) -> AppStoreServerError {
        AppStoreServerError(category: .unreadable, status: status, code: nil, message: message)
    }

    /// No whole answer.
    static func transport(_ message: String) -> AppStoreServerError {
        AppStoreServerError(category: .transport, status: nil, code: nil, message: shown(message))
    }

    /// A line that a log can hold.
    private static func shown(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.prefix(Limit.message).unicodeScalars.map { scalar in
                    scalar.properties.generalCategory == .control ? " " : scalar
                }))
    }
}
