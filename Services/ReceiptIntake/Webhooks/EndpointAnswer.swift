import Foundation
import Persistence

/// An endpoint as it is told to the studio's backend: `WebhookEndpoint` in the OpenAPI document.
struct EndpointAnswer: Encodable, Sendable {
    let id: String
    let app: String
    let url: String
    let description: String
    let events: [String]
    let environments: [String]
    let schemaVersion: String
    let isOrdered: Bool
    let enabled: Bool
    /// When and why it was switched off.
    let disabledAt: Date?
    let disabledReason: String?
    let failingSince: Date?
    let succeededAt: Date?
    let createdAt: Date
    let changedAt: Date
    let secrets: [Secret]
    let lastPing: Ping?
    /// Told once: by the answer that made it.
    let secret: String?
    let publicKey: String?

    enum CodingKeys: String, CodingKey {
        case id, app, url, description, events, environments, enabled, secrets, secret
        case schemaVersion = "schema_version"
        case isOrdered = "ordered"
        case disabledAt = "disabled_at"
        case disabledReason = "disabled_reason"
        case failingSince = "failing_since"
        case succeededAt = "succeeded_at"
        case createdAt = "created_at"
        case changedAt = "changed_at"
        case lastPing = "last_ping"
        case publicKey = "public_key"
    }

    /// Something that signs, without what is secret of it.
    struct Secret: Encodable, Sendable {
        let id: String
        let scheme: String
        let publicKey: String?
        let createdAt: Date
        let expiresAt: Date?

        enum CodingKeys: String, CodingKey {
            case id, scheme
            case publicKey = "public_key"
            case createdAt = "created_at"
            case expiresAt = "expires_at"
        }
    }

    /// The newest test message, and what came of it: `WebhookPing` in the OpenAPI document.
    struct Ping: Encodable, Sendable {
        let id: String
        /// `pending`, `delivered`, `failed`.
        let state: String
        let requestedAt: Date
        let finishedAt: Date?
        let status: Int?
        let error: String?
        let milliseconds: Int?

        enum CodingKeys: String, CodingKey {
            case id, state, status, error, milliseconds
            case requestedAt = "requested_at"
            case finishedAt = "finished_at"
        }

        init(_ ping: WebhookPingStore.Ping) {
            id = ping.id
            state = ping.finishedAt == nil ? "pending" : ping.error == nil ? "delivered" : "failed"
            (requestedAt, finishedAt) = (ping.askedAt, ping.finishedAt)
            (status, error, milliseconds) = (ping.status, ping.error, ping.milliseconds)
        }
    }

    /// - Parameters:
    ///   - secret: a secret that this request made.
    ///   - publicKey: of a key that this request made.
    init(_ endpoint: StoredEndpoint, app: String, secret: String? = nil, publicKey: String? = nil) {
        id = endpoint.id
        self.app = app
        let settings = endpoint.settings
        (url, description, events) = (settings.url, settings.description, settings.events)
        (environments, schemaVersion) = (settings.environments, settings.schemaVersion)
        isOrdered = settings.isOrdered
        let state = endpoint.state
        enabled = state.disabledAt == nil
        (disabledAt, disabledReason) = (state.disabledAt, state.disabledReason)
        (failingSince, succeededAt) = (state.failingSince, state.succeededAt)
        (createdAt, changedAt) = (endpoint.createdAt, endpoint.changedAt)
        secrets = endpoint.secrets.map {
            Secret(
                id: $0.id, scheme: $0.scheme, publicKey: $0.publicKey, createdAt: $0.createdAt, expiresAt: $0.expiresAt)
        }
        lastPing = endpoint.ping.map(Ping.init)
        self.secret = secret
        self.publicKey = publicKey
    }
}

/// `DELETE /v1/webhooks/endpoints/{id}`: `WebhookEndpointRemoved` in the OpenAPI document.
struct EndpointRemovedAnswer: Encodable, Sendable {
    let id: String
    let removed: Bool
}
