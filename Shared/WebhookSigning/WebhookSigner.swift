public import Foundation

/// Signs outgoing webhooks by Standard Webhooks 1.0.0 (`v1`, HMAC-SHA256; `v1a`, ed25519, where there are keys for it).
///
/// With more than one secret the signature header lists one signature for each, so that a receiver can rotate its
/// secret without losing a message: add the new one, let the receiver change over, remove the old one.
public struct WebhookSigner: Sendable {
    /// Name of the header with the message's id, which stays the same over all attempts.
    public static let idHeader = "webhook-id"
    /// Name of the header with the time of the attempt, in whole seconds since 1970.
    public static let timestampHeader = "webhook-timestamp"
    /// Name of the header with the signatures, separated by spaces.
    public static let signatureHeader = "webhook-signature"
    /// The scheme of signatures by a shared secret.
    public static let scheme = "v1"
    /// The scheme of signatures by an ed25519 key.
    public static let asymmetricScheme = "v1a"

    private let secrets: [WebhookSecret]
    private let keys: [WebhookSigningKey]

    /// Makes a signer.
    ///
    /// - Parameters:
    ///   - secrets: Every live secret of the endpoint, newest first. Without any secret or key, the signature header is
    ///     empty and every receiver refuses the message.
    ///   - keys: Every live ed25519 key of the endpoint, newest first.
    public init(secrets: [WebhookSecret], keys: [WebhookSigningKey] = []) {
        self.secrets = secrets
        self.keys = keys
    }

    /// The three headers of one attempt.
    ///
    /// - Parameters:
    ///   - id: The message's id: printable ASCII without full stops or spaces, the same for every attempt.
    ///   - timestamp: The time of this attempt; cut down to whole seconds.
    ///   - body: The bytes exactly as they go over the wire.
    public func headers(id: String, timestamp: Date, body: [UInt8]) -> [(name: String, value: String)] {
        let seconds = String(Int64(timestamp.timeIntervalSince1970.rounded(.down)))
        var signatures = secrets.map { secret in
            let code = secret.authenticationCode(id: id, timestamp: seconds, body: body)
            return "\(Self.scheme),\(Data(code).base64EncodedString())"
        }
        // Signing fails for no key that was read; without its signature the receiver refuses the message, and it comes again.
        signatures += keys.compactMap { key in
            guard let signature = try? key.signature(id: id, timestamp: seconds, body: body) else { return nil }
            return "\(Self.asymmetricScheme),\(signature.base64EncodedString())"
        }
        return [
            (Self.idHeader, id),
            (Self.timestampHeader, seconds),
            (Self.signatureHeader, signatures.joined(separator: " ")),
        ]
    }
}
