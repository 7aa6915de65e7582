import Foundation

/// Where to send webhooks, from a YAML file; a field that it does not know is a mistake.
///
/// The path of a secret may be relative under systemd: it is a credential of `$CREDENTIALS_DIRECTORY` then.
///
/// ```yaml
/// endpoints:
///   - id: backend
///     url: https://game.example.com/hooks
///     secret_file: /run/secrets/webhook      # one secret a line: two while rotating
///     events: ["iap.transaction.*"]          # all where left out; likewise apps and environments
///     ordered: true                          # an account's events one after the other; false where left out
/// ```
package struct WebhooksFile: Sendable {
    /// One endpoint.
    package struct Endpoint: Sendable, Equatable {
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
        /// Whether it is sent an account's events one after the other, in their order.
        package let isOrdered: Bool

        /// Makes an endpoint.
        package init(
            id: String, url: String, secrets: [Redacted<String>], apps: [String] = [], events: [String] = [],
            environments: [String] = [], allowsPrivateAddresses: Bool = false, isOrdered: Bool = false
        ) {
            self.id = id
            self.url = url
            self.secrets = secrets
            self.apps = apps
            self.events = events
            self.environments = environments
            self.allowsPrivateAddresses = allowsPrivateAddresses
            self.isOrdered = isOrdered
        }
    }

    /// The endpoints, as listed.
    package let endpoints: [Endpoint]

    /// Reads the file.
    ///
    /// - Parameter environment: where the variables are that the file names; the process's own by default.
    /// - Throws: `SettingsFileError`, which shows neither address nor secret.
    package static func load(
        path: String, environment: [String: String]? = nil
    ) throws(SettingsFileError) -> WebhooksFile {
        let environment = environment ?? ProcessInfo.processInfo.environment
        let loaded = try SettingsFile.load(StrictlyNamed<WebhooksDocument>.self, path: path)
        var ids: Set<String> = []
        var endpoints: [Endpoint] = []
        for (number, entry) in loaded.value.value.endpoints.map(\.value).enumerated() {
            func mistake(_ problem: String, _ field: SettingsStep) -> SettingsFileError {
                let line = loaded.lines.line(of: ["endpoints", SettingsStep(intValue: number), field])
                return SettingsFileError(path: path, problem: problem, line: line)
            }
            guard !entry.id.isEmpty else { throw mistake("an endpoint's `id` is empty", "id") }
            guard ids.insert(entry.id).inserted else { throw mistake("the endpoint \(entry.id) is listed twice", "id") }
            do {
                _ = try WebhookAddress(entry.url, allowsPrivateAddresses: entry.allow_private_addresses ?? false)
            } catch {
                throw mistake("the endpoint \(entry.id) \(error)", "url")
            }
            let secrets: [String]
            do { secrets = try Self.secrets(of: entry, path: path, environment: environment) } catch {
                throw mistake(error.problem, "secret_file")
            }
            guard !secrets.isEmpty else { throw mistake("the endpoint \(entry.id) has no secret", "id") }
            for name in entry.environments ?? [] where !["production", "sandbox"].contains(name) {
                throw mistake("an environment of \(entry.id) is neither production nor sandbox", "environments")
            }
            endpoints.append(entry.endpoint(secrets: secrets))
        }
        return WebhooksFile(endpoints: endpoints)
    }

    private static func secrets(
        of entry: WebhooksDocument.Entry, path: String, environment: [String: String]
    ) throws(SettingsFileError) -> [String] {
        var secrets = entry.secrets ?? []
        if let file = entry.secret_file {
            secrets += lines(try SettingsFile.secret(at: file, namedIn: path, environment: environment))
        }
        if let name = entry.secret_env { secrets += lines(environment[name] ?? "") }
        return secrets
    }

    private static func lines(_ text: String) -> [String] {
        text.split(whereSeparator: \.isWhitespace).map(String.init)
    }
}

/// The webhooks file as it is written; `WebhooksFile` says what it means.
// The names are the file's own.
// swift-format-ignore: AlwaysUseLowerCamelCase
struct WebhooksDocument: NamedFields {
    let endpoints: [StrictlyNamed<Entry>]

    enum CodingKeys: String, CodingKey, CaseIterable { case endpoints }

    struct Entry: NamedFields {
        let id: String
        let url: String
        let secrets: [String]?
        let secret_file: String?
        let secret_env: String?
        let apps: [String]?
        let events: [String]?
        let environments: [String]?
        let allow_private_addresses: Bool?
        let ordered: Bool?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case id, url, secrets, secret_file, secret_env, apps, events, environments, allow_private_addresses, ordered
        }

        func endpoint(secrets: [String]) -> WebhooksFile.Endpoint {
            WebhooksFile.Endpoint(
                id: id, url: url, secrets: secrets.map { Redacted($0) }, apps: apps ?? [], events: events ?? [],
                environments: environments ?? [], allowsPrivateAddresses: allow_private_addresses ?? false,
                isOrdered: ordered ?? false)
        }
    }
}
