import Crypto
import Foundation

/// Makes JWTs by hand, the wrong ones too.
enum TestTokens {
    static let secret = "a secret of a test, which has more than 32 bytes"

    static func encode(_ value: [String: Any]) throws -> String {
        Proofs.encode(try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys]))
    }

    /// Claims of a token that is good for a minute.
    static func claims(_ account: String, _ more: [String: Any] = [:], now: Date = Date()) -> [String: Any] {
        let claims: [String: Any] = ["sub": account, "exp": Int(now.timeIntervalSince1970) + 60]
        return claims.merging(more) { $1 }
    }

    static func hs256(
        _ claims: [String: Any], secret: String = secret, header: [String: Any] = ["alg": "HS256", "typ": "JWT"]
    ) throws -> String {
        let signed = try encode(header) + "." + encode(claims)
        let code = HMAC<SHA256>.authenticationCode(
            for: Data(signed.utf8), using: SymmetricKey(data: Data(secret.utf8)))
        return signed + "." + Proofs.encode(Data(code))
    }

    static func es256(
        _ claims: [String: Any], key: P256.Signing.PrivateKey, header: [String: Any] = ["alg": "ES256", "kid": "one"]
    ) throws -> String {
        let signed = try encode(header) + "." + encode(claims)
        return signed + "." + Proofs.encode(try key.signature(for: Data(signed.utf8)).rawRepresentation)
    }

    /// A key set that holds the public half of a key, and whatever else.
    static func keySet(_ key: P256.Signing.PrivateKey, kid: String = "one", others: [[String: Any]] = []) throws -> Data
    {
        let point = key.publicKey.rawRepresentation
        let own: [String: Any] = [
            "kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "x": Proofs.encode(Data(point.prefix(32))),
            "y": Proofs.encode(Data(point.suffix(32))),
        ]
        return try JSONSerialization.data(withJSONObject: ["keys": others + [own]])
    }
}
