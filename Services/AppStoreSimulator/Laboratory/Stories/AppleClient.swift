import Foundation
import JWTKit
import NIOHTTP1

/// Calls Apple's two hosts, as the simulator plays them, the way a backend does.
struct AppleClient: Sendable {
    /// How a call proves who it is.
    enum TokenKind: String, Sendable, CaseIterable {
        /// As Apple wants it: five minutes, the app's bundle id, the registered key.
        case good
        /// Without any.
        case none
        /// Was good an hour ago.
        case expired
        /// Good for two hours, which is more than Apple allows (apple-facts C1).
        case tooLong
        /// Times in milliseconds instead of seconds: a mistake that people make.
        case milliseconds
        /// Says another app.
        case otherApp
        /// By a key that is not registered.
        case otherKey
    }

    private enum Limit {
        /// How long an answer may take; faults delay up to two minutes.
        static let answer = Duration.seconds(150)
        /// Seconds that a token is good for.
        static let token: Int64 = 300
    }

    let http: HTTPCaller
    /// The hosts by environment.
    let hosts: [String: String]
    let bundleId: String
    /// The answer of `POST apps/{bundleId}/keys`.
    let key: JSONValue

    /// Calls a path of a host.
    ///
    /// - Throws: whatever keeps an answer from coming; `ToolFailure` for a key that cannot sign.
    func call(
        _ method: HTTPMethod, _ path: String, environment: String, body: JSONValue?, token: TokenKind?
    ) async throws -> ControlClient.Answer {
        guard let host = hosts[environment] else { throw ToolFailure("the simulator has no host for \(environment)") }
        var headers: [(String, String)] = []
        if let token, token != .none { headers.append(("authorization", "Bearer \(try await sign(token))")) }
        return ControlClient.Answer(
            try await http.call(
                method, host + path, json: body.map { Data($0.json.utf8) }, headers: headers, timeout: Limit.answer))
    }

    private func sign(_ kind: TokenKind) async throws -> String {
        guard let issuer = key["issuerId"]?.text, let keyId = key["keyId"]?.text, let pem = key["privateKey"]?.text
        else {
            throw ToolFailure("the simulator's key has no issuerId, keyId and privateKey")
        }
        let keys = JWTKeyCollection()
        let signing = kind == .otherKey ? ES256PrivateKey() : try ES256PrivateKey(pem: pem)
        await keys.add(ecdsa: signing, kid: JWKIdentifier(string: keyId))
        var now = Int64(Date().timeIntervalSince1970)
        var lifetime = Limit.token
        switch kind {
        case .expired: now -= 3600
        case .tooLong: lifetime = 7200
        case .milliseconds: (now, lifetime) = (now * 1000, lifetime * 1000)
        default: break
        }
        let claims = Claims(
            iss: issuer, iat: now, exp: now + lifetime, aud: "appstoreconnect-v1",
            bid: kind == .otherApp ? bundleId + ".other" : bundleId)
        return try await keys.sign(claims, kid: JWKIdentifier(string: keyId))
    }

    private struct Claims: JWTPayload {
        let iss: String
        let iat: Int64
        let exp: Int64
        let aud: String
        let bid: String

        func verify(using algorithm: some JWTAlgorithm) throws {}
    }
}
