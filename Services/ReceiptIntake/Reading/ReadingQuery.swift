import Foundation
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// What the paths and queries of reading requests say.
enum ReadingQuery {
    /// How many rows a page has when the caller does not say.
    static let limitDefault = 20
    /// The most that a caller may ask for.
    static let limitMaximum = 100

    /// `?app=`.
    ///
    /// - Throws: `ProblemDetails` when it is missing.
    static func app(_ request: Request) throws -> String {
        guard let app = text("app", in: request), !app.isEmpty else { throw ProblemDetails.fieldMissing("app") }
        return app
    }

    /// `?environment=`; production when the caller does not say.
    ///
    /// - Throws: `ProblemDetails` for another word.
    static func environment(_ request: Request) throws -> StoreEnvironment {
        try StoreEnvironment.meant(by: text("environment", in: request))
    }

    /// The same for a caller whose route takes test keys, which have the sandbox.
    ///
    /// - Throws: `ProblemDetails` for another word, and for production with a test key.
    static func environment(_ request: Request, of caller: Caller) throws -> StoreEnvironment {
        try caller.environment(text("environment", in: request))
    }

    /// `?expired=`: whether entitlements that have ended are told too.
    ///
    /// - Throws: `ProblemDetails` for anything but `true` and `false`.
    static func includesExpired(_ request: Request) throws -> Bool {
        switch text("expired", in: request) {
        case nil, "false": false
        case "true": true
        default: throw ProblemDetails.fieldInvalid("expired", "\"true\" or \"false\"")
        }
    }

    /// `?at_least=`: the version that the caller has heard of.
    ///
    /// - Throws: `ProblemDetails` for anything but a whole number that is not negative.
    static func leastVersion(_ request: Request) throws -> Int64? {
        guard let text = text("at_least", in: request) else { return nil }
        guard isDigits(text), let version = Int64(text) else {
            throw ProblemDetails.fieldInvalid("at_least", "a whole number, the `version` or `sequence` to wait for")
        }
        return version
    }

    /// `?limit=`: the most rows of a page.
    ///
    /// - Throws: `ProblemDetails` for anything but 1 to the maximum.
    static func limit(
        _ request: Request, default standard: Int = limitDefault, maximum: Int = limitMaximum
    ) throws -> Int {
        guard let text = text("limit", in: request) else { return standard }
        guard isDigits(text), let limit = Int(text), (1...maximum).contains(limit) else {
            throw ProblemDetails.fieldInvalid("limit", "a whole number from 1 to \(maximum)")
        }
        return limit
    }

    /// `?after=` of transactions.
    ///
    /// - Throws: `ProblemDetails` for what is none of our cursors.
    static func position(_ request: Request) throws -> AccountStore.Position? {
        try ListCursor.position(request) { time, id in
            guard let microseconds = ListCursor.microseconds(time), let id = TransactionId(id) else { return nil }
            return AccountStore.Position(microseconds: microseconds, transactionId: id.text)
        }
    }

    /// The account in the path: percent-encoded UTF-8, nothing normalised.
    ///
    /// - Throws: `ProblemDetails`: what cannot be an account is not found.
    static func account(_ context: IntakeContext) throws -> Account {
        guard let text = context.parameters.get("id")?.removingPercentEncoding, let name = Account(text) else {
            throw ProblemDetails.notFound
        }
        return name
    }

    /// The transaction id in the path.
    ///
    /// - Throws: `ProblemDetails`: what cannot be an id is not found.
    static func transactionId(_ context: IntakeContext) throws -> String {
        guard let text = context.parameters.get("transaction_id"), let id = TransactionId(text) else {
            throw ProblemDetails.notFound
        }
        return id.text
    }

    /// A parameter as it was written; nil where there is none.
    static func text(_ name: String, in request: Request) -> String? {
        request.uri.queryParameters[name[...]].map(String.init)
    }

    static func isDigits(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
