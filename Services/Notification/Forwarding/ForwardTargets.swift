import ServiceRuntime
import Synchronization

/// Where each app's notifications of Apple's go on to; the next look at the apps file may find others.
final class ForwardTargets: Sendable {
    private let endpoints = Mutex<[String: WebhookEndpoint]>([:])

    /// - Parameter path: the apps file's, for errors; nil where none is configured.
    /// - Throws: `SettingsFileError`, for an address that cannot be used.
    init(_ apps: AppsFile?, path: String?) throws(SettingsFileError) {
        if let apps { try use(apps, path: path ?? "") }
    }

    /// Sends to these from now on.
    ///
    /// - Throws: `SettingsFileError`; then those before stay.
    func use(_ apps: AppsFile, path: String) throws(SettingsFileError) {
        var endpoints: [String: WebhookEndpoint] = [:]
        for app in apps.apps.values {
            guard let forwarding = app.forwarding else { continue }
            // It is no webhook of ours: nothing is signed by us, and no table knows its name.
            endpoints[app.bundleId] = try WebhookEndpoint(
                WebhooksFile.Endpoint(
                    id: "apple:\(app.bundleId)", url: forwarding.url, secrets: [],
                    allowsPrivateAddresses: forwarding.allowsPrivateAddresses), path: path)
        }
        let new = endpoints
        self.endpoints.withLock { $0 = new }
    }

    /// The apps that have one, sorted.
    var apps: [String] { endpoints.withLock { $0.keys.sorted() } }

    /// The one of an app.
    subscript(app: String) -> WebhookEndpoint? { endpoints.withLock { $0[app] } }

    /// All of them.
    var all: [WebhookEndpoint] { endpoints.withLock { Array($0.values) } }
}
