import Crypto
import Foundation

/// A private ed25519 key that signs webhooks by the scheme `v1a` of Standard Webhooks: `whsk_` and base64 of its 32 bytes.
///
/// Its descriptions never show the key; ``reveal()`` is the only way to the text.
public struct WebhookSigningKey: Sendable {
    /// What every private key's text begins with.
    public static let prefix = "whsk_"

    private let key: Curve25519.Signing.PrivateKey

    /// Reads a key from its text.
    ///
    /// - Throws: ``WebhookSecretError`` with code `missingPrefix`, `notBase64` or `wrongLength`.
    public init(_ text: String) throws(WebhookSecretError) {
        let bytes = try WebhookKeyText.bytes(of: text, prefix: Self.prefix)
        guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes) else {
            throw WebhookSecretError(code: .wrongLength)
        }
        self.key = key
    }

    private init(key: Curve25519.Signing.PrivateKey) {
        self.key = key
    }

    /// Makes a new key from the system's cryptographic random source.
    public static func generate() -> WebhookSigningKey {
        WebhookSigningKey(key: Curve25519.Signing.PrivateKey())
    }

    /// The private key's text, to write into a protected place.
    public func reveal() -> String {
        Self.prefix + key.rawRepresentation.base64EncodedString()
    }

    /// What a receiver verifies with; no secret.
    public var publicKey: WebhookPublicKey { WebhookPublicKey(key: key.publicKey) }

    /// The signature of `id.timestamp.body`.
    ///
    /// - Throws: `CryptoKitError`, which for a valid key does not happen.
    func signature(id: String, timestamp: String, body: [UInt8]) throws -> Data {
        try key.signature(for: WebhookSecret.signedContent(id: id, timestamp: timestamp, body: body))
    }
}

extension WebhookSigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `whsk_<redacted>`.
    public var description: String { Self.prefix + "<redacted>" }
    /// Always `whsk_<redacted>`.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` shows nothing either.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The public ed25519 key of an endpoint: `whpk_` and base64 of its 32 bytes.
public struct WebhookPublicKey: Sendable, CustomStringConvertible {
    /// What every public key's text begins with.
    public static let prefix = "whpk_"

    private let key: Curve25519.Signing.PublicKey

    /// Reads a key from its text.
    ///
    /// - Throws: ``WebhookSecretError`` with code `missingPrefix`, `notBase64` or `wrongLength`.
    public init(_ text: String) throws(WebhookSecretError) {
        let bytes = try WebhookKeyText.bytes(of: text, prefix: Self.prefix)
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes) else {
            throw WebhookSecretError(code: .wrongLength)
        }
        self.key = key
    }

    init(key: Curve25519.Signing.PublicKey) {
        self.key = key
    }

    /// The key's text, for receivers.
    public var description: String { Self.prefix + key.rawRepresentation.base64EncodedString() }

    /// Whether `signature` is one of `id.timestamp.body` by the private key.
    func accepts(_ signature: Data, id: String, timestamp: String, body: [UInt8]) -> Bool {
        key.isValidSignature(
            signature, for: WebhookSecret.signedContent(id: id, timestamp: timestamp, body: body))
    }
}

/// How keys of ed25519 are written.
enum WebhookKeyText {
    /// The bytes of a raw key of curve25519, private or public.
    static let byteCount = 32

    static func bytes(of text: String, prefix: String) throws(WebhookSecretError) -> Data {
        guard text.hasPrefix(prefix) else { throw WebhookSecretError(code: .missingPrefix) }
        guard let bytes = Data(base64Encoded: String(text.dropFirst(prefix.count))) else {
            throw WebhookSecretError(code: .notBase64)
        }
        guard bytes.count == byteCount else { throw WebhookSecretError(code: .wrongLength) }
        return bytes
    }
}
