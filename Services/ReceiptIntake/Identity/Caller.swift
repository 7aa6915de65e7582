import Foundation
import PurchaseModel

/// Who sends a request, once that is proven.
enum Caller: Sendable, Hashable {
    /// The studio's backend, by an API key of the app; it speaks for any account.
    case server(app: String)
    /// A player, by the app's own token.
    case account(app: String, name: Account, accountToken: UUID?)

    /// The bundle id of the app.
    var app: String {
        switch self {
        case .server(let app): app
        case .account(let app, _, _): app
        }
    }

    /// Whether it is the studio's backend.
    var isServer: Bool {
        if case .server = self { true } else { false }
    }

    /// Whether the caller may see what this account posted for this app.
    func maySee(app: String, account: String) -> Bool {
        guard self.app == app else { return false }
        switch self {
        case .server: return true
        case .account(_, let name, _): return name.text.utf8.elementsEqual(account.utf8)
        }
    }
}

/// Why a request's credentials prove nothing.
struct AuthenticationError: Error, CustomStringConvertible {
    /// What kind of failure it is.
    struct Code: Sendable, Hashable {
        private enum Name { case rejected, unavailable }
        private let name: Name

        /// The credentials are no good.
        static let rejected = Code(name: .rejected)
        /// The keys to check them with are not here yet; the same credentials may be good in a moment.
        static let unavailable = Code(name: .unavailable)
    }

    /// What kind of failure it is.
    let code: Code
    /// Why, in a sentence for a developer; never quotes the token.
    let description: String

    static func rejected(_ reason: String) -> AuthenticationError {
        AuthenticationError(code: .rejected, description: reason)
    }

    static let keysUnavailable = AuthenticationError(
        code: .unavailable, description: "the keys that sign the app's tokens could not be fetched yet")
}
