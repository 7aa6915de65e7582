import AppStoreServerAPI
import ArgumentParser
import Foundation
import ServiceRuntime

extension AppsFile.SandboxPolicy: ExpressibleByArgument {}
extension AppsFile.ReceiptPolicy: ExpressibleByArgument {}
extension AppsFile.PossessionPolicy: ExpressibleByArgument {}

/// What App Store Connect knows of an app, as options.
struct AppStoreConnectOptions: ParsableArguments {
    @Option(help: "The number of the app in its store address (Apple ID in App Store Connect).")
    var appAppleId: Int64?

    @Option(help: "The issuer of the In-App Purchase key, a UUID.")
    var issuerId: String?

    @Option(help: "The id of the In-App Purchase key.")
    var keyId: String?

    @Option(help: "The .p8 file of that key, which is copied to the secrets.")
    var privateKey: String?

    @Option(help: "A file with the app's shared secret, for verifyReceipt; it is copied to the secrets.")
    var sharedSecretFile: String?

    func validate() throws {
        if let appAppleId, appAppleId <= 0 { throw ValidationError("--app-apple-id is a number above 0") }
    }

    /// Asks for what no option says, where a person is there.
    mutating func askForMissing() throws {
        if appAppleId == nil {
            while let answer = Terminal.optional(nil, "The app's Apple ID, a number") {
                appAppleId = Int64(answer)
                if appAppleId.map({ $0 > 0 }) == true { break }
            }
        }
        issuerId = Terminal.optional(issuerId, "The issuer ID of the In-App Purchase key")
        guard issuerId != nil || keyId != nil || privateKey != nil else { return }
        issuerId = try Terminal.required(issuerId, "--issuer-id", "Its issuer ID")
        keyId = try Terminal.required(keyId, "--key-id", "Its key ID")
        privateKey = try Terminal.required(privateKey, "--private-key", "The path of its .p8 file")
    }

    /// The key, read and tried; nil where none is named.
    ///
    /// - Throws: `ToolFailure` for a file that is no such key.
    func key() throws -> AppStoreKey? {
        guard issuerId != nil || keyId != nil || privateKey != nil else { return nil }
        guard let issuerId, let keyId, let privateKey else {
            throw ToolFailure("a key needs all three: --issuer-id, --key-id and --private-key")
        }
        let text = try SettingsDisk.input(privateKey)
        do {
            _ = try SigningKey(issuerId: issuerId, keyId: keyId, pem: text)
        } catch {
            throw ToolFailure("\(privateKey) is not the .p8 file of an In-App Purchase key")
        }
        return AppStoreKey(issuerId: issuerId, keyId: keyId, text: text)
    }
}

/// A key of the App Store Server API that is to be written down.
struct AppStoreKey: Sendable {
    static let secretName = "app-store-key.p8"

    let issuerId: String
    let keyId: String
    /// The text of the .p8 file.
    let text: String
}

/// An app that is to be written down.
struct NewApp {
    static let sharedSecretName = "shared-secret"

    var bundleId: String
    var appAppleId: Int64?
    var released: Bool?
    var sandbox: AppsFile.SandboxPolicy?
    var receipts: AppsFile.ReceiptPolicy?
    var possession: AppsFile.PossessionPolicy?
    var sharedSecret: String?
    var key: AppStoreKey?
    var offers = NewOffers()
    /// Whether the key is written beside the apps, for every app that has none of its own.
    var sharesKey = false

    /// Adds it to the apps file.
    ///
    /// - Throws: `ToolFailure`, where the app is there already for instance.
    func add(to change: inout SettingsChange, in places: SettingsPlaces, template: String? = nil) throws {
        var apps = try change.settings(.apps, template: template)
        guard !apps.bundleIds.contains(bundleId) else {
            throw ToolFailure("\(bundleId) is in \(apps.path) already; change it there")
        }
        var fields: [(name: String, value: SettingValue)] = [("bundle_id", .text(bundleId))]
        if let appAppleId { fields.append(("app_apple_id", .number(appAppleId))) }
        if let released { fields.append(("released", .flag(released))) }
        if let sandbox { fields.append(("sandbox", .text(sandbox.rawValue))) }
        if let receipts { fields.append(("receipts", .text(receipts.rawValue))) }
        if let possession { fields.append(("possession", .text(possession.rawValue))) }
        if let sharedSecret {
            let name = change.add(secret: Self.sharedSecretName, or: bundleId, sharedSecret)
            fields.append(("shared_secret_file", .text(places.reference(to: name))))
        }
        if let key, !apps.hasSharedKey(key) {
            let name = change.add(secret: AppStoreKey.secretName, or: key.keyId, key.text)
            let entry = SettingValue.fields([
                ("issuer_id", .text(key.issuerId)), ("key_id", .text(key.keyId)),
                ("private_key_file", .text(places.reference(to: name))),
            ])
            if sharesKey, !apps.has([.field("app_store_server_api")]) {
                try apps.add("app_store_server_api", entry, toMappingAt: [])
            } else {
                fields.append(("app_store_server_api", entry))
            }
        }
        if let entry = try offers.field(of: bundleId, in: &change, places) {
            fields.append(("subscription_offers", entry))
        }
        try apps.add(.fields(fields), toListAt: [.field("apps")])
        change.set(.apps, apps.text)
    }
}

extension SettingsText {
    /// The apps of an apps file, as they are listed.
    var bundleIds: [String?] { texts("bundle_id", ofListAt: [.field("apps")]) }

    /// The issuer of an app's key, or of the one beside the apps; nil where there is neither.
    func issuerId(of bundleId: String) -> String? {
        let own = bundleIds.firstIndex(of: bundleId).flatMap {
            text([.field("apps"), .entry($0), .field("app_store_server_api"), .field("issuer_id")])
        }
        return own ?? text([.field("app_store_server_api"), .field("issuer_id")])
    }

    /// Whether a key stands beside the apps.
    func hasSharedKey(_ key: AppStoreKey) -> Bool {
        let shared = [Step.field("app_store_server_api")]
        return text(shared + [.field("issuer_id")]) == key.issuerId && text(shared + [.field("key_id")]) == key.keyId
    }
}
