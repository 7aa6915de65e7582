import Foundation

/// What a provider says of itself.
///
/// Source: OpenID Connect Discovery 1.0, section 3.
struct ProviderMetadata: Sendable, Equatable {
    let issuer: String
    let authorization: String
    let token: String
    let userInfo: String
    let keys: String
    /// Whether the secret goes into the body: where the header is not taken.
    let takesSecretInBody: Bool

    /// - Parameter issuer: as it is configured; a document of another one is refused.
    /// - Throws: `ProviderTrouble`.
    init(_ document: JSON, issuer: String) throws(ProviderTrouble) {
        guard document["issuer"] == .string(issuer) else {
            throw .wrong("the discovery document is of another issuer than console.oidc.issuer")
        }
        func address(_ name: String) throws(ProviderTrouble) -> String {
            guard case .string(let text) = document[name], Loopback.isSafe(text) else {
                throw .wrong("the discovery document has no \(name) with https")
            }
            return text
        }
        self.issuer = issuer
        authorization = try address("authorization_endpoint")
        token = try address("token_endpoint")
        userInfo = try address("userinfo_endpoint")
        keys = try address("jwks_uri")
        let methods = document["token_endpoint_auth_methods_supported"].list.compactMap(\.text)
        takesSecretInBody = methods.contains("client_secret_post") && !methods.contains("client_secret_basic")
    }

    /// Where the document is.
    static func address(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
    }
}
