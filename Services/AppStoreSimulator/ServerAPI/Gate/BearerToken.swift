import Foundation

/// A bearer token's parts, read but not trusted yet (RFC 7515, compact form).
struct BearerToken {
    /// What the header says.
    struct Header: Decodable {
        let alg: String
        let kid: String
        let typ: String
    }

    /// What the payload claims (apple-facts C1); the times are seconds since 1970.
    struct Claims: Decodable {
        let iss: String
        /// Apple's own library sends none.
        let iat: Double?
        let exp: Double
        let aud: Audience
        let bid: String
    }

    /// One audience, or several (RFC 7519, section 4.1.3).
    struct Audience: Decodable {
        let names: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let name = try? container.decode(String.self) {
                names = [name]
            } else {
                names = try container.decode([String].self)
            }
        }
    }

    let header: Header
    let claims: Claims
    /// What was signed: header, dot, payload.
    let signingInput: Data
    /// r and s, 32 bytes each.
    let signature: Data

    /// Reads a token; nil when it is not one.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let decoder = JSONDecoder()
        guard parts.count == 3, let header = Self.decoded(parts[0]), let claims = Self.decoded(parts[1]),
            let signature = Self.decoded(parts[2]), let header = try? decoder.decode(Header.self, from: header),
            let claims = try? decoder.decode(Claims.self, from: claims)
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signingInput = Data("\(parts[0]).\(parts[1])".utf8)
    }

    /// Base64url without padding (RFC 7515, section 2).
    private static func decoded(_ text: Substring) -> Data? {
        guard !text.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4))
    }
}
