import AsyncHTTPClient
import NIOHTTP1
import ServiceRuntime
import WebhookSigning

/// An endpoint of the webhooks file or of the database, checked.
struct WebhookEndpoint: Sendable {
    /// Its name in tables, logs and metrics.
    let id: String
    /// A POST to its address without headers and body, so that the address is read once.
    let request: HTTPClient.Request
    /// The address's host, without the brackets of an IPv6 address, spelt as in the address.
    let host: String
    /// Signs with every live secret.
    let signer: WebhookSigner
    /// Allows plain HTTP and addresses inside the own network.
    let allowsPrivateAddresses: Bool
    /// Why nothing can be sent to it now, so that its deliveries are made and wait; nil where something can.
    let hold: String?
    /// Whether an account's events are sent one after the other, in their order.
    let isOrdered: Bool

    private let apps: Set<String>
    private let environments: Set<String>
    private let patterns: [EventPattern]

    init(
        id: String, request: HTTPClient.Request, host: String, signer: WebhookSigner, allowsPrivateAddresses: Bool,
        hold: String?, isOrdered: Bool, apps: [String], environments: [String], patterns: [EventPattern]
    ) {
        self.id = id
        self.request = request
        self.host = host
        self.signer = signer
        self.allowsPrivateAddresses = allowsPrivateAddresses
        self.hold = hold
        self.isOrdered = isOrdered
        self.apps = Set(apps)
        self.environments = Set(environments)
        self.patterns = patterns
    }

    /// Checks an endpoint.
    ///
    /// - Parameter path: the file's, for the error.
    /// - Throws: `SettingsFileError`, which shows neither address nor secret.
    init(_ endpoint: WebhooksFile.Endpoint, path: String) throws(SettingsFileError) {
        func mistake(_ problem: String) -> SettingsFileError {
            SettingsFileError(path: path, problem: "the endpoint \(endpoint.id) \(problem)")
        }
        let address: WebhookAddress
        do {
            address = try WebhookAddress(endpoint.url, allowsPrivateAddresses: endpoint.allowsPrivateAddresses)
        } catch {
            throw mistake("\(error)")
        }
        var secrets: [WebhookSecret] = []
        for secret in endpoint.secrets {
            do { secrets.append(try WebhookSecret(secret.value)) } catch {
                throw mistake("has a secret that cannot be used: \(error)")
            }
        }
        var patterns: [EventPattern] = []
        for text in endpoint.events {
            guard let pattern = EventPattern(text) else {
                throw mistake("has a pattern of events that is no type with at most one * at its end")
            }
            patterns.append(pattern)
        }
        guard let request = try? HTTPClient.Request(url: endpoint.url, method: .POST) else {
            throw mistake("has no address of the form https://host/path")
        }
        self.init(
            id: endpoint.id, request: request, host: address.host, signer: WebhookSigner(secrets: secrets),
            allowsPrivateAddresses: endpoint.allowsPrivateAddresses, hold: nil, isOrdered: endpoint.isOrdered,
            apps: endpoint.apps, environments: endpoint.environments, patterns: patterns)
    }

    /// Whether the endpoint is told of an event.
    func takes(_ event: EventSummary) -> Bool {
        (apps.isEmpty || apps.contains(event.app))
            && (environments.isEmpty || environments.contains(event.environment))
            && (patterns.isEmpty || patterns.contains { $0.matches(event.type) })
    }
}
