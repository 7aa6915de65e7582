import Foundation

/// A JSON web token, read but not trusted yet (RFC 7515, compact form).
struct SignedToken<Claims: Decodable> {
    let header: TokenHeader
    let claims: Claims
    /// What was signed: header, dot, payload.
    let signingInput: Data
    /// r and s, 32 bytes each.
    let signature: Data

    /// Reads a token; nil when it is not one, or lacks a claim.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]),
            let header = try? JSONDecoder().decode(TokenHeader.self, from: header),
            let claims = try? JSONDecoder().decode(Claims.self, from: payload)
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signingInput = Data("\(parts[0]).\(parts[1])".utf8)
    }
}

/// What a token's header says.
struct TokenHeader: Decodable {
    let alg: String
    let kid: String
    let typ: String
}
