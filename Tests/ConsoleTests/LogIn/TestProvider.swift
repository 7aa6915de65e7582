import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Synchronization

@testable import Console

/// An OpenID provider that signs for real, and misbehaves on request.
final class TestProvider: Sendable {
    static let client = "console-client"
    static let secret = "a secret: with / and %"

    /// What it does; a test changes it between requests.
    struct Behaviour: Sendable {
        var port = 0
        var email: JSON = "kim@studio.example"
        var isVerified: JSON = true
        var groups: [JSON]? = ["support"]
        /// Claims of the next ID tokens that are not as they should be; `null` leaves one out.
        var claims: [String: JSON] = [:]
        var algorithm = "ES256"
        var keyId = "one"
        /// Which of its keys signs; `other` is one that it does not publish.
        var signsWith = "one"
        var published = ["one"]
        /// Members of the discovery document that are not as they should be.
        var discovery: [String: JSON] = [:]
        var isAway = false
        var refusesUserInfo = false
        var refusesRefresh = false
        var expiresIn: JSON = .integer(3_600)
        var keySetRequests = 0
        var userInfoRequests = 0
        var accessTokens: Set<String> = []
        /// Code, with the nonce and the challenge that it was given for.
        var codes: [String: (nonce: String, challenge: String)] = [:]
    }

    let behaviour = Mutex(Behaviour())
    let clock: TestClock
    private let keys = ["one": P256.Signing.PrivateKey(), "two": .init(), "other": .init()]

    init(clock: TestClock) { self.clock = clock }

    var issuer: String { "http://127.0.0.1:\(behaviour.withLock { $0.port })" }

    func change(_ change: (inout Behaviour) -> Void) { behaviour.withLock { change(&$0) } }

    /// Runs it on a port of its own.
    func running<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await application().test(.live) { client in
            self.change { $0.port = client.port ?? 0 }
            return try await body()
        }
    }

    /// Somebody logs in there: what the browser comes back with.
    func authorize(_ location: String) throws -> (state: String, code: String) {
        let items = URLComponents(string: location)?.queryItems ?? []
        let query = Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
        guard query["response_type"] == "code", query["client_id"] == Self.client,
            query["code_challenge_method"] == "S256", let state = query["state"], let nonce = query["nonce"],
            let challenge = query["code_challenge"], query["redirect_uri"]?.hasSuffix("/login/callback") == true
        else { throw HTTPError(.badRequest, message: "no request for a code: \(location)") }
        let code = RandomText.make(bytes: 8)
        change { $0.codes[code] = (nonce, challenge) }
        return (state, code)
    }

    /// A token as it signs it now.
    func token(_ claims: [String: JSON], type: String = "JWT") throws -> String {
        let behaviour = behaviour.withLock { $0 }
        let header: JSON = .object([
            "alg": .string(behaviour.algorithm), "kid": .string(behaviour.keyId), "typ": .string(type),
        ])
        let payload = claims.merging(behaviour.claims) { $1 }.filter { $0.value != .null }
        let signed = try [header, .object(payload)].map { Self.base64URL(try JSONEncoder().encode($0)) }
            .joined(separator: ".")
        let signature: Data
        switch behaviour.algorithm {
        case "none": signature = Data()
        // The public key as a secret, which is no secret: the classic confusion of algorithms.
        case "HS256":
            let key = SymmetricKey(data: keys["one"]?.publicKey.x963Representation ?? Data())
            signature = Data(HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: key))
        default:
            guard let key = keys[behaviour.signsWith] else { throw HTTPError(.internalServerError) }
            signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
        }
        return "\(signed).\(Self.base64URL(signature))"
    }

    /// The claims of a token for this client, of now.
    func claims(nonce: String? = nil) -> [String: JSON] {
        let now = Int64(clock.now.timeIntervalSince1970)
        return [
            "iss": .string(issuer), "aud": .string(Self.client), "sub": "person-1", "sid": "provider-session-1",
            "iat": .integer(now), "exp": .integer(now + 300), "nonce": nonce.map { .string($0) } ?? .null,
        ]
    }

    private func application() -> some ApplicationProtocol {
        let router = Router()
        router.get("/.well-known/openid-configuration") { _, _ in try self.answer { self.discovery() } }
        router.get("/keys") { _, _ in
            self.change { $0.keySetRequests += 1 }
            return try self.answer { self.keySet() }
        }
        router.post("/token") { request, _ in
            let text = String(buffer: try await request.body.collect(upTo: 100_000))
            return try self.answer { try self.tokens(text, request.headers[.authorization]) }
        }
        router.get("/userinfo") { request, _ in
            self.change { $0.userInfoRequests += 1 }
            return try self.answer { try self.userInfo(request.headers[.authorization]) }
        }
        return Application(router: router)
    }

    private func answer(_ make: () throws -> JSON) throws -> Response {
        guard !behaviour.withLock({ $0.isAway }) else { throw HTTPError(.serviceUnavailable) }
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(try make()))))
    }

    private func discovery() -> JSON {
        let own: [String: JSON] = [
            "issuer": .string(issuer), "authorization_endpoint": .string("\(issuer)/authorize"),
            "token_endpoint": .string("\(issuer)/token"), "userinfo_endpoint": .string("\(issuer)/userinfo"),
            "jwks_uri": .string("\(issuer)/keys"),
        ]
        return .object(own.merging(behaviour.withLock { $0.discovery }) { $1 })
    }

    private func keySet() -> JSON {
        let keys = behaviour.withLock { $0.published }.compactMap { name in
            self.keys[name].map { key -> JSON in
                let point = key.publicKey.x963Representation
                return .object([
                    "kty": "EC", "crv": "P-256", "use": "sig", "kid": .string(name),
                    "x": .string(Self.base64URL(point.dropFirst().prefix(32))),
                    "y": .string(Self.base64URL(point.suffix(32))),
                ])
            }
        }
        return .object(["keys": .list(keys)])
    }

    private func tokens(_ form: String, _ authorization: String?) throws -> JSON {
        let fields = try URLEncodedFormDecoder().decode([String: String].self, from: form)
        let pair = "\(Self.client):\(IntakeClient.part(Self.secret))"
        guard authorization == "Basic " + Data(pair.utf8).base64EncodedString() else { throw HTTPError(.unauthorized) }
        var answer: [String: JSON] = [
            "token_type": "Bearer", "expires_in": behaviour.withLock { $0.expiresIn }, "refresh_token": "refresh-1",
        ]
        if fields["grant_type"] == "refresh_token" {
            guard fields["refresh_token"] == "refresh-1", !behaviour.withLock({ $0.refusesRefresh }) else {
                throw HTTPError(.badRequest)
            }
        } else {
            guard let code = behaviour.withLock({ $0.codes.removeValue(forKey: fields["code"] ?? "") }),
                Self.base64URL(Data(SHA256.hash(data: Data((fields["code_verifier"] ?? "").utf8)))) == code.challenge
            else { throw HTTPError(.badRequest) }
            answer["id_token"] = .string(try token(claims(nonce: code.nonce)))
        }
        let access = RandomText.make(bytes: 8)
        change { $0.accessTokens.insert(access) }
        answer["access_token"] = .string(access)
        return .object(answer)
    }

    private func userInfo(_ authorization: String?) throws -> JSON {
        let behaviour = behaviour.withLock { $0 }
        guard let token = authorization?.split(separator: " ").last.map(String.init),
            behaviour.accessTokens.contains(token), !behaviour.refusesUserInfo
        else { throw HTTPError(.unauthorized) }
        var answer: [String: JSON] = [
            "sub": "person-1", "email": behaviour.email, "email_verified": behaviour.isVerified, "name": "Kim",
        ]
        if let groups = behaviour.groups { answer["groups"] = .list(groups) }
        return .object(answer)
    }

    static func base64URL(_ data: some DataProtocol) -> String {
        Data(data).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }
}

/// A clock that a test moves.
final class TestClock: Sendable {
    private let time = Mutex(Date())

    var now: Date { time.withLock { $0 } }

    func advance(by seconds: TimeInterval) { time.withLock { $0 = $0.addingTimeInterval(seconds) } }
}
