import Crypto
import Foundation

/// Signs payloads as the App Store does: a JWS in compact form, ES256, the chain in `x5c`.
struct PayloadSigner: Sendable {
    /// `BASE64URL(header)` and the dot; the same for every payload of a chain.
    private let headerPart: String
    private let key: P256.Signing.PrivateKey

    /// A signer with a chain's leaf.
    ///
    /// - Parameters:
    ///   - algorithm: what the header claims; anything but `ES256` is a lie, since the signature is always that.
    ///   - certificates: what `x5c` lists instead of the chain.
    init(chain: CertificateAuthority.Chain, algorithm: String = "ES256", certificates: [[UInt8]]? = nil) throws {
        let listed = try certificates ?? chain.encoded
        let texts = listed.map { "\"\(Data($0).base64EncodedString())\"" }
        self.init(header: "{\"alg\":\"\(algorithm)\",\"x5c\":[\(texts.joined(separator: ","))]}", key: chain.leafKey)
    }

    /// A signer with any header.
    init(header: String, key: P256.Signing.PrivateKey) {
        self.headerPart = Base64URL.encode(Array(header.utf8)) + "."
        self.key = key
    }

    /// The payload with its header and signature.
    func sign(_ payload: String) throws -> String {
        try sign(Array(payload.utf8))
    }

    /// The payload with its header and signature.
    func sign(_ payload: [UInt8]) throws -> String {
        let signingInput = headerPart + Base64URL.encode(payload)
        let signature = try key.signature(for: SHA256.hash(data: Array(signingInput.utf8)))
        return "\(signingInput).\(Base64URL.encode([UInt8](signature.rawRepresentation)))"
    }
}

/// Base64url without padding (RFC 4648, section 5; RFC 7515, section 2).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Nil for other letters, and for padding.
    static func decode(_ text: some StringProtocol) -> Data? {
        guard !text.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
        let base64 = String(text).replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4))
    }

    static func encode(_ bytes: [UInt8]) -> String {
        let count = (bytes.count * 4 + 2) / 3
        return String(unsafeUninitializedCapacity: count) { target in
            var written = 0
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let first = UInt32(bytes[start])
                let second = start + 1 < bytes.count ? UInt32(bytes[start + 1]) : 0
                let third = start + 2 < bytes.count ? UInt32(bytes[start + 2]) : 0
                let group = first << 16 | second << 8 | third
                for shift in [18, 12, 6, 0] as [UInt32] where written < count {
                    target[written] = alphabet[Int(group >> shift & 63)]
                    written += 1
                }
            }
            return written
        }
    }
}
