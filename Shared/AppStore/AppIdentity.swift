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

extension AppIdentity {
    /// Whether this is the app's bundle id: by bytes, since to Swift's == the Kelvin sign is a K.
    func isNamed(_ bundleId: String) -> Bool {
        bundleId.utf8.elementsEqual(self.bundleId.utf8)
    }

    /// Checks the app's number, which Apple promises in production only (C6, step 7); nothing when we do not know ours.
    func checkNumber(_ number: Int64?, in environment: SignedDataEnvironment?) throws(SignedDataRejection) {
        guard environment == .production, let appAppleId, number != appAppleId else { return }
        throw SignedDataRejection(.appAppleIdMismatch, number == nil ? "no appAppleId" : "another app's appAppleId")
    }
}
