import Crypto
import Foundation
import HTTPTypes
import JSONWebKeys
import PurchaseModel
import Synchronization
import Testing

@testable import ReceiptIntake
@testable import ServiceRuntime

@Suite("The tokens of players")
struct AccountTokenVerifierTests {
    private func verifier(
        secret: String? = nil, keySet: Data? = nil, issuer: String? = nil, audience: String? = nil
    ) async throws -> AccountTokenVerifier {
        let cache = keySet == nil ? nil : KeySetCache()
        if let keySet { cache?.update(try await KeySet(keySet)) }
        return await AccountTokenVerifier(
            app: "com.example.game",
            authentication: AppsFile.Authentication(
                hs256Secret: secret.map { Redacted($0) }, jwksFile: nil, jwksURL: nil, issuer: issuer,
                audience: audience, serverKeys: []), keySet: cache)
    }

    private func isAccepted(_ token: String, _ verifier: AccountTokenVerifier) async throws -> Bool {
        do {
            _ = try await verifier.verify(token, now: Date())
            return true
        } catch let error as AuthenticationError {
            #expect(error.code == .rejected)
            #expect(!error.description.contains(token))
            return false
        }
    }

    @Test("a good token names its account and its app account token")
    func goodToken() async throws {
        let token = UUID()
        let jwt = try TestTokens.hs256(
            TestTokens.claims(
                "player-1", ["iss": "studio", "aud": ["x", "countersign"], "app_account_token": token.uuidString]))
        let verifier = try await verifier(secret: TestTokens.secret, issuer: "studio", audience: "countersign")
        let caller = try await verifier.verify(jwt, now: Date())
        let name = try #require(Account("player-1"))
        #expect(caller == .account(app: "com.example.game", name: name, accountToken: token))
        // What nobody set is no token: it would be the same for every player.
        let unset = try TestTokens.hs256(
            TestTokens.claims(
                "player-1",
                [
                    "iss": "studio", "aud": "countersign",
                    "app_account_token": "00000000-0000-0000-0000-000000000000",
                ]))
        let without = try await verifier.verify(unset, now: Date())
        #expect(without == .account(app: "com.example.game", name: name, accountToken: nil))
    }

    @Test("wrong claims are refused")
    func wrongClaims() async throws {
        let verifier = try await verifier(secret: TestTokens.secret, issuer: "studio", audience: "countersign")
        let good: [String: Any] = TestTokens.claims("player", ["iss": "studio", "aud": "countersign"])
        #expect(try await isAccepted(TestTokens.hs256(good), verifier))
        let now = Int(Date().timeIntervalSince1970)
        let wrong: [[String: Any]] = [
            ["exp": now - 31], ["exp": NSNull()], ["exp": "soon"], ["exp": -1e300], ["nbf": now + 60], ["iss": "other"],
            ["iss": NSNull()], ["aud": "other"], ["aud": []], ["aud": NSNull()], ["aud": ["other"]], ["sub": ""],
            ["sub": NSNull()], ["sub": 7], ["sub": "a\u{0}b"], ["sub": "a\nb"], ["sub": "a\u{2028}b"],
            ["sub": String(repeating: "x", count: 256)],
        ]
        for change in wrong {
            #expect(try await !isAccepted(TestTokens.hs256(good.merging(change) { $1 }), verifier), "\(change)")
        }
        #expect(try await isAccepted(TestTokens.hs256(good.merging(["exp": now - 20]) { $1 }), verifier))
        let longest = String(repeating: "ü", count: 255)
        #expect(try await isAccepted(TestTokens.hs256(good.merging(["sub": longest]) { $1 }), verifier))
    }

    @Test("another secret, no signature, and a changed content are refused")
    func wrongSignatures() async throws {
        let verifier = try await verifier(secret: TestTokens.secret)
        let claims = TestTokens.claims("player")
        let good = try TestTokens.hs256(claims)
        let parts = good.split(separator: ".").map(String.init)
        let forged = try TestTokens.encode(TestTokens.claims("somebody else"))
        let none = try TestTokens.encode(["alg": "none"])
        let wrong = [
            try TestTokens.hs256(claims, secret: "another secret, which has more than 32 bytes"),
            "\(parts[0]).\(forged).\(parts[2])", "\(none).\(parts[1]).", "\(none).\(parts[1]).\(parts[2])",
            "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])", good + ".", good + ".e30", "." + good, "...", "..",
            ".",
            "x", "",
            try TestTokens.hs256(claims, header: ["alg": "hs256"]), try TestTokens.hs256(claims, header: [:]),
            try TestTokens.hs256(claims, header: ["alg": "HS512"]),
            try TestTokens.hs256(claims, header: ["alg": "None"]),
            try TestTokens.hs256(claims, header: ["alg": "HS256", "crit": ["b64"], "b64": false]),
        ]
        for token in wrong { #expect(try await !isAccepted(token, verifier), "\(token)") }
        #expect(try await isAccepted(good, verifier))
    }

    @Test("a key of one kind never serves the algorithm of another")
    func algorithmConfusion() async throws {
        let key = P256.Signing.PrivateKey()
        let keySet = try TestTokens.keySet(key)
        let claims = TestTokens.claims("player")
        let publicTexts = [
            key.publicKey.pemRepresentation, String(decoding: keySet, as: UTF8.self),
            Proofs.encode(key.publicKey.rawRepresentation), "",
        ]
        let both = try await verifier(secret: TestTokens.secret, keySet: keySet)
        let keysOnly = try await verifier(keySet: keySet)
        let secretOnly = try await verifier(secret: TestTokens.secret)
        for header in [["alg": "HS256", "kid": "one"], ["alg": "HS256"], ["alg": "ES256", "kid": "one"]] {
            for text in publicTexts {
                let token = try TestTokens.hs256(claims, secret: text, header: header)
                for verifier in [both, keysOnly, secretOnly] { #expect(try await !isAccepted(token, verifier)) }
            }
        }
        let underSecret = try TestTokens.hs256(claims, header: ["alg": "ES256", "kid": "one"])
        #expect(try await !isAccepted(underSecret, both))
        let good = try TestTokens.es256(claims, key: key)
        #expect(try await isAccepted(good, both))
        #expect(try await isAccepted(good, keysOnly))
        #expect(try await !isAccepted(good, secretOnly))
        #expect(try await !isAccepted(TestTokens.es256(claims, key: key, header: ["alg": "HS256"]), both))
        #expect(
            try await !isAccepted(TestTokens.es256(claims, key: key, header: ["alg": "ES384", "kid": "one"]), both))
        #expect(try await !isAccepted(TestTokens.es256(claims, key: P256.Signing.PrivateKey()), both))
        #expect(try await !isAccepted(TestTokens.hs256(claims), keysOnly))
    }

    @Test("a token may leave out the key's name, but not name one that does not exist; that asks for newer keys")
    func keyNames() async throws {
        let key = P256.Signing.PrivateKey()
        let cache = KeySetCache()
        let requests = Mutex(0)
        cache.onRefreshRequest { requests.withLock { $0 += 1 } }
        let verifier = await AccountTokenVerifier(
            app: "app",
            authentication: AppsFile.Authentication(
                hs256Secret: nil, jwksFile: "x", jwksURL: nil, issuer: nil, audience: nil, serverKeys: []),
            keySet: cache)
        let claims = TestTokens.claims("player")
        let early = await #expect(throws: AuthenticationError.self) {
            try await verifier.verify(TestTokens.es256(claims, key: key), now: Date())
        }
        #expect(early?.code == .unavailable)
        cache.update(try await KeySet(TestTokens.keySet(key)))
        #expect(try await isAccepted(TestTokens.es256(claims, key: key, header: ["alg": "ES256"]), verifier))
        let unknown = try TestTokens.es256(claims, key: key, header: ["alg": "ES256", "kid": "two"])
        #expect(try await !isAccepted(unknown, verifier))
        #expect(try await !isAccepted(unknown, verifier))
        #expect(requests.withLock { $0 } == 1)
    }

    @Test("keys that are of no use do not spoil a set; a set of nothing else is refused")
    func keySets() async throws {
        let key = P256.Signing.PrivateKey()
        let useless: [[String: Any]] = [
            ["kty": "oct", "k": "c2VjcmV0", "kid": "one"], ["kty": "RSA", "kid": "one", "n": "AQAB", "e": "AQAB"],
            ["kty": "EC", "crv": "P-256", "kid": "one", "x": "AA", "y": "AA"], ["kty": 7], [:],
            ["kty": "EC", "crv": "P-256", "kid": "one", "use": "enc", "x": "AA", "y": "AA"],
        ]
        let verifier = try await verifier(keySet: TestTokens.keySet(key, others: useless))
        #expect(try await isAccepted(TestTokens.es256(TestTokens.claims("player"), key: key), verifier))
        let onlyUseless = try JSONSerialization.data(withJSONObject: ["keys": useless])
        for data in [onlyUseless, Data("{}".utf8), Data("[]".utf8), Data("<html>".utf8), Data()] {
            await #expect(throws: KeySetError.self) { try await KeySet(data) }
        }
    }

    @Test("a server API key is compared by its hash")
    func serverKeys() throws {
        let key = "csk_0123456789"
        let hash = SHA256.hash(data: Data(key.utf8)).map { String(format: "%02x", $0) }.joined()
        let token = try #require(BearerToken([.authorization: "bearer \(key)"]))
        #expect(token.isServerKey)
        #expect(token.place(among: ["00", hash, "ff"]) == 1)
        #expect(token.place(among: []) == nil)
        #expect(token.place(among: [String(hash.dropLast()), hash.uppercased(), key]) == nil)
    }

    @Test(
        "only one clean bearer token is taken from the header",
        arguments: ["", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearer a,b", "Bearera", "Bearer ü"])
    func badHeaders(field: String) {
        #expect(BearerToken([.authorization: field]) == nil)
    }
}
