import Foundation

/// The apps that this installation serves, from a YAML file.
///
/// ```yaml
/// authentication:               # for every app that has none of its own
///   jwt: { hs256_secret_file: /run/secrets/jwt, issuer: game-backend, audience: countersign }
///   api_keys_sha256: [2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae]
/// apps:
///   - bundle_id: com.example.game
///     app_apple_id: 1000000001
///     released: true            # until it is, production does not know its key; default: whether it has an app_apple_id
///     sandbox: accept           # or test, or refuse; App Review buys in the sandbox
///     receipts: offline         # or verify_receipt, or offline_then_verify_receipt
///     shared_secret_file: /run/secrets/shared-secret            # for verifyReceipt; or shared_secret_env
///     app_store_server_api:     # for every app, when it stands beside `apps`
///       { issuer_id: 57246542-96fe-1a63-e053-0824d011072a, key_id: 2X9R4HXF34, private_key_file: /run/secrets/key.p8 }
/// ```
public struct AppsFile: Sendable {
    /// One app.
    public struct App: Sendable {
        /// As in App Store Connect; compared exactly.
        public let bundleId: String
        /// The number in the app's store address; nil while the app was never released.
        public let appAppleId: Int64?
        /// Whether the app was ever released: production answers 401 for one that was not.
        public let isReleased: Bool
        /// What becomes of sandbox purchases.
        public let sandbox: SandboxPolicy
        /// How receipts are verified.
        public let receipts: ReceiptPolicy
        /// What verifyReceipt wants to know of apps with subscriptions.
        public let sharedSecret: Redacted<String>?
        /// The key of the App Store Server API; nil where Apple cannot be asked about an id.
        public let serverAPI: ServerAPIKey?
        /// How callers prove who they are.
        public let authentication: Authentication
    }

    /// What becomes of an app's sandbox purchases; they never touch production's ledger.
    public enum SandboxPolicy: String, Sendable, Hashable, CaseIterable {
        /// Granted in the sandbox's own ledger.
        case accept
        /// The same, and marked as test purchases wherever they are told of.
        case test
        /// Refused; App Review cannot buy then.
        case refuse
    }

    /// How an app's receipts are verified.
    public enum ReceiptPolicy: String, Sendable, Hashable, CaseIterable {
        /// By their signature alone.
        case offline
        /// By asking Apple's verifyReceipt.
        case verifyReceipt = "verify_receipt"
        /// By their signature, with what verifyReceipt knows beyond it when it answers in time.
        case offlineThenVerifyReceipt = "offline_then_verify_receipt"
    }

    /// A key of the App Store Server API, as App Store Connect gives it out.
    public struct ServerAPIKey: Sendable {
        /// The issuer's id, a UUID.
        public let issuerId: String
        /// The key's id.
        public let keyId: String
        /// The text of the `.p8` file.
        public let privateKey: Redacted<String>
    }

    /// How callers of an app prove who they are.
    public struct Authentication: Sendable {
        /// The secret of JWTs signed with HS256.
        public let hs256Secret: Redacted<String>?
        /// A file of public keys (RFC 7517).
        public let jwksFile: String?
        /// An address of public keys (RFC 7517).
        public let jwksURL: String?
        /// What `iss` must be.
        public let issuer: String?
        /// What `aud` must hold.
        public let audience: String?
        /// SHA-256 of each server API key, as lower-case hexadecimal digits.
        public let apiKeySHA256: [String]
    }

    /// The apps by bundle id.
    public let apps: [String: App]

    /// Reads the file.
    ///
    /// - Throws: `SettingsFileError`.
    public static func load(path: String) throws -> AppsFile {
        let document = try SettingsFile.load(Document.self, path: path)
        var apps: [String: App] = [:]
        for entry in document.apps {
            let app = try app(entry, document, path: path)
            guard apps.updateValue(app, forKey: entry.bundle_id) == nil else {
                throw SettingsFileError(path: path, problem: "the app \(entry.bundle_id) is listed twice")
            }
        }
        return AppsFile(apps: apps)
    }

    private static func app(_ entry: Document.Entry, _ document: Document, path: String) throws -> App {
        let secret = try secret(
            file: entry.shared_secret_file, variable: entry.shared_secret_env, of: entry.bundle_id, path: path)
        return App(
            bundleId: entry.bundle_id, appAppleId: entry.app_apple_id,
            isReleased: entry.released ?? (entry.app_apple_id != nil),
            sandbox: try choice(entry.sandbox, or: .accept, "sandbox", of: entry.bundle_id, path: path),
            receipts: try choice(entry.receipts, or: .offline, "receipts", of: entry.bundle_id, path: path),
            sharedSecret: secret,
            serverAPI: try serverAPI(entry.app_store_server_api ?? document.app_store_server_api, entry, path: path),
            authentication: try authentication(entry.authentication ?? document.authentication, path: path))
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ text: String?, or standard: Choice, _ field: String, of app: String, path: String
    ) throws -> Choice {
        guard let text else { return standard }
        guard let choice = Choice(rawValue: text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw SettingsFileError(
                path: path, problem: "`\(field)` of \(app) is \"\(text)\", not one of \(known)")
        }
        return choice
    }

    private static func serverAPI(
        _ entry: Document.Key?, _ app: Document.Entry, path: String
    ) throws -> ServerAPIKey? {
        guard let entry else { return nil }
        let key = try secret(
            file: entry.private_key_file, variable: entry.private_key_env, of: app.bundle_id, path: path)
        guard let key else {
            throw SettingsFileError(
                path: path,
                problem: "`app_store_server_api` of \(app.bundle_id) lacks `private_key_file` or `private_key_env`")
        }
        return ServerAPIKey(issuerId: entry.issuer_id, keyId: entry.key_id, privateKey: key)
    }

    /// A secret that stands in a file or in a variable of the environment; an empty one is a mistake.
    private static func secret(
        file: String?, variable: String?, of app: String, path: String
    ) throws -> Redacted<String>? {
        var text: String?
        if let file { text = try SettingsFile.secret(at: file, namedIn: path) }
        if let variable {
            text = ProcessInfo.processInfo.environment[variable]
            guard text != nil else {
                throw SettingsFileError(path: path, problem: "\(variable), which \(app) names, is not set")
            }
        }
        guard let text else { return nil }
        guard !text.isEmpty else { throw SettingsFileError(path: path, problem: "a secret of \(app) is empty") }
        return Redacted(text)
    }

    private static func authentication(_ entry: Document.Access?, path: String) throws -> Authentication {
        let jwt = entry?.jwt
        var secret = jwt?.hs256_secret
        if let file = jwt?.hs256_secret_file { secret = try SettingsFile.secret(at: file, namedIn: path) }
        if let name = jwt?.hs256_secret_env { secret = ProcessInfo.processInfo.environment[name] }
        // RFC 7518, section 3.2: an HS256 key has at least as many bits as the hash.
        if let secret, secret.utf8.count < 32 {
            throw SettingsFileError(path: path, problem: "the HS256 secret is shorter than 32 bytes")
        }
        let keys = (entry?.api_keys_sha256 ?? []).map { $0.lowercased() }
        for key in keys where key.count != 64 || !key.allSatisfy(\.isHexDigit) {
            throw SettingsFileError(path: path, problem: "an entry of `api_keys_sha256` is not 64 hexadecimal digits")
        }
        return Authentication(
            hs256Secret: secret.map { Redacted($0) }, jwksFile: jwt?.jwks_file, jwksURL: jwt?.jwks_url,
            issuer: jwt?.issuer, audience: jwt?.audience, apiKeySHA256: keys)
    }

    // The names are the file's own.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    private struct Document: Decodable {
        let authentication: Access?
        let app_store_server_api: Key?
        let apps: [Entry]

        struct Entry: Decodable {
            let bundle_id: String
            let app_apple_id: Int64?
            let released: Bool?
            let sandbox: String?
            let receipts: String?
            let shared_secret_file: String?
            let shared_secret_env: String?
            let app_store_server_api: Key?
            let authentication: Access?
        }

        struct Key: Decodable {
            let issuer_id: String
            let key_id: String
            let private_key_file: String?
            let private_key_env: String?
        }

        struct Access: Decodable {
            let jwt: Token?
            let api_keys_sha256: [String]?
        }

        struct Token: Decodable {
            let hs256_secret: String?
            let hs256_secret_file: String?
            let hs256_secret_env: String?
            let jwks_file: String?
            let jwks_url: String?
            let issuer: String?
            let audience: String?
        }
    }
}
