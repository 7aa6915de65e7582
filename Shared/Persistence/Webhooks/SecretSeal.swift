import Crypto
import Foundation

/// Seals the secrets of endpoints for the database, by AES-GCM with a key that the database does not have.
///
/// What is sealed for one place opens in no other: the place is authenticated with it. Several keys may be known, so that the
/// key can be changed: the first seals, every one opens.
package struct SecretSeal: Sendable {
    /// The bytes of a key, of AES-256.
    package static let keyByteCount = 32
    /// The most keys: the one in use, and those before it.
    package static let keysMaximum = 8

    /// Why something cannot be read; never contains what it is about.
    package struct Mistake: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// Where a secret is in the database.
    package struct Place: Sendable, Hashable {
        /// The endpoint's id.
        package let endpoint: String
        /// The secret's own id.
        package let secret: String

        /// Makes one.
        package init(endpoint: String, secret: String) {
            self.endpoint = endpoint
            self.secret = secret
        }

        fileprivate var bytes: Data { Data("\(endpoint)\n\(secret)".utf8) }
    }

    private struct Key: Sendable {
        let name: String
        let key: SymmetricKey
    }

    private let keys: [Key]

    /// Reads keys.
    ///
    /// - Parameter text: base64 of 32 bytes each, separated by white space or commas; the first one seals.
    /// - Throws: `Mistake`, which does not repeat the text.
    package init(_ text: String) throws(Mistake) {
        var keys: [Key] = []
        for part in text.split(whereSeparator: { $0.isWhitespace || $0 == "," }) {
            guard let bytes = Data(base64Encoded: String(part)), bytes.count == Self.keyByteCount else {
                throw Mistake(description: "must be the base64 of \(Self.keyByteCount) random bytes")
            }
            let hash = SHA256.hash(data: bytes).prefix(4).lowercaseHexadecimal
            keys.append(Key(name: hash, key: SymmetricKey(data: bytes)))
        }
        guard (1...Self.keysMaximum).contains(keys.count) else {
            throw Mistake(description: "must be 1 to \(Self.keysMaximum) keys, each the base64 of 32 random bytes")
        }
        self.keys = keys
    }

    /// Seals a secret for its place.
    ///
    /// - Returns: the key's name, a colon, and base64.
    /// - Throws: `CryptoKitError`, which for a valid key does not happen.
    package func seal(_ text: String, for place: Place) throws -> String {
        let box = try AES.GCM.seal(Data(text.utf8), using: keys[0].key, authenticating: place.bytes)
        guard let combined = box.combined else { throw Mistake(description: "cannot be sealed") }
        return "\(keys[0].name):\(combined.base64EncodedString())"
    }

    /// Opens what was sealed for a place.
    ///
    /// - Throws: `Mistake`.
    package func open(_ sealed: String, at place: Place) throws(Mistake) -> String {
        let parts = sealed.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let data = Data(base64Encoded: String(parts[1])),
            let box = try? AES.GCM.SealedBox(combined: data)
        else { throw Mistake(description: "is not sealed as this version does it") }
        guard let key = keys.first(where: { $0.name == parts[0] }) else {
            throw Mistake(description: "is sealed with the key \(parts[0].prefix(8)), which is not among the keys here")
        }
        guard let opened = try? AES.GCM.open(box, using: key.key, authenticating: place.bytes),
            let text = String(validating: opened, as: UTF8.self)
        else { throw Mistake(description: "was changed since it was sealed, or is another endpoint's") }
        return text
    }
}
