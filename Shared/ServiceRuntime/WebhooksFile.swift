import Foundation

/// Where to send webhooks, from a YAML file.
///
/// The path of a secret may be relative under systemd: it is a credential of `$CREDENTIALS_DIRECTORY` then.
///
/// ```yaml
/// endpoints:
///   - id: backend
///     url: https://game.example.com/hooks
///     secret_file: /run/secrets/webhook      # one secret a line: two while rotating
///     events: ["iap.transaction.*"]          # all where left out; likewise apps and environments
/// ```
package struct WebhooksFile: Sendable {
    /// One endpoint.
    package struct Endpoint: Sendable {
        /// Its name in tables, logs and metrics.
        package let id: String
        /// Where it is.
        package let url: String
        /// Standard Webhooks secrets, `whsec_…`; every one signs, so that they can be rotated.
        package let secrets: [Redacted<String>]
        /// Bundle ids; empty for all.
        package let apps: [String]
        /// Event types, `*` at the end for all that begin so; empty for all.
        package let events: [String]
        /// `production`, `sandbox`; empty for both.
        package let environments: [String]
        /// Allows plain HTTP and addresses inside the own network; for development.
        package let allowsPrivateAddresses: Bool

        /// Makes an endpoint.
        package init(
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
    package let endpoints: [Endpoint]

    /// Reads the file.
    ///
    /// - Throws: `SettingsFileError`.
    package static func load(path: String) throws -> WebhooksFile {
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
