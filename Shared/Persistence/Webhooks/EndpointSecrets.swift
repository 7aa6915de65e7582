import WebhookSigning

/// Secrets that were just made for an endpoint: sealed for the database, and as they are told once.
package struct EndpointSecrets: Sendable {
    /// For the database.
    package let sealed: [NewEndpointSecret]
    /// The shared secret, `whsec_…`.
    package let secret: String
    /// Of the ed25519 key; nil where none was wanted.
    package let publicKey: String?

    /// Makes a shared secret, and a key of ed25519 where that is wanted.
    ///
    /// - Throws: what sealing throws.
    package init(for endpoint: String, ed25519: Bool, seal: SecretSeal) throws {
        let secret = WebhookSecret.generate().reveal()
        var sealed = [
            try NewEndpointSecret(
                scheme: WebhookSigner.scheme, text: secret, publicKey: nil, endpoint: endpoint, seal: seal)
        ]
        let key = ed25519 ? WebhookSigningKey.generate() : nil
        if let key {
            sealed.append(
                try NewEndpointSecret(
                    scheme: WebhookSigner.asymmetricScheme, text: key.reveal(), publicKey: "\(key.publicKey)",
                    endpoint: endpoint, seal: seal))
        }
        self.sealed = sealed
        self.secret = secret
        publicKey = key.map { "\($0.publicKey)" }
    }
}
