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
///     sandbox: accept           # or refuse; App Review buys in the sandbox
/// ```
public struct AppsFile: Sendable {
    /// One app.
    public struct App: Sendable {
        /// As in App Store Connect; compared exactly.
        public let bundleId: String
        /// The number in the app's store address; nil while the app was never released.
        public let appAppleId: Int64?
        /// Whether sandbox purchases are granted (in the sandbox's own ledger).
        public let acceptsSandbox: Bool
        /// How callers prove who they are.
        public let authentication: Authentication
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
            let policy = entry.sandbox ?? "accept"
            guard policy == "accept" || policy == "refuse" else {
                throw SettingsFileError(
                    path: path, problem: "`sandbox` of \(entry.bundle_id) is \"\(policy)\", not accept or refuse")
            }
            let app = App(
                bundleId: entry.bundle_id, appAppleId: entry.app_apple_id, acceptsSandbox: policy == "accept",
                authentication: try authentication(entry.authentication ?? document.authentication, path: path))
            guard apps.updateValue(app, forKey: entry.bundle_id) == nil else {
                throw SettingsFileError(path: path, problem: "the app \(entry.bundle_id) is listed twice")
            }
        }
        return AppsFile(apps: apps)
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
        let apps: [Entry]

        struct Entry: Decodable {
            let bundle_id: String
            let app_apple_id: Int64?
            let sandbox: String?
            let authentication: Access?
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
