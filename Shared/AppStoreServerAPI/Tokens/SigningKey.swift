import Crypto

/// A key for the App Store Server API, as App Store Connect gives it out (Users and Access, Integrations, In-App Purchase).
///
/// Prints without the private key.
public struct SigningKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Why a key cannot be used.
    public enum Problem: Error, Hashable, Sendable {
        /// The text is not a P-256 private key in PEM: the `.p8` file's whole text.
        case notAPrivateKey
        /// The issuer's id is empty.
        case noIssuerId
        /// The key's id is empty.
        case noKeyId
    }

    /// The issuer's id, a UUID.
    public let issuerId: String
    /// The key's id, ten letters and digits.
    public let keyId: String

    let privateKey: P256.Signing.PrivateKey

    /// Reads a key.
    ///
    /// - Parameter pem: the text of the `.p8` file.
    /// - Throws: ``Problem``.
    public init(issuerId: String, keyId: String, pem: String) throws(Problem) {
        guard !issuerId.isEmpty else { throw .noIssuerId }
        guard !keyId.isEmpty else { throw .noKeyId }
        guard let privateKey = try? P256.Signing.PrivateKey(pemRepresentation: pem) else { throw .notAPrivateKey }
        self.issuerId = issuerId
        self.keyId = keyId
        self.privateKey = privateKey
    }

    /// Which key it is, without the key.
    public var description: String { "SigningKey(\(keyId), <redacted>)" }
    /// Which key it is, without the key.
    public var debugDescription: String { description }
    /// Nothing: a dump shows no key.
    public var customMirror: Mirror { Mirror(self, children: ["keyId": keyId]) }
}
