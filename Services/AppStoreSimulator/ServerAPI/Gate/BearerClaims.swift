/// What a bearer token claims (apple-facts C1); the times are seconds since 1970.
struct BearerClaims: Decodable {
    let iss: String
    /// Apple's own library sends none.
    let iat: Double?
    let exp: Double
    let aud: Audience
    let bid: String

    /// One audience, or several (RFC 7519, section 4.1.3).
    ///
    /// JWTKit's `AudienceClaim` ended the process when the gate's tests decoded it.
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
}
