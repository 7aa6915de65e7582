import AsyncHTTPClient
import Messages
import NIOHTTP1
import Persistence
import ServiceRuntime
import WebhookSigning

extension WebhookEndpoint {
    /// What stands for an address that cannot be read; nothing is ever sent there.
    private static let nowhere = "held.invalid"

    /// Makes one of what the database has of it.
    ///
    /// One that nothing can be sent to takes events all the same, so that none is lost to it: ``hold`` says why.
    ///
    /// - Parameters:
    ///   - seal: opens its secrets; nil where no key is configured.
    ///   - allowsPrivateAddresses: this process's setting; the database has no say in that.
    /// - Throws: `HTTPClientError`, which does not happen.
    init(_ stored: StoredEndpointStore.Live, seal: SecretSeal?, allowsPrivateAddresses: Bool) throws {
        var hold: String?
        let address = try? WebhookAddress(stored.settings.url, allowsPrivateAddresses: allowsPrivateAddresses)
        let request = address.flatMap { _ in try? HTTPClient.Request(url: stored.settings.url, method: .POST) }
        if request == nil { hold = "its address cannot be used: it must be https, without a user or a fragment" }
        var signer = WebhookSigner(secrets: [])
        do throws(Hold) { signer = try Self.signer(stored, seal: seal) } catch { hold = error.description }
        if !PurchaseEvent.schemaVersions.contains(stored.settings.schemaVersion) {
            hold = "it wants events of the version \(stored.settings.schemaVersion), which this program does not know"
        }
        let patterns = stored.settings.events.map(EventPattern.init)
        if patterns.contains(where: { $0 == nil }) { hold = "a pattern of its events cannot be read" }
        self.init(
            id: stored.id, request: try request ?? HTTPClient.Request(url: "https://\(Self.nowhere)/", method: .POST),
            host: address?.host ?? Self.nowhere, signer: signer, allowsPrivateAddresses: allowsPrivateAddresses,
            hold: hold, isOrdered: stored.settings.isOrdered, apps: stored.settings.apps,
            environments: stored.settings.environments,
            // Of patterns that are not all known, any may be meant.
            patterns: patterns.contains { $0 == nil } ? [] : patterns.compactMap { $0 })
    }

    private struct Hold: Error {
        let description: String
    }

    private static func signer(_ stored: StoredEndpointStore.Live, seal: SecretSeal?) throws(Hold) -> WebhookSigner {
        guard let seal else {
            throw Hold(description: "COUNTERSIGN_WEBHOOKS_KEY, which opens its sealed secrets, is not set")
        }
        var (secrets, keys): ([WebhookSecret], [WebhookSigningKey]) = ([], [])
        for secret in stored.secrets {
            let text: String
            do {
                text = try seal.open(secret.sealed, at: .init(endpoint: stored.id, secret: secret.id))
            } catch { throw Hold(description: "the secret \(secret.id) \(error)") }
            do {
                if secret.scheme == WebhookSigner.asymmetricScheme {
                    keys.append(try WebhookSigningKey(text))
                } else {
                    secrets.append(try WebhookSecret(text))
                }
            } catch { throw Hold(description: "the secret \(secret.id) cannot be used: \(error)") }
        }
        guard !secrets.isEmpty else {
            throw Hold(description: "it has no secret; `countersign webhooks rotate` makes one")
        }
        return WebhookSigner(secrets: secrets, keys: keys)
    }
}
