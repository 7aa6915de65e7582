import Foundation

/// The checks of a provider's tokens but their signature, and what they say of somebody.
///
/// Source: OpenID Connect Core 1.0, section 3.1.3.7; Back-Channel Logout 1.0, section 2.6.
struct ProviderClaims: Sendable {
    enum Limit {
        /// How far the provider's clock may be from ours, in seconds.
        static let skew: TimeInterval = 30
        /// How old a logout token may be.
        static let logoutAge: TimeInterval = 300
        /// Characters of a subject (section 2).
        static let subject = 255
        static let groups = 1_000
    }

    let issuer: String
    let clientId: String
    let groupsClaim: String
    let now: @Sendable () -> Date

    /// Checks an ID token.
    ///
    /// - Parameter nonce: of the log-in; nil for a token that came with a refreshed one.
    /// - Returns: its subject.
    /// - Throws: `ProviderTrouble`.
    func checkIDToken(_ claims: JSON, nonce: String?) throws(ProviderTrouble) -> String {
        let subject = try checkShared(claims)
        guard let subject else { throw .wrong("the ID token has no `sub`") }
        guard let expiration = Self.seconds(claims["exp"]) else { throw .wrong("the ID token has no `exp`") }
        guard now().timeIntervalSince1970 < expiration + Limit.skew else { throw .wrong("the ID token has expired") }
        if let nonce {
            guard case .string(let own) = claims["nonce"], ConstantTime.isEqual(own, nonce) else {
                throw .wrong("the ID token is of another log-in: its `nonce` is another")
            }
        }
        return subject
    }

    /// What a logout token ends: a session of the provider's, else everything of a subject.
    ///
    /// - Throws: `ProviderTrouble`.
    func checkLogoutToken(_ claims: JSON) throws(ProviderTrouble) -> (subject: String?, providerSession: String?) {
        let subject = try checkShared(claims)
        guard case .object(let events) = claims["events"],
            events["http://schemas.openid.net/event/backchannel-logout"] != nil
        else { throw .wrong("the token is no logout token") }
        guard claims["nonce"] == .null else { throw .wrong("a logout token has no `nonce`") }
        guard let issuedAt = Self.seconds(claims["iat"]), abs(now().timeIntervalSince1970 - issuedAt) < Limit.logoutAge
        else { throw .wrong("the logout token is not of now") }
        if let expiration = Self.seconds(claims["exp"]), now().timeIntervalSince1970 >= expiration + Limit.skew {
            throw .wrong("the logout token has expired")
        }
        let session = Self.string(claims["sid"])
        guard subject != nil || session != nil else { throw .wrong("the logout token names nobody") }
        return (subject, session)
    }

    private func checkShared(_ claims: JSON) throws(ProviderTrouble) -> String? {
        guard claims["iss"] == .string(issuer) else { throw .wrong("the token's `iss` is another issuer") }
        let audiences = claims["aud"].list.isEmpty ? [claims["aud"]] : claims["aud"].list
        guard audiences.contains(.string(clientId)) else { throw .wrong("the token is for another client") }
        let party = claims["azp"]
        guard party == .string(clientId) || (party == .null && audiences.count == 1) else {
            throw .wrong("the token's `azp` is another client")
        }
        guard let subject = Self.string(claims["sub"]) else { return nil }
        guard subject.count <= Limit.subject else { throw .wrong("the token's `sub` is too long") }
        return subject
    }

    /// What two sets of claims say of somebody; what the second lacks, the first says.
    ///
    /// - Parameter groupsFromUserInfo: whether the provider tells groups by userinfo: none there are none then.
    func identity(_ subject: String, token: JSON, userInfo: JSON, groupsFromUserInfo: Bool) -> Identity {
        let email = [userInfo, token].first { $0["email"] != .null }
        let isVerified = email.map { $0["email_verified"] == .bool(true) || $0["email_verified"] == .string("true") }
        let name = [userInfo, token].lazy.compactMap {
            Self.string($0["preferred_username"]) ?? Self.string($0["name"]) ?? Self.string($0["email"])
        }.first
        return Identity(
            subject: subject, email: isVerified == true ? email.flatMap { Self.string($0["email"]) } : nil, name: name,
            groups: groups(in: groupsFromUserInfo ? userInfo : token) ?? [])
    }

    /// The groups of a claim, which may be a path with dots; nil where it is not there.
    func groups(in claims: JSON) -> [String]? {
        var value = claims[groupsClaim]
        if value == .null {
            value = groupsClaim.split(separator: ".").reduce(claims) { $0[String($1)] }
        }
        switch value {
        case .string(let group): return [group]
        case .list(let groups): return groups.prefix(Limit.groups).compactMap(Self.string)
        default: return nil
        }
    }

    static func string(_ value: JSON) -> String? {
        guard case .string(let text) = value, !text.isEmpty else { return nil }
        return text
    }

    private static func seconds(_ value: JSON) -> TimeInterval? {
        switch value {
        case .integer(let seconds): TimeInterval(seconds)
        case .number(let seconds): seconds
        default: nil
        }
    }
}
