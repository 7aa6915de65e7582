import AppStoreServerAPI
import ServiceRuntime
import Synchronization

/// The apps that the worker judges for, and with what Apple is asked about each; the next look may find others.
final class ServedApps: Sendable {
    /// Makes the client of an app that has a key.
    typealias MakeClient = @Sendable (_ key: SigningKey, _ bundleId: String) -> AppStoreServerClient

    private struct State {
        var apps: [String: AppsFile.App] = [:]
        var clients: [String: AppStoreServerClient] = [:]
    }

    private let makeClient: MakeClient
    private let state = Mutex(State())

    /// - Throws: `SettingError`, for a key of the App Store Server API that cannot be used.
    init(_ apps: AppsFile, makeClient: @escaping MakeClient) throws(SettingError) {
        self.makeClient = makeClient
        try use(apps)
    }

    /// The app of a bundle id.
    subscript(bundleId: String) -> AppsFile.App? { state.withLock { $0.apps[bundleId] } }

    /// All apps, in no order.
    var all: [AppsFile.App] { state.withLock { Array($0.apps.values) } }

    /// Asks Apple about an app; nil for one without a key.
    func client(of bundleId: String) -> AppStoreServerClient? { state.withLock { $0.clients[bundleId] } }

    /// Asks Apple about some app, if possible one that production knows; nil where none has a key.
    ///
    /// Another each time: what is wrong with one app's key is not wrong with the host.
    var anyClient: AppStoreServerClient? {
        state.withLock { state in
            let released = state.clients.filter { state.apps[$0.key]?.isReleased ?? false }
            return (released.isEmpty ? state.clients : released).randomElement()?.value
        }
    }

    /// The apps that have a key, sorted.
    var withClients: [String] { state.withLock { $0.clients.keys.sorted() } }

    /// Serves these apps from now on.
    ///
    /// What is being asked is asked to its end, with the key before.
    ///
    /// - Throws: `SettingError`, for a key that cannot be used; then those before stay.
    func use(_ apps: AppsFile) throws(SettingError) {
        var clients: [String: AppStoreServerClient] = [:]
        for (bundleId, key) in try Self.keys(of: apps) { clients[bundleId] = makeClient(key, bundleId) }
        let state = State(apps: apps.apps, clients: clients)
        self.state.withLock { $0 = state }
    }

    /// The keys of the App Store Server API, by bundle id.
    ///
    /// - Throws: `SettingError`, for one that cannot be used.
    static func keys(of apps: AppsFile) throws(SettingError) -> [String: SigningKey] {
        var keys: [String: SigningKey] = [:]
        for app in apps.apps.values {
            guard let entry = app.serverAPI else { continue }
            guard
                let key = try? SigningKey(
                    issuerId: entry.issuerId, keyId: entry.keyId, pem: entry.privateKey.value)
            else {
                throw SettingError.invalid(
                    "apps.file", expected: "a P-256 key in PEM at `private_key` of \(app.bundleId)", found: nil)
            }
            keys[app.bundleId] = key
        }
        return keys
    }
}
