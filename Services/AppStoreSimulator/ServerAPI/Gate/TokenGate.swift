import Crypto
import Foundation

/// Decides who calls, by the JSON web token in the authorization header (apple-facts C1).
///
/// Lifetimes are measured in real time: those who call are real. A token that was accepted is remembered until it
/// expires, so that a signature is checked once; that its key, its issuer and its app still stand is looked at each time.
struct TokenGate: Sendable {
    enum Limit {
        /// Bytes of a token; Apple's have some 400.
        static let tokenBytes = 4_096
        /// Seconds from `iat` to `exp`; Apple refuses more.
        static let lifetime = 3_600.0
        /// Seconds that a client's clock may be ahead of ours.
        static let clockSkew = 60.0
        /// Accepted tokens that are remembered; Apple's advice is a fresh one for each request.
        static let tokens = 16_384
        /// Public keys that are kept parsed.
        static let keys = 1_024
    }

    private static let audience = "appstoreconnect-v1"

    private struct Accepted: Sendable {
        let bundleId: String
        let keyId: String
        let publicKey: String
        let issuerId: String
        /// Seconds since 1970.
        let expires: Double
    }

    private let store: Store
    private let environment: StoreEnvironment
    private let accepted = BoundedCache<String, Accepted>(capacity: Limit.tokens)
    private let keys = BoundedCache<String, P256.Signing.PublicKey>(capacity: Limit.keys)

    init(store: Store, environment: StoreEnvironment) {
        self.store = store
        self.environment = environment
    }

    /// The app that calls.
    ///
    /// - Parameter authorization: the header's value.
    /// - Throws: ``APIError/unauthenticated``, whatever the reason is.
    func caller(authorization: String?) throws(APIError) -> AppRecord {
        guard let token = authorization.flatMap(Self.token) else { throw .unauthenticated }
        let now = Double(store.clock.realNow) / 1_000
        guard let entry = accepted[token] ?? check(token, now: now), entry.expires > now,
            let app = store.app(entry.bundleId), app.issuerId == entry.issuerId,
            app.publicKeys[entry.keyId] == entry.publicKey,
            // Production knows only apps that were released (apple-facts C5).
            environment == .sandbox || app.isReleased
        else { throw .unauthenticated }
        return app
    }

    private static func token(in authorization: String) -> String? {
        guard authorization.prefix(7).lowercased() == "bearer " else { return nil }
        let token = String(authorization.dropFirst(7))
        // Text is remembered by what it means; only ASCII means nothing but its bytes.
        return token.utf8.count <= Limit.tokenBytes && token.utf8.allSatisfy { $0 < 0x80 } ? token : nil
    }

    /// Checks a token that was not seen before.
    private func check(_ text: String, now: Double) -> Accepted? {
        guard let token = SignedToken<BearerClaims>(text), token.header.alg == "ES256", token.header.typ == "JWT",
            token.claims.aud.names == [Self.audience], Self.isTimely(token.claims, now: now),
            let app = store.app(token.claims.bid), token.claims.iss == app.issuerId,
            let pem = app.publicKeys[token.header.kid], let key = key(pem),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: token.signature),
            key.isValidSignature(signature, for: token.signingInput)
        else { return nil }
        let entry = Accepted(
            bundleId: app.bundleId, keyId: token.header.kid, publicKey: pem, issuerId: app.issuerId,
            expires: token.claims.exp)
        accepted.put(entry, for: text)
        return entry
    }

    /// Milliseconds instead of seconds lie far in the future and fail here.
    private static func isTimely(_ claims: BearerClaims, now: Double) -> Bool {
        guard claims.exp > now else { return false }
        guard let issued = claims.iat else { return claims.exp <= now + Limit.lifetime + Limit.clockSkew }
        return issued <= now + Limit.clockSkew && claims.exp - issued <= Limit.lifetime
    }

    private func key(_ pem: String) -> P256.Signing.PublicKey? {
        if let key = keys[pem] { return key }
        guard let key = try? P256.Signing.PublicKey(pemRepresentation: pem) else { return nil }
        keys.put(key, for: pem)
        return key
    }
}
