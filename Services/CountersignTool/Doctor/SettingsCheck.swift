import AppStore
import EventProcessing
import PurchaseModel
import ServiceRuntime
import TrustedRootSettings
import WebhookSigning

/// Looks at the files that the services read, and at whom they trust.
struct SettingsCheck: Sendable {
    let settings: SettingReader

    /// The findings, one for each file and one for the roots.
    func run() -> [Finding] {
        var apps: AppsFile?
        var findings = [
            file("apps.file", "apps") { path in
                let file = try AppsFile.load(path: path)
                apps = file
                return Self.judge(file)
            },
            file("catalogue.file", "catalogue") { path in
                Self.judge(try CatalogueFile.load(path: path).catalogue, apps: apps)
            },
            webhooks(),
        ]
        findings.append(roots())
        if let denied = deniedCertificates() { findings.append(denied) }
        return findings
    }

    private func webhooks() -> Finding {
        let word = try? settings.string("webhooks", default: "")
        let hasKey: Bool
        do { hasKey = try WebhookSettings.seal(settings) != nil } catch {
            return .wrong("webhooks", "\(error)", remedy: "mend the key: the services refuse to start with it")
        }
        // A file beside it is a mistake to the notification service.
        if word?.lowercased() == "database", (try? settings.string("webhooks.file", default: "")) == "" {
            // The service's may be a credential that this tool does not see.
            guard hasKey else {
                return .warning(
                    "webhooks", "COUNTERSIGN_WEBHOOKS=database, and no COUNTERSIGN_WEBHOOKS_KEY is seen here",
                    remedy: "give receipt-intake and notification the same key (`openssl rand -base64 32`): without it "
                        + "notification does not start")
            }
            return .good("webhooks", "COUNTERSIGN_WEBHOOKS=database: all endpoints are in the database")
        }
        if word?.lowercased() == "none", (try? settings.string("webhooks.file", default: "")) == "" {
            return .good("webhooks", "COUNTERSIGN_WEBHOOKS=none: there is no webhooks file, and that is meant")
        }
        return file("webhooks.file", "webhooks") { path in Self.judge(try WebhooksFile.load(path: path)) }
    }

    private func file(_ key: String, _ subject: String, _ judge: (String) throws -> Finding) -> Finding {
        do {
            return try judge(try settings.requiredString(key, expected: "the path of a YAML file"))
        } catch {
            return .wrong(
                subject, "\(error)",
                remedy: "mend the file or the variable; services that run keep what it said before, and none starts")
        }
    }

    static func judge(_ apps: AppsFile) -> Finding {
        let open = apps.apps.values.filter { app in
            let access = app.authentication
            return access.hs256Secret == nil && access.jwksFile == nil && access.jwksURL == nil
                && access.serverKeys.isEmpty
        }
        if apps.apps.isEmpty {
            return .wrong("apps", "no app is configured", remedy: "list at least one app in the apps file")
        }
        if let app = open.map(\.bundleId).min() {
            return .wrong(
                "apps", "nobody can post for \(app): it has neither a JWT key nor an API key",
                remedy: "give it an `authentication`, or the file one for all apps")
        }
        let shared = apps.apps.values.filter { app in
            app.serverAPI.map { $0.keyId == app.subscriptionOffers?.key.keyId } ?? false
        }
        if let app = shared.map(\.bundleId).min() {
            return .warning(
                "apps", "\(app) signs offers with the key to Apple's servers, so that receipt-intake has it as well",
                remedy: "make a second key in App Store Connect for its `subscription_offers`")
        }
        return .good("apps", apps.apps.keys.sorted().joined(separator: ", "))
    }

    static func judge(_ catalogue: Catalogue, apps: AppsFile?) -> Finding {
        let products = catalogue.knownProducts
        let sellers = Set(products.map(\.app))
        if let apps, let app = Set(apps.apps.keys).subtracting(sellers).min() {
            return .warning(
                "catalogue", "\(app) has no products: whatever it sells is parked",
                remedy:
                    "list its products; orders that are parked until then are granted by themselves"
            )
        }
        if let apps, let app = sellers.subtracting(apps.apps.keys).min() {
            return .warning(
                "catalogue", "\(app) is not in the apps file: nothing can be posted for it",
                remedy: "add it to the apps file, or check its bundle id")
        }
        return .good("catalogue", "\(products.count) products of \(sellers.count) apps")
    }

    static func judge(_ webhooks: WebhooksFile) -> Finding {
        for endpoint in webhooks.endpoints {
            for secret in endpoint.secrets {
                do {
                    _ = try WebhookSecret(secret.value)
                } catch {
                    return .wrong(
                        "webhooks", "a secret of \(endpoint.id) is no webhook secret: \(error)",
                        remedy: "make one: whsec_ and the base64 of 24 to 64 random bytes")
                }
            }
        }
        if let endpoint = webhooks.endpoints.first(where: \.allowsPrivateAddresses) {
            return .warning(
                "webhooks", "\(endpoint.id) may be at a private address and without TLS",
                remedy: "fine for development; in production remove allow_private_addresses")
        }
        if webhooks.endpoints.isEmpty {
            return .warning("webhooks", "there is no endpoint: nobody is told", remedy: "list the studio's backend")
        }
        return .good("webhooks", webhooks.endpoints.map(\.id).joined(separator: ", "))
    }

    /// The roots of the tool's own environment; what a service runs with, its admin port tells (`RootCheck`).
    private func roots() -> Finding {
        do {
            var roots: [RootUse: TrustedRoots] = [:]
            for use in RootUse.allCases { roots[use] = try TrustedRootSettings.configured(settings, for: use) }
            if try TrustedRootSettings.configuredXcode(settings) != nil { _ = try TrustedRootSettings.xcode(settings) }
            return RootCheck.judge(environment: roots)
        } catch {
            return .wrong(
                RootCheck.subject, "\(error)", remedy: "give it SHA-256 fingerprints, or leave it out")
        }
    }

    /// How many certificates are denied; nil where none is.
    private func deniedCertificates() -> Finding? {
        do {
            let denied = try TrustedRoots.appleRootG3.denying(
                try settings.stringList("trusted.denied_certificates")
            ).denied
            return denied.isEmpty ? nil : Self.judge(denied: denied)
        } catch {
            return .wrong(
                "denied", "\(error)",
                remedy: "mend COUNTERSIGN_TRUSTED_DENIED_CERTIFICATES; the services refuse to start with it")
        }
    }

    static func judge(denied: Set<String>) -> Finding {
        // Whatever either root signs is signed under it: one of Apple's own in here ends all sales.
        let apples = TrustedRoots.appleRootG3.union(.appleRoot).fingerprints.intersection(denied)
        if let root = apples.min() {
            return .warning(
                "denied", "a root of Apple's is denied: \(root.prefix(16))…: nothing under it is genuine",
                remedy: "take it out of COUNTERSIGN_TRUSTED_DENIED_CERTIFICATES, restart intake and the workers, then "
                    + "`countersign submissions retry --rejected-reason certificate_denied`")
        }
        let names = denied.sorted().prefix(4).map { "\($0.prefix(16))…" }.joined(separator: ", ")
        return .good("denied", "\(denied.count) certificates: \(names)")
    }
}
