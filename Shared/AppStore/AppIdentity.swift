/// An app of the App Store, as Apple names it.
public struct AppIdentity: Sendable, Hashable {
    /// The bundle identifier, compared exactly: Apple's are case-sensitive.
    public let bundleId: String
    /// The app's numeric id in App Store Connect; Apple names it in production notifications only.
    public let appAppleId: Int64?

    /// Names an app.
    public init(bundleId: String, appAppleId: Int64? = nil) {
        self.bundleId = bundleId
        self.appAppleId = appAppleId
    }
}
