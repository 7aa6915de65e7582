import Foundation

/// A bearer token's parts, read but not trusted yet (RFC 7515, compact form).
struct BearerToken {
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

    private let token: CompactToken
    let claims: Claims

    var header: CompactToken.Header { token.header }
    /// What was signed: header, dot, payload.
    var signingInput: Data { token.signingInput }
    /// r and s, 32 bytes each.
    var signature: Data { token.signature }

    /// Reads a token; nil when it is not one.
    init?(_ text: String) {
        guard let token = CompactToken(text),
            let claims = try? JSONDecoder().decode(Claims.self, from: token.payload)
        else { return nil }
        self.token = token
        self.claims = claims
    }
}
