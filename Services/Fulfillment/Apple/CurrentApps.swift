import ServiceRuntime
import Synchronization

/// What the apps file says of each app now; of an app that it does not list, the defaults hold.
final class CurrentApps: Sendable {
    private let apps: Mutex<[String: AppsFile.App]>

    /// - Parameter apps: nil where no file is configured.
    init(_ apps: AppsFile?) {
        self.apps = Mutex(apps?.apps ?? [:])
    }

    /// Serves these apps from now on.
    func use(_ apps: AppsFile) {
        self.apps.withLock { $0 = apps.apps }
    }

    /// Whether Countersign finishes the app's transactions.
    func finishes(_ app: String) -> Bool { apps.withLock { $0[app]?.finish == .server } }

    /// Whether purchases without an account token get one.
    func setsTokens(_ app: String) -> Bool { apps.withLock { $0[app]?.accountToken == .set } }

    /// Whether the workers can ask Apple about the app's transactions.
    func canBeAsked(_ app: String) -> Bool { apps.withLock { $0[app]?.canBeAsked ?? false } }

    /// Whether Apple's notifications go on to somebody.
    func forwards(_ app: String) -> Bool { apps.withLock { $0[app]?.forwarding != nil } }
}
