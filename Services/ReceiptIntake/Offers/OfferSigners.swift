import ServiceRuntime
import Synchronization

/// What signs the subscription offers of each app; others at the next request, once the apps file says so.
final class OfferSigners: Sendable {
    private let signers = Mutex<[String: OfferSigner]>([:])

    /// - Parameter path: the apps file, named in what is thrown.
    /// - Throws: `SettingsFileError` for a key that is none.
    init(_ apps: AppsFile, path: String) throws {
        try use(apps, path: path)
    }

    /// Signs with the keys of another file from now on; with one that has a mistake, as before.
    ///
    /// - Throws: `SettingsFileError` for a key that is none.
    func use(_ apps: AppsFile, path: String) throws {
        var signers: [String: OfferSigner] = [:]
        for app in apps.apps.values {
            guard let offers = app.subscriptionOffers else { continue }
            do {
                signers[app.bundleId] = try OfferSigner(bundleId: app.bundleId, offers: offers)
            } catch {
                // Which text it is, is a secret.
                throw SettingsFileError(
                    path: path,
                    problem: "the private key of \(app.bundleId)'s `subscription_offers` is no key of P-256")
            }
        }
        let known = signers
        self.signers.withLock { $0 = known }
    }

    /// What signs the offers of an app; nil where none are signed.
    func signer(app: String) -> OfferSigner? { signers.withLock { $0[app] } }
}
