import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// Who sends a request, once that is proven.
enum Caller: Sendable, Hashable {
    /// The studio's backend, by an API key of the app; it speaks for any account.
    case server(app: String)
    /// The same by a test key: it sees and changes the sandbox alone.
    case testServer(app: String)
    /// A player, by the app's own token.
    case account(app: String, name: Account, accountToken: UUID?)

    /// The bundle id of the app.
    var app: String {
        switch self {
        case .server(let app), .testServer(let app): app
        case .account(let app, _, _): app
        }
    }

    /// Whether it is the studio's backend.
    var isServer: Bool {
        switch self {
        case .server, .testServer: true
        case .account: false
        }
    }

    /// Whether it is a backend with a test key.
    var isTest: Bool {
        if case .testServer = self { true } else { false }
    }

    /// The environment that a request is about: what it names, else production, and the sandbox for a test key.
    ///
    /// - Throws: `ProblemDetails` for a name that is none, and for production with a test key.
    func environment(_ name: String?) throws -> StoreEnvironment {
        guard isTest else { return try StoreEnvironment.meant(by: name) }
        guard try StoreEnvironment(field: name) != .production else { throw ProblemDetails.liveKeyRequired }
        return .sandbox
    }

    /// The environment of the rows of a list of an app: what the request names, else both, and the sandbox for a test key.
    ///
    /// - Throws: `ProblemDetails` for a name that is none, and for production with a test key.
    func environmentOfRows(_ name: String?) throws -> StoreEnvironment? {
        isTest ? try environment(name) : try StoreEnvironment(field: name)
    }

    /// Whether the caller may see what this account posted for this app.
    func maySee(app: String, account: String) -> Bool {
        guard self.app == app else { return false }
        switch self {
        case .server, .testServer: return true
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

/// The credentials of a request: `Authorization: Bearer …`.
///
/// Source: RFC 6750, section 2.1.
struct BearerToken: Sendable {
    /// The longest token in bytes; a JWT with a large key's signature has about 1,500.
    static let bytesMaximum = 8 << 10
    /// What every server API key begins with, so that a scanner finds one that was published by mistake.
    static let serverKeyPrefix = "csk_"
    /// What every test key begins with; a key that does is one, whatever the apps file says.
    static let testKeyPrefix = "csk_test_"

    /// The token itself: never to be logged.
    let value: String

    /// Reads the header; nil when there is none of this scheme, or it is too long.
    init?(_ headers: HTTPFields) {
        guard let field = headers[.authorization], field.utf8.count <= Self.bytesMaximum else { return nil }
        let parts = field.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        let token = parts[1].drop { $0 == " " }
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ",") }) else {
            return nil
        }
        value = String(token)
    }

    /// Whether it is a server API key; anything else is taken for a JWT.
    var isServerKey: Bool { value.hasPrefix(Self.serverKeyPrefix) }

    /// Whether it is a test key by its name.
    var isTestKey: Bool { value.hasPrefix(Self.testKeyPrefix) }

    /// The place of its SHA-256 among these, which are in lower-case hexadecimal digits; nil where it is none of them.
    ///
    /// Every hash is compared to its end, so that time tells nothing of how much was right.
    func place(among hashes: [String]) -> Int? {
        let own = Array(SHA256.hash(data: Array(value.utf8)).lowercaseHexadecimal.utf8)
        var place: Int?
        for (index, hash) in hashes.enumerated() where Self.isSame(own, Array(hash.utf8)) { place = index }
        return place
    }

    @inline(never)
    private static func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(left, right) { difference |= one ^ other }
        return difference == 0
    }
}

/// Who sends a request, proven by its headers: nothing of the body of a stranger is read.
///
/// Which of a studio's apps a request is about stands in its body, and one secret may serve several of them.
struct ProvenCallers: Sendable {
    private let callers: [Caller]
    private let token: BearerToken
    private let authenticator: Authenticator
    private let access: RouteAccess
    private let correlationId: String
    /// Who acts, as the header says, once for each time that it was sent.
    private let actors: [String]

    /// - Throws: `ProblemDetails` when there are no credentials, or none that the route takes; `AuthenticationError` when
    ///   they prove nothing.
    init(_ request: Request, _ context: IntakeContext, _ authenticator: Authenticator) async throws {
        if let proven = context.callers {
            self = proven
            return
        }
        guard let token = BearerToken(request.headers) else { throw ProblemDetails.authenticationRequired }
        actors = request.headers[values: .actor]
        access = context.access
        correlationId = context.correlationId
        callers = try await authenticator.callers(token, access: access, correlationId: correlationId)
        self.token = token
        self.authenticator = authenticator
    }

    /// The apps whose server API key it is, sorted; none for a player.
    var serverApps: [String] {
        callers.filter(\.isServer).map(\.app).sorted()
    }

    /// Whether it is a test key.
    var isTest: Bool { callers.contains(where: \.isTest) }

    /// The player whose token it is, which names one account in whatever app; nil for a backend.
    var player: Caller? {
        callers.contains(where: \.isServer) ? nil : callers.min { $0.app < $1.app }
    }

    /// The caller for the app that the body names.
    ///
    /// - Throws: `ProblemDetails` when the app is not known, or the credentials do not suffice for it;
    ///   `AuthenticationError` when they are another app's.
    func caller(app: String) async throws -> Caller {
        guard authenticator.knows(app: app) else { throw ProblemDetails.appUnknown }
        if let caller = callers.first(where: { $0.app == app }) { return caller }
        // It says why not; or its keys are here by now.
        return try await authenticator.caller(token, app: app, access: access, correlationId: correlationId)
    }

    /// Who acts, for the audit log.
    ///
    /// - Throws: `ProblemDetails` where the key may not say so, or no name was sent; and for a player.
    func actor(app: String) throws -> String {
        guard let key = authenticator.serverKey(token, app: app) else { throw ProblemDetails.serverKeyRequired }
        return try ActorName.of(actors, by: key)
    }
}
