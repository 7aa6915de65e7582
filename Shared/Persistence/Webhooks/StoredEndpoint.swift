package import Foundation

/// What somebody chooses of an endpoint.
package struct EndpointSettings: Sendable, Equatable {
    /// Where it is.
    package var url: String
    /// In its owner's words.
    package var description: String
    /// Bundle ids of the apps that it is told of; empty for all.
    package var apps: [String]
    /// `production`, `sandbox`; empty for both.
    package var environments: [String]
    /// Types of events, or beginnings and a `*`; empty for all.
    package var events: [String]
    /// The shape of events that its receiver was written for.
    package var schemaVersion: String
    /// Whether an account's events are sent one after the other, in their order.
    package var isOrdered: Bool

    /// Makes some.
    package init(
        url: String, description: String = "", apps: [String] = [], environments: [String] = [],
        events: [String] = [], schemaVersion: String, isOrdered: Bool = false
    ) {
        self.url = url
        self.description = description
        self.apps = apps
        self.environments = environments
        self.events = events
        self.schemaVersion = schemaVersion
        self.isOrdered = isOrdered
    }

    /// The names of what differs, for the audit log: an address may have a secret in it, so that values are not told.
    func changes(from old: EndpointSettings) -> [String] {
        let differs = [
            ("url", url != old.url), ("description", description != old.description), ("apps", apps != old.apps),
            ("environments", environments != old.environments), ("events", events != old.events),
            ("schema_version", schemaVersion != old.schemaVersion), ("ordered", isOrdered != old.isOrdered),
        ]
        return differs.filter(\.1).map(\.0)
    }
}

/// An endpoint of the database, as its owner may see it: without secrets.
package struct StoredEndpoint: Sendable, Equatable {
    /// What every id begins with; a name of the webhooks file does not.
    package static let idPrefix = "we_"

    /// `we_` and 32 hexadecimal digits.
    package let id: String
    package let settings: EndpointSettings
    package let createdAt: Date
    package let changedAt: Date
    package let state: State
    /// Those that sign, the newest first.
    package let secrets: [Secret]
    /// The newest test message; nil where there was none.
    package let ping: WebhookPingStore.Ping?

    /// How an endpoint fares.
    package struct State: Sendable, Equatable {
        /// When it was switched off; nil while it is on.
        package let disabledAt: Date?
        package let disabledReason: String?
        /// Since when it has only failed.
        package let failingSince: Date?
        /// A success of late.
        package let succeededAt: Date?
    }

    /// A secret or a key that signs, without what is secret of it.
    package struct Secret: Sendable, Equatable {
        package let id: String
        /// `v1` for a shared secret, `v1a` for a key of ed25519.
        package let scheme: String
        /// Of a key.
        package let publicKey: String?
        package let createdAt: Date
        /// Until when it signs; nil where nothing took its place.
        package let expiresAt: Date?
    }

    /// Makes a new id.
    package static func newId() -> String {
        idPrefix + UUID().uuidString.lowercased().filter { $0 != "-" }
    }
}

/// A secret that is to be written down, sealed.
package struct NewEndpointSecret: Sendable {
    /// `v1`, `v1a`.
    package let scheme: String
    let id: String
    let sealed: String
    let publicKey: String?

    /// Seals a secret for an endpoint.
    ///
    /// - Parameters:
    ///   - text: the secret, or the private key.
    ///   - publicKey: where it is a private key.
    /// - Throws: what ``SecretSeal/seal(_:for:)`` throws.
    package init(scheme: String, text: String, publicKey: String?, endpoint: String, seal: SecretSeal) throws {
        self.scheme = scheme
        self.publicKey = publicKey
        id = "whs_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        sealed = try seal.seal(text, for: .init(endpoint: endpoint, secret: id))
    }
}
