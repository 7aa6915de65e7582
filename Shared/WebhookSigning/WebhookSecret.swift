import Crypto
import Foundation

/// A shared secret of one webhook endpoint, as Standard Webhooks 1.0.0 writes it: `whsec_` and base64.
///
/// Its descriptions never show the key; ``reveal()`` is the only way to the text.
public struct WebhookSecret: Sendable, Equatable {
    /// The fewest key bytes the specification allows.
    public static let byteCountMinimum = 24
    /// The most key bytes the specification allows.
    public static let byteCountMaximum = 64
    /// What every secret's text begins with.
    public static let prefix = "whsec_"
    /// Key bytes of a generated secret: the output size of SHA-256, beyond which an HMAC key adds nothing.
    static let generatedByteCount = 32

    let key: SymmetricKey

    /// Reads a secret from its text.
    ///
    /// - Parameter text: `whsec_` followed by padded standard base64 of 24 to 64 bytes.
    /// - Throws: ``WebhookSecretError`` with code `missingPrefix`, `notBase64` or `wrongLength`.
    public init(_ text: String) throws(WebhookSecretError) {
        guard text.hasPrefix(Self.prefix) else { throw WebhookSecretError(code: .missingPrefix) }
        guard let bytes = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))) else {
            throw WebhookSecretError(code: .notBase64)
        }
        guard (Self.byteCountMinimum...Self.byteCountMaximum).contains(bytes.count) else {
            throw WebhookSecretError(code: .wrongLength)
        }
        self.key = SymmetricKey(data: bytes)
    }

    private init(key: SymmetricKey) {
        self.key = key
    }

    /// Makes a new secret of 32 bytes from the system's cryptographic random source.
    public static func generate() -> WebhookSecret {
        WebhookSecret(key: SymmetricKey(size: SymmetricKeySize(bitCount: generatedByteCount * 8)))
    }

    /// The secret's text, to hand to the endpoint's owner or to write into a protected file.
    public func reveal() -> String {
        Self.prefix + key.withUnsafeBytes { Data($0) }.base64EncodedString()
    }

    /// The authentication code of `id.timestamp.body` under this secret.
    func authenticationCode(id: String, timestamp: String, body: [UInt8]) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Self.signedContent(id: id, timestamp: timestamp, body: body), using: key)
    }

    /// Whether `code` is the authentication code of the content; compares in constant time.
    func accepts(_ code: Data, id: String, timestamp: String, body: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            code, authenticating: Self.signedContent(id: id, timestamp: timestamp, body: body), using: key)
    }

    /// What every scheme signs.
    static func signedContent(id: String, timestamp: String, body: [UInt8]) -> Data {
        var content = Data()
        content.reserveCapacity(id.utf8.count + timestamp.utf8.count + body.count + 2)
        content.append(contentsOf: id.utf8)
        content.append(UInt8(ascii: "."))
        content.append(contentsOf: timestamp.utf8)
        content.append(UInt8(ascii: "."))
        content.append(contentsOf: body)
        return content
    }
}

extension WebhookSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `whsec_<redacted>`.
    public var description: String { Self.prefix + "<redacted>" }
    /// Always `whsec_<redacted>`.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` shows nothing either.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why a text is no webhook secret; never contains the text.
public struct WebhookSecretError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong with the text.
    public struct Code: Sendable, Hashable {
        fileprivate enum Base { case missingPrefix, notBase64, wrongLength }
        fileprivate let base: Base

        /// The text does not begin with `whsec_`.
        public static let missingPrefix = Code(base: .missingPrefix)
        /// What follows the prefix is not padded standard base64.
        public static let notBase64 = Code(base: .notBase64)
        /// The key is shorter than 24 or longer than 64 bytes; an ed25519 key has not 32.
        public static let wrongLength = Code(base: .wrongLength)
    }

    /// What is wrong with the text.
    public let code: Code

    /// One sentence, safe to show.
    public var description: String {
        switch code.base {
        case .missingPrefix:
            "A webhook secret must begin with whsec_ (a private ed25519 key with whsk_, a public one with whpk_)."
        case .notBase64: "A webhook secret must be whsec_ followed by standard base64 with padding."
        case .wrongLength: "A webhook secret must hold 24 to 64 bytes, an ed25519 key 32."
        }
    }
}
