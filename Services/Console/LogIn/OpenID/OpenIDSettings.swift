import ServiceRuntime

/// Our client at the provider.
struct OpenIDSettings: Sendable {
    let issuer: String
    let clientId: String
    /// Nil for a public client, which PKCE alone protects.
    let clientSecret: Redacted<String>?
    let groupsClaim: String
    let scopes: [String]
    /// Where the provider sends the browser back to.
    let callback: String

    /// - Throws: `SettingError`.
    init(_ settings: SettingReader, publicURL: String?) throws {
        // the provider's issuer, exactly as it writes it
        // Default: required with `oidc`
        issuer = try settings.requiredString("console.oidc.issuer", expected: "the provider's issuer, with https")
        guard Loopback.isSafe(issuer) else {
            throw SettingError.invalid("console.oidc.issuer", expected: "an address with https", found: issuer)
        }
        // the console's id there
        // Default: required with `oidc`
        clientId = try settings.requiredString("console.oidc.client_id")
        // its secret; or `console.oidc.client_secret_file`
        // Default: none: a public client
        clientSecret = try settings.secret("console.oidc.client_secret", isOptional: true)
        // the claim with somebody's groups, or a path with dots: `realm_access.roles`
        groupsClaim = try settings.string("console.oidc.groups_claim", default: "groups")
        // what is asked for; `offline_access` and `groups` where the provider wants that
        // Default: `openid,profile,email`
        scopes = try settings.stringList("console.oidc.scopes", default: ["openid", "profile", "email"])
        guard scopes.contains("openid") else {
            throw SettingError.invalid(
                "console.oidc.scopes", expected: "scopes with openid among them", found: scopes.joined(separator: ","))
        }
        guard let publicURL else {
            throw SettingError.missing("console.public_url", expected: "where browsers find the console, with https")
        }
        callback = publicURL + "/login/callback"
    }
}
