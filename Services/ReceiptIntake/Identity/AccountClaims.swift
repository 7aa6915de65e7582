import Foundation
import JWTKit
import PurchaseModel

/// What intake reads in an app's token.
///
/// Source: RFC 7519, section 4.1.
struct AccountClaims: JWTPayload {
    /// How far the clocks of the token's issuer and of this machine may be apart.
    static let clockSkewSeconds: Double = 30

    let subject: String?
    let expiration: Double?
    let notBefore: Double?
    let issuer: String?
    let audience: Audience?
    let accountToken: String?

    /// `aud`: one text, or a list of them.
    ///
    /// JWTKit's `AudienceClaim` ended the simulator's process when its tests decoded it.
    struct Audience: Codable, Sendable {
        let values: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(String.self) {
                values = [value]
            } else {
                values = try container.decode([String].self)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(values)
        }
    }

    enum CodingKeys: String, CodingKey {
        case subject = "sub"
        case expiration = "exp"
        case notBefore = "nbf"
        case issuer = "iss"
        case audience = "aud"
        case accountToken = "app_account_token"
    }

    /// Says nothing: the claims depend on configuration and time, and are checked by ``check(issuer:audience:now:)``.
    func verify(using algorithm: some JWTAlgorithm) async throws {}

    /// Checks everything but the signature.
    ///
    /// - Returns: whose token it is.
    func check(issuer: String?, audience: String?, now: Date) throws(AuthenticationError) -> Account {
        let time = now.timeIntervalSince1970
        guard let expiration else { throw .rejected("the token has no `exp`") }
        guard time < expiration + Self.clockSkewSeconds else { throw .rejected("the token has expired") }
        if let notBefore, time < notBefore - Self.clockSkewSeconds { throw .rejected("the token is not valid yet") }
        if let issuer, self.issuer != issuer { throw .rejected("the token's `iss` is not the configured issuer") }
        if let audience, self.audience?.values.contains(audience) != true {
            throw .rejected("the token's `aud` does not name the configured audience")
        }
        guard let subject else { throw .rejected("the token has no `sub`") }
        guard let name = Account(subject) else {
            throw .rejected("the token's `sub` is not an account of 1 to 255 printable characters")
        }
        return name
    }
}
