package import Foundation
package import JWTKit
import ServiceRuntime

/// The public keys of a token issuer: a JSON Web Key Set.
///
/// Source: RFC 7517, section 5.
package struct KeySet: Sendable {
    /// The most bytes of a key set.
    package static let bytesMaximum = 256 << 10
    /// The most keys that are used; the rest is left out.
    package static let keysMaximum = 64
    /// What a token may be signed with: asymmetric algorithms only.
    package static let algorithms: Set<String> = [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    ]
    /// The shortest RSA modulus in base64url characters: 2,048 bits.
    ///
    /// Source: RFC 7518, section 3.3.
    private static let modulusLengthMinimum = 342

    private struct Key: Sendable {
        let identifier: String?
        let algorithm: String
        let collection: JWTKeyCollection
    }

    private struct Document: Decodable {
        let keys: [Entry]
    }

    /// A key as it stands in the set; one that is of no use here must not spoil the others.
    private struct Entry: Decodable {
        let use: String?
        let key: JWK?

        enum CodingKeys: String, CodingKey { case use }

        init(from decoder: any Decoder) throws {
            use = try? decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(String.self, forKey: .use)
            key = try? JWK(from: decoder)
        }
    }

    private let keys: [Key]

    /// Reads a set; keys that cannot sign a token, or are too weak, are left out.
    ///
    /// - Throws: `KeySetError` when it is no key set, or no key of it is usable.
    package init(_ data: Data) async throws {
        guard data.count <= Self.bytesMaximum else { throw KeySetError(problem: "it is too large") }
        guard let document = try? JSONDecoder().decode(Document.self, from: data) else {
            throw KeySetError(problem: "it is not a JSON Web Key Set")
        }
        var keys: [Key] = []
        for entry in document.keys.prefix(Self.keysMaximum) {
            guard let jwk = entry.key, entry.use == nil || entry.use == "sig" else { continue }
            for algorithm in Self.algorithms(of: jwk) {
                if let key = await Self.key(jwk, algorithm: algorithm) { keys.append(key) }
            }
        }
        guard !keys.isEmpty else { throw KeySetError(problem: "it has no usable key") }
        self.keys = keys
    }

    /// The keys for a token of this algorithm; all of them where the token names none.
    package func keys(algorithm: String, identifier: String?) -> [JWTKeyCollection] {
        keys.filter { $0.algorithm == algorithm && (identifier == nil || $0.identifier == identifier) }
            .map(\.collection)
    }

    /// One key for one algorithm, so that the token cannot choose how a key is used.
    private static func key(_ jwk: JWK, algorithm: JWK.Algorithm) async -> Key? {
        if jwk.keyType == .rsa, (jwk.modulus?.utf8.count ?? 0) < modulusLengthMinimum { return nil }
        var single = jwk
        single.algorithm = algorithm
        // What a careless issuer publishes of its private key is not wanted here.
        single.privateExponent = nil
        single.prime1 = nil
        single.prime2 = nil
        single.keyIdentifier = JWKIdentifier(string: "only")
        let collection = JWTKeyCollection()
        guard (try? await collection.add(jwk: single, isDefault: true)) != nil else { return nil }
        return Key(identifier: jwk.keyIdentifier?.string, algorithm: algorithm.rawValue, collection: collection)
    }

    private static func algorithms(of jwk: JWK) -> [JWK.Algorithm] {
        if let algorithm = jwk.algorithm { return algorithms.contains(algorithm.rawValue) ? [algorithm] : [] }
        if jwk.keyType == .rsa { return [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512] }
        if jwk.keyType == .octetKeyPair { return [.eddsa] }
        switch jwk.curve?.rawValue {
        case "P-256": return [.es256]
        case "P-384": return [.es384]
        case "P-521": return [.es512]
        default: return []
        }
    }
}

/// A key set cannot be used, and why.
package struct KeySetError: ConfigurationMistake {
    /// What is wrong.
    package let problem: String

    /// Makes an error.
    package init(problem: String) {
        self.problem = problem
    }

    /// One sentence.
    package var description: String { "the key set cannot be used: \(problem)" }
}
