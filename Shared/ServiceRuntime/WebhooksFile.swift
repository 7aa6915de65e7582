import Foundation

/// Where to send webhooks, from a YAML file.
///
/// ```yaml
/// endpoints:
///   - id: backend
///     url: https://game.example.com/hooks
///     secret_file: /run/secrets/webhook      # one secret a line: two while rotating
///     events: ["iap.transaction.*"]          # all where left out; likewise apps and environments
/// ```
public struct WebhooksFile: Sendable {
    /// One endpoint.
    public struct Endpoint: Sendable {
        /// Its name in tables, logs and metrics.
        public let id: String
        /// Where it is.
        public let url: String
        /// Standard Webhooks secrets, `whsec_…`; every one signs, so that they can be rotated.
        public let secrets: [Redacted<String>]
        /// Bundle ids; empty for all.
        public let apps: [String]
        /// Event types, `*` at the end for all that begin so; empty for all.
        public let events: [String]
        /// `production`, `sandbox`; empty for both.
        public let environments: [String]
        /// Allows plain HTTP and addresses inside the own network; for development.
        public let allowsPrivateAddresses: Bool

        /// Makes an endpoint.
        public init(
            id: String, url: String, secrets: [Redacted<String>], apps: [String] = [], events: [String] = [],
            environments: [String] = [], allowsPrivateAddresses: Bool = false
        ) {
            self.id = id
            self.url = url
            self.secrets = secrets
            self.apps = apps
            self.events = events
            self.environments = environments
            self.allowsPrivateAddresses = allowsPrivateAddresses
        }
    }

    /// The endpoints, as listed.
    public let endpoints: [Endpoint]

    /// Reads the file.
    ///
    /// - Throws: `SettingsFileError`.
    public static func load(path: String) throws -> WebhooksFile {
        let document = try SettingsFile.load(Document.self, path: path)
        let endpoints = try document.endpoints.map { entry in
            let secrets = try secrets(of: entry, path: path)
            guard !secrets.isEmpty else {
                throw SettingsFileError(path: path, problem: "the endpoint \(entry.id) has no secret")
            }
            return Endpoint(
                id: entry.id, url: entry.url, secrets: secrets.map { Redacted($0) }, apps: entry.apps ?? [],
                events: entry.events ?? [], environments: entry.environments ?? [],
                allowsPrivateAddresses: entry.allow_private_addresses ?? false)
        }
        guard Set(endpoints.map(\.id)).count == endpoints.count else {
            throw SettingsFileError(path: path, problem: "an endpoint's id is listed twice")
        }
        return WebhooksFile(endpoints: endpoints)
    }

    private static func secrets(of entry: Document.Entry, path: String) throws -> [String] {
        var secrets = entry.secrets ?? []
        if let file = entry.secret_file { secrets += lines(try SettingsFile.secret(at: file, namedIn: path)) }
        if let name = entry.secret_env { secrets += lines(ProcessInfo.processInfo.environment[name] ?? "") }
        return secrets
    }

    private static func lines(_ text: String) -> [String] {
        text.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    // The names are the file's own.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    private struct Document: Decodable {
        let endpoints: [Entry]

        struct Entry: Decodable {
            let id: String
            let url: String
            let secrets: [String]?
            let secret_file: String?
            let secret_env: String?
            let apps: [String]?
            let events: [String]?
            let environments: [String]?
            let allow_private_addresses: Bool?
        }
    }
}
