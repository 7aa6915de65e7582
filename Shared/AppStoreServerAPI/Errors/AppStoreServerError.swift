public import Foundation

/// Why a call has no good answer, as data.
public struct AppStoreServerError: Error, Sendable, Hashable {
    /// What kind of trouble it is.
    public enum Category: String, Sendable, Hashable, CaseIterable {
        /// Apple says that there is none: 404 with a code. A 404 without a code is ``unreadable``.
        ///
        /// Three codes mean "not yet": look at ``AppStoreServerError/isRetryable`` before anything is refused for good.
        case notFound
        /// 429: too many calls; ``AppStoreServerError/retryAfter`` says when there is room again.
        case rateLimited
        /// 401: the key, the bundle id or the clock is wrong, or the app was never released. Somebody must look.
        case unauthorized
        /// Apple refuses the request, or it is one that Apple would refuse and was not sent.
        case invalidRequest
        /// 5xx: it is Apple's trouble.
        case server
        /// An answer that is not the API's: a page of HTML, other JSON, too much of it. It says nothing about the purchase.
        case unreadable
        /// No whole answer: no connection, a reset, a time-out.
        case transport
    }

    /// What kind of trouble it is.
    public let category: Category
    /// The HTTP status; nil when there was no answer.
    public let status: Int?
    /// Apple's number for it, known or not; nil when there was none.
    public let code: Code?
    /// What Apple said, or what was wrong; without secrets and without anything that was signed.
    public let message: String
    /// When the next call may be sent, if the answer says it.
    public let retryAfter: Date?

    /// Makes an error, for a test's double for instance.
    public init(category: Category, status: Int?, code: Code?, message: String, retryAfter: Date? = nil) {
        self.category = category
        self.status = status
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    /// Whether the same call may have a good answer later.
    ///
    /// A code that Apple documents as retryable says so whatever the category is. Of a 401 it is false: the same key gets
    /// the same answer until somebody mends something.
    public var isRetryable: Bool {
        if let code, Code.retryable.contains(code) { return true }
        return switch category {
        case .rateLimited, .server, .unreadable, .transport: true
        case .notFound, .unauthorized, .invalidRequest: false
        }
    }
}

extension AppStoreServerError: CustomStringConvertible {
    /// In a line.
    public var description: String {
        let numbers = [status.map { "HTTP \($0)" }, code.map { "code \($0)" }].compactMap { $0 }
        return ([category.rawValue] + numbers + [message]).joined(separator: ", ")
    }
}
