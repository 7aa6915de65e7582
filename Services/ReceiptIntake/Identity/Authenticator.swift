import Foundation
import Logging
import Metrics
import ServiceRuntime
import Synchronization

/// Proves who sends a request: a studio's backend by an API key, a player by the app's own token.
///
/// The apps may be others at the next request: ``use(_:keySets:)``.
final class Authenticator: Sendable {
    private struct Entry: Sendable {
        let app: AppsFile.App
        let verifier: AccountTokenVerifier
        /// In the order of the app's keys.
        let uses: [Counter]
    }

    /// Somebody who is proven; of a backend its key as well, and the counter of the key's uses.
    private typealias Proof = (caller: Caller, key: (key: ServerKey, uses: Counter)?)

    /// When keys were used.
    let keyUses = ServerKeyUses()
    private let entries = Mutex<[String: Entry]>([:])
    private let logger: Logger
    private let metrics: any MetricsFactory

    /// Knows the apps of a file.
    ///
    /// - Parameters:
    ///   - keySets: the public keys by where they come from.
    ///   - metrics: where the uses of keys are counted.
    init(
        apps: AppsFile, keySets: [KeySetSource: KeySetCache],
        logger: Logger = Logger(label: "authenticator", factory: { _ in SwiftLogNoOpLogHandler() }),
        metrics: any MetricsFactory = MetricsSystem.factory
    ) async {
        self.logger = logger
        self.metrics = metrics
        await use(apps, keySets: keySets)
    }

    /// Knows other apps from now on; a request that is under way is answered by those before.
    func use(_ apps: AppsFile, keySets: [KeySetSource: KeySetCache]) async {
        var entries: [String: Entry] = [:]
        for app in apps.apps.values {
            let cache = KeySetSource(app.authentication).flatMap { keySets[$0] }
            entries[app.bundleId] = Entry(
                app: app,
                verifier: await AccountTokenVerifier(
                    app: app.bundleId, authentication: app.authentication, keySet: cache),
                // From now on, so that a key that nobody uses is told of as well.
                uses: app.authentication.serverKeys.map(counter))
        }
        let known = entries
        self.entries.withLock { $0 = known }
    }

    /// Whether an app is configured.
    func knows(app: String) -> Bool { entry(app) != nil }

    /// Whether a token is a server API key of any app.
    func knows(serverKey token: BearerToken) -> Bool {
        guard token.isServerKey else { return false }
        let entries = entries.withLock { Array($0.values) }
        return entries.contains { token.place(among: $0.app.authentication.serverKeys.map(\.sha256)) != nil }
    }

    /// Which of an app's server API keys a token is; nil for none.
    func serverKey(_ token: BearerToken, app: String) -> ServerKey? {
        let keys = serverKeys(app: app)
        return token.place(among: keys.map(\.sha256)).map { keys[$0] }
    }

    /// The server API keys of an app, in the file's order.
    func serverKeys(app: String) -> [ServerKey] { entry(app)?.app.authentication.serverKeys ?? [] }

    /// What a player of an app has to post.
    func possession(app: String) -> AppsFile.PossessionPolicy { entry(app)?.app.possession ?? .proof }

    /// The proofs that an app's backends may post a minute; nil where the app's entry says nothing.
    func backendPosts(app: String) -> Int? { entry(app)?.app.backendPostsPerMinute }

    private func entry(_ app: String) -> Entry? { entries.withLock { $0[app] } }

    /// Who sends a request about this app.
    ///
    /// - Parameter access: who may call the route.
    /// - Throws: `AuthenticationError` when the credentials prove nothing; `ProblemDetails` when they do not suffice.
    func caller(
        _ token: BearerToken, app: String, access: RouteAccess, correlationId: String = "", now: Date = Date()
    ) async throws -> Caller {
        guard let entry = entry(app) else { throw AuthenticationError.rejected("the app is not known") }
        let proof = try await proof(token, entry: entry, now: now)
        note(proof, correlationId, now)
        if let denial = access.denial(of: proof.caller, with: proof.key?.key) { throw denial }
        return proof.caller
    }

    /// Who sends a request that names no app: every caller that the credentials prove and that the route takes, as one
    /// secret may serve several of a studio's apps.
    ///
    /// - Parameter access: who may call the route.
    /// - Throws: `AuthenticationError` when the credentials prove none; `ProblemDetails` when they suffice for no app.
    func callers(
        _ token: BearerToken, access: RouteAccess, correlationId: String = "", now: Date = Date()
    ) async throws -> [Caller] {
        var proofs: [Proof] = []
        var failure = AuthenticationError.rejected("the credentials are not valid for any app")
        let entries = entries.withLock { Array($0.values) }
        for entry in entries {
            do {
                proofs.append(try await proof(token, entry: entry, now: now))
            } catch let error as AuthenticationError {
                // "Perhaps later" is the more careful answer of the two; a lone app's says the most.
                if error.code == .unavailable || entries.count == 1 { failure = error }
            }
        }
        guard let first = proofs.first else { throw failure }
        // One secret of several apps is counted once, and is each app's key.
        note(first, correlationId, now)
        for proof in proofs.dropFirst() {
            if let key = proof.key?.key { keyUses.note(key, app: proof.caller.app, at: now) }
        }
        let denials = proofs.map { access.denial(of: $0.caller, with: $0.key?.key) }
        let callers = zip(proofs, denials).filter { $0.1 == nil }.map(\.0.caller)
        if callers.isEmpty, let denial = denials.compactMap({ $0 }).first { throw denial }
        return callers
    }

    private func proof(_ token: BearerToken, entry: Entry, now: Date) async throws -> Proof {
        guard token.isServerKey else { return (try await entry.verifier.verify(token.value, now: now), nil) }
        let keys = entry.app.authentication.serverKeys
        guard let place = token.place(among: keys.map(\.sha256)) else {
            throw AuthenticationError.rejected("the server API key is not one of this app's")
        }
        let app = entry.app.bundleId
        let caller = keys[place].isTest || token.isTestKey ? Caller.testServer(app: app) : .server(app: app)
        return (caller, (keys[place], entry.uses[place]))
    }

    /// Counts the use of a key, whatever comes of it: who changes keys wants to know whether the old one is still sent.
    private func note(_ proof: Proof, _ correlationId: String, _ now: Date) {
        guard let (key, uses) = proof.key else { return }
        uses.increment()
        keyUses.note(key, app: proof.caller.app, at: now)
        logger.debug(
            "a server API key was used",
            metadata: .fields([
                .apiKey: "\(key.label) \(key.fingerprint)", .app: "\(proof.caller.app)",
                .correlation: "\(correlationId)",
            ]))
    }

    private func counter(_ key: ServerKey) -> Counter {
        Counter(
            label: "countersign_server_key_uses_total",
            dimensions: [("key", key.label), ("fingerprint", key.fingerprint)], factory: metrics)
    }
}
