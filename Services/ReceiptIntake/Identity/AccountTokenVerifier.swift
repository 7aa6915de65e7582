import Foundation
import JSONWebKeys
import JWTKit
import PurchaseModel
import ServiceRuntime

/// Verifies the JWTs of an app's players.
///
/// The algorithm that a token names chooses the kind of key, and each key knows one algorithm: HS256 reaches nothing
/// but the secret, an asymmetric algorithm nothing but public keys, and anything else (`none`) reaches no key at all.
struct AccountTokenVerifier: Sendable {
    /// How many keys of one algorithm are tried for a token that names none, or for several keys of one name.
    static let keysTriedMaximum = 4

    private let app: String
    private let issuer: String?
    private let audience: String?
    private let secret: JWTKeyCollection?
    private let keySet: KeySetCache?
    private let verified = VerifiedTokens()

    private struct Header: Decodable {
        let alg: String
        let kid: String?
        let crit: [String]?
    }

    /// Makes the verifier of an app.
    ///
    /// - Parameter keySet: the app's public keys, if it has any.
    init(app: String, authentication: AppsFile.Authentication, keySet: KeySetCache?) async {
        self.app = app
        issuer = authentication.issuer
        audience = authentication.audience
        if let value = authentication.hs256Secret?.value {
            let collection = JWTKeyCollection()
            await collection.add(hmac: HMACKey(from: value), digestAlgorithm: .sha256)
            secret = collection
        } else {
            secret = nil
        }
        self.keySet = keySet
    }

    /// Whose token it is.
    ///
    /// - Throws: `AuthenticationError`.
    func verify(_ token: String, now: Date) async throws -> Caller {
        // Before the token is verified: keys that come meanwhile have another number.
        let keys = keySet?.number ?? 0
        if let claims = verified.claims(of: token, keys: keys) { return try caller(claims, now) }
        guard let encoded = token.split(separator: ".", omittingEmptySubsequences: false).first,
            let data = Base64URL.decode(encoded), let header = try? JSONDecoder().decode(Header.self, from: data)
        else { throw AuthenticationError.rejected("the token is neither a server API key nor a JWT") }
        // RFC 7515, section 4.1.11: who does not understand a critical extension must refuse.
        guard header.crit == nil else { throw AuthenticationError.rejected("the token has critical extensions") }
        let claims = try await claims(of: token, header: header)
        verified.remember(token, claims, keys: keys)
        return try caller(claims, now)
    }

    private func caller(_ claims: AccountClaims, _ now: Date) throws(AuthenticationError) -> Caller {
        let name = try claims.check(issuer: issuer, audience: audience, now: now)
        let accountToken = claims.accountToken.flatMap(UUID.init(uuidString:))
            .flatMap { AccountTokens.isToken($0) ? $0 : nil }
        return .account(app: app, name: name, accountToken: accountToken)
    }

    private func claims(of token: String, header: Header) async throws -> AccountClaims {
        for keys in try candidates(for: header) {
            if let claims = try? await keys.verify(token, as: AccountClaims.self) { return claims }
        }
        throw AuthenticationError.rejected("the token's signature or content is not valid for this app")
    }

    private func candidates(for header: Header) throws -> [JWTKeyCollection] {
        if header.alg == "HS256" { return secret.map { [$0] } ?? [] }
        guard KeySet.algorithms.contains(header.alg), let keySet else { return [] }
        guard let current = keySet.current else { throw AuthenticationError.keysUnavailable }
        let keys = current.keys(algorithm: header.alg, identifier: header.kid)
        // The issuer may have begun to use a key that is newer than what we have.
        if keys.isEmpty { keySet.requestRefresh() }
        return Array(keys.prefix(Self.keysTriedMaximum))
    }
}
