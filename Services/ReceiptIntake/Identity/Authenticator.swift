import Foundation
import ServiceRuntime
import Synchronization

/// Proves who sends a request: a studio's backend by an API key, a player by the app's own token.
///
/// The apps may be others at the next request: ``use(_:keySets:)``.
final class Authenticator: Sendable {
    private struct Entry: Sendable {
        let app: AppsFile.App
        let verifier: AccountTokenVerifier
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// Knows the apps of a file.
    ///
    /// - Parameter keySets: the public keys by where they come from.
    init(apps: AppsFile, keySets: [KeySetSource: KeySetCache]) async {
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
                    app: app.bundleId, authentication: app.authentication, keySet: cache))
        }
        let known = entries
        self.entries.withLock { $0 = known }
    }

    /// Whether an app is configured.
    func knows(app: String) -> Bool { entry(app) != nil }

    /// What a player of an app has to post.
    func possession(app: String) -> AppsFile.PossessionPolicy { entry(app)?.app.possession ?? .proof }

    private func entry(_ app: String) -> Entry? { entries.withLock { $0[app] } }

    /// Who sends a request about this app.
    ///
    /// - Throws: `AuthenticationError`.
    func caller(_ token: BearerToken, app: String, now: Date = Date()) async throws -> Caller {
        guard let entry = entry(app) else { throw AuthenticationError.rejected("the app is not known") }
        return try await caller(token, entry: entry, now: now)
    }

    /// Who sends a request that names no app: every caller that the credentials prove, as one secret may serve several
    /// of a studio's apps.
    ///
    /// - Throws: `AuthenticationError` when they prove none.
    func callers(_ token: BearerToken, now: Date = Date()) async throws -> [Caller] {
        var callers: [Caller] = []
        var failure = AuthenticationError.rejected("the credentials are not valid for any app")
        let entries = entries.withLock { Array($0.values) }
        for entry in entries {
            do {
                callers.append(try await caller(token, entry: entry, now: now))
            } catch let error as AuthenticationError {
                // "Perhaps later" is the more careful answer of the two; a lone app's says the most.
                if error.code == .unavailable || entries.count == 1 { failure = error }
            }
        }
        guard !callers.isEmpty else { throw failure }
        return callers
    }

    private func caller(_ token: BearerToken, entry: Entry, now: Date) async throws -> Caller {
        guard token.isServerKey else { return try await entry.verifier.verify(token.value, now: now) }
        guard token.matches(anyOf: entry.app.authentication.apiKeySHA256) else {
            throw AuthenticationError.rejected("the server API key is not one of this app's")
        }
        return .server(app: entry.app.bundleId)
    }
}
