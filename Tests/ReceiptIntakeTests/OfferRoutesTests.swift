import Crypto
import Foundation
import HTTPTypes
import Testing

@testable import ReceiptIntake
@testable import ServiceRuntime

@Suite("Signed subscription offers", .timeLimit(.minutes(1)))
struct OfferRoutesTests {
    /// Nothing of this needs a database.
    private static let nowhere = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"

    private static func decoded(_ part: Substring) throws -> [String: Any] {
        let bytes = try #require(Base64URL.decode(part))
        return try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    }

    /// The claims of a JWS whose signature openssl finds good.
    private static func claims(_ jws: String) async throws -> [String: Any] {
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let header = try decoded(parts[0])
        #expect(header as? [String: String] == ["alg": "ES256", "kid": OfferSamples.keyId, "typ": "JWT"])
        let raw = try #require(Base64URL.decode(parts[2]))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: raw).derRepresentation
        #expect(
            try await OpenSSL.verifies(
                signature, of: Data("\(parts[0]).\(parts[1])".utf8), by: OfferSamples.key.publicKey))
        return try decoded(parts[1])
    }

    @Test(
        "a promotional offer is signed in both forms, and openssl finds both good",
        .enabled(if: OpenSSL.isThere, "SKIPPED: there is no openssl"))
    func promotional() async throws {
        try await TestIntake.with(url: Self.nowhere) { intake in
            let token = UUID().uuidString
            let answer = try await intake.sign(
                ["offer_id": "secret", "app_account_token": token.uppercased(), "transaction_id": "2000001"],
                as: OfferSamples.backend)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.headers[.cacheControl] == "no-store")
            let fields = answer.fields
            #expect(fields["app_account_token"] as? String == token.lowercased())
            #expect(fields["key_id"] as? String == OfferSamples.keyId)
            let nonce = try #require(fields["nonce"] as? String)
            #expect(UUID(uuidString: nonce) != nil && nonce == nonce.lowercased())
            let timestamp = try #require(fields["timestamp"] as? Int64)
            #expect(abs(Double(timestamp) / 1_000 - Date().timeIntervalSince1970) < 60)
            let parts = [
                TestIntake.app, OfferSamples.keyId, "pass.year", "secret", token.lowercased(), nonce, "\(timestamp)",
            ]
            let signature = try #require((fields["signature"] as? String).flatMap { Data(base64Encoded: $0) })
            let bytes = Data(parts.joined(separator: "\u{2063}").utf8)
            #expect(try await OpenSSL.verifies(signature, of: bytes, by: OfferSamples.key.publicKey))
            #expect(try await !OpenSSL.verifies(signature, of: bytes + [0], by: OfferSamples.key.publicKey))
            let claims = try await Self.claims(try #require(fields["jws"] as? String))
            #expect(claims["iat"] as? Int64 == timestamp / 1_000)
            #expect(
                claims.filter { $0.key != "iat" } as? [String: String] == [
                    "aud": "promotional-offer", "bid": TestIntake.app, "iss": OfferSamples.issuerId, "nonce": nonce,
                    "productId": "pass.year", "offerIdentifier": "secret", "transactionId": "2000001",
                ])
        }
    }

    @Test(
        "without an account token the signature has an empty part, and each answer is signed anew",
        .enabled(if: OpenSSL.isThere, "SKIPPED: there is no openssl"))
    func tokenless() async throws {
        try await TestIntake.with(url: Self.nowhere) { intake in
            let player = try TestTokens.hs256(TestTokens.claims("player-1"))
            let answers = [
                try await intake.sign(["offer_id": OfferSamples.forPlayers], as: player),
                try await intake.sign(["offer_id": OfferSamples.forPlayers, "account": "player-1"], as: player),
            ]
            for fields in answers.map(\.fields) {
                let nonce = try #require(fields["nonce"] as? String)
                let timestamp = try #require(fields["timestamp"] as? Int64)
                let parts = [
                    TestIntake.app, OfferSamples.keyId, "pass.year", OfferSamples.forPlayers, "", nonce,
                    "\(timestamp)",
                ]
                let signature = try #require((fields["signature"] as? String).flatMap { Data(base64Encoded: $0) })
                #expect(
                    try await OpenSSL.verifies(
                        signature, of: Data(parts.joined(separator: "\u{2063}").utf8), by: OfferSamples.key.publicKey))
                #expect(try await Self.claims(try #require(fields["jws"] as? String))["transactionId"] == nil)
                #expect(fields["app_account_token"] == nil)
            }
            #expect(Set(answers.compactMap { $0.fields["nonce"] as? String }).count == 2)
        }
    }

    @Test(
        "whether a customer may have the introductory offer is signed for the backend",
        .enabled(if: OpenSSL.isThere, "SKIPPED: there is no openssl"))
    func introductory() async throws {
        try await TestIntake.with(url: Self.nowhere) { intake in
            for isAllowed in [true, false] {
                let answer = try await intake.sign(
                    ["allow_introductory_offer": isAllowed, "transaction_id": "2000001"], as: OfferSamples.backend)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.fields["signature"] == nil && answer.fields["expires_at"] == nil)
                let claims = try await Self.claims(try #require(answer.fields["jws"] as? String))
                #expect(claims["aud"] as? String == "introductory-offer-eligibility")
                #expect(claims["allowIntroductoryOffer"] as? Bool == isAllowed)
                #expect(claims["transactionId"] as? String == "2000001")
                #expect(claims["offerIdentifier"] == nil)
            }
        }
    }

    @Test("a player has those offers signed that are for every player, and nothing else")
    func players() async throws {
        try await TestIntake.with(url: Self.nowhere) { intake in
            let player = try TestTokens.hs256(TestTokens.claims("player-1"))
            for fields: [String: Any] in [
                ["offer_id": "secret"], ["allow_introductory_offer": true, "transaction_id": "1"],
                ["allow_introductory_offer": false, "transaction_id": "1"],
            ] {
                let answer = try await intake.sign(fields, as: player)
                #expect(answer.status == 403 && answer.slug == "offer-forbidden", "\(fields): \(answer.text)")
            }
            let another = try await intake.sign(
                ["offer_id": OfferSamples.forPlayers, "account": "player-2"], as: player)
            #expect(another.slug == "account-forbidden")
            // The key of the backend that could post before there were offers signs none.
            #expect(
                try await intake.sign(["offer_id": OfferSamples.forPlayers], as: TestIntake.serverKey).slug
                    == "scope-missing")
        }
    }

    @Test("what is wrong with a request is told")
    func badInputs() async throws {
        try await TestIntake.with(url: Self.nowhere) { intake in
            let zeros = "00000000-0000-0000-0000-000000000000"
            let offer = OfferSamples.forPlayers
            let cases: [(slug: String, field: String?, fields: [String: Any])] = [
                ("field-missing", "offer_id", [:]),
                ("field-invalid", "allow_introductory_offer", ["offer_id": offer, "allow_introductory_offer": true]),
                (
                    "field-invalid", "allow_introductory_offer",
                    ["allow_introductory_offer": "yes", "transaction_id": "1"]
                ),
                ("field-missing", "transaction_id", ["allow_introductory_offer": true]),
                ("field-invalid", "transaction_id", ["offer_id": offer, "transaction_id": "1 2"]),
                ("field-invalid", "transaction_id", ["offer_id": offer, "transaction_id": ""]),
                ("field-invalid", "app_account_token", ["offer_id": offer, "app_account_token": "player-1"]),
                ("field-invalid", "app_account_token", ["offer_id": offer, "app_account_token": zeros]),
                ("field-invalid", "offer_id", ["offer_id": ""]),
                ("field-invalid", "offer_id", ["offer_id": "a\u{2063}b"]),
                ("field-invalid", "offer_id", ["offer_id": 7]), ("field-invalid", "offer_id", ["offer_id": "a\nb"]),
                ("field-invalid", "product_id", ["offer_id": offer, "product_id": "a\u{2063}b"]),
                ("field-invalid", "product_id", ["offer_id": offer, "product_id": String(repeating: "x", count: 256)]),
                ("app-unknown", nil, ["offer_id": offer, "app": "com.example.unknown"]),
            ]
            for bad in cases {
                let answer = try await intake.sign(bad.fields, as: OfferSamples.backend)
                #expect(answer.slug == bad.slug && answer.status == 422, "\(bad.fields): \(answer.text)")
                #expect(answer.fields["field"] as? String == bad.field, "\(bad.fields): \(answer.text)")
            }
            let other = try TestTokens.hs256(
                TestTokens.claims("player-1"), secret: "the secret of the other app of the tests")
            let keyless = try await intake.sign(["offer_id": offer], as: other, app: TestIntake.otherApp)
            #expect(keyless.slug == "offer-key-missing" && keyless.status == 422, "\(keyless.text)")
        }
    }

    @Test("a player who wants too many is told when to come again; the backend has no limit")
    func limits() async throws {
        let settings = ["intake.account_signatures_per_minute": "2"]
        try await TestIntake.with(url: Self.nowhere, settings: settings) { intake in
            let player = try TestTokens.hs256(TestTokens.claims("player-1"))
            let fields = ["offer_id": OfferSamples.forPlayers]
            for _ in 0..<2 { #expect(try await intake.sign(fields, as: player).status == 200) }
            let answer = try await intake.sign(fields, as: player)
            #expect(answer.slug == "rate-limited" && answer.headers[.retryAfter] == "30", "\(answer.text)")
            #expect(answer.headers[.rateLimitPolicy] == "\"signatures\";q=2;w=60")
            for _ in 0..<3 { #expect(try await intake.sign(fields, as: OfferSamples.backend).status == 200) }
        }
    }
}

@Suite("Keys of subscription offers") struct OfferSignersTests {
    private static func apps(_ pem: String?) -> AppsFile {
        let key = pem.map { AppsFile.ServerAPIKey(issuerId: "i", keyId: "k", privateKey: Redacted($0)) }
        let authentication = AppsFile.Authentication(
            hs256Secret: nil, jwksFile: nil, jwksURL: nil, issuer: nil, audience: nil, serverKeys: [])
        let app = AppsFile.App(
            bundleId: "a", appAppleId: nil, isReleased: false, sandbox: .accept, receipts: .offline, possession: .proof,
            sharedSecret: nil, serverAPI: nil,
            subscriptionOffers: key.map { AppsFile.SubscriptionOffers(key: $0, playerOffers: ["o"]) },
            authentication: authentication)
        return AppsFile(apps: ["a": app])
    }

    @Test("another file's key signs from then on; a key that is none changes nothing, and is quoted nowhere")
    func changes() throws {
        let signers = try OfferSigners(Self.apps(nil), path: "apps.yaml")
        #expect(signers.signer(app: "a") == nil)
        try signers.use(Self.apps(P256.Signing.PrivateKey().pemRepresentation), path: "apps.yaml")
        #expect(signers.signer(app: "a")?.keyId == "k")
        let bad = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"
        for pem in [bad, P384.Signing.PrivateKey().pemRepresentation] {
            #expect { try signers.use(Self.apps(pem), path: "apps.yaml") } throws: { error in
                let sentence = "\(error)"
                return sentence.contains("`subscription_offers` is no key of P-256") && !sentence.contains("hunter2")
            }
        }
        #expect(signers.signer(app: "a") != nil && signers.signer(app: "b") == nil)
        try signers.use(Self.apps(nil), path: "apps.yaml")
        #expect(signers.signer(app: "a") == nil)
    }
}
