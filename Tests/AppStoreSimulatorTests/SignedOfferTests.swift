import Crypto
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import AppStoreSimulator

/// A developer's server that signs offers in both of Apple's forms, and a simulator that sells by them.
private struct OfferShop: ~Copyable {
    static let bundleId = "com.example.club"
    static let token = "7e3fb20b-4cdb-47cc-936d-99d65f608138"

    let simulator: Simulator
    let time = SteppedTime(Int64(Date().timeIntervalSince1970 * 1_000))
    let key = P256.Signing.PrivateKey()

    init(folder: URL? = nil) throws {
        simulator = try Simulator(folder: folder, clock: time.clock())
    }

    func setUp() async throws {
        let pem = key.publicKey.pemRepresentation.replacing("\n", with: "\\n")
        try await simulator.control(
            .put, "apps/\(Self.bundleId)", #"{"issuerId":"issuer","publicKeys":{"OFFERKEY01":"\#(pem)"}}"#)
        for product in ["pass.year", "pass.month"] {
            try await simulator.control(
                .put, "apps/\(Self.bundleId)/products/\(product)",
                #"""
                {"type":"Auto-Renewable Subscription","period":"P1M","price":9990,"offers":[
                {"kind":"promotional","identifier":"comeback","discount":"FREE_TRIAL","period":"P1W"},
                {"kind":"promotional","identifier":"summer","discount":"FREE_TRIAL","period":"P1W"},
                {"kind":"introductory","discount":"FREE_TRIAL","period":"P1W"}]}
                """#)
        }
    }

    /// The clock's time; what is signed is signed now unless a test says otherwise.
    var now: Int64 { simulator.assembly.store.clock.realNow }

    /// The form of `SKPaymentDiscount`, for ``token`` and the offer `comeback` of `pass.year`.
    func signature(
        _ nonce: String, at time: Int64? = nil, token: String = Self.token, keyId: String = "OFFERKEY01",
        by other: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let timestamp = time ?? now
        let parts = [Self.bundleId, keyId, "pass.year", "comeback", token, nonce, "\(timestamp)"]
        let text = Data(parts.joined(separator: "\u{2063}").utf8)
        let signature = try (other ?? key).signature(for: text).derRepresentation.base64EncodedString()
        return #"{"keyId":"\#(keyId)","nonce":"\#(nonce)","timestamp":\#(timestamp),"signature":"\#(signature)"}"#
    }

    /// StoreKit 2's form: claims of a promotional offer, some of them changed.
    func jws(_ nonce: String, _ changes: [String: any Sendable] = [:], type: String = "JWT") throws -> String {
        let claims: [String: any Sendable] = [
            "aud": "promotional-offer", "bid": Self.bundleId, "iss": "issuer", "iat": now / 1_000, "nonce": nonce,
            "productId": "pass.year", "offerIdentifier": "comeback",
        ]
        let header = try JSONSerialization.data(
            withJSONObject: ["alg": "ES256", "kid": "OFFERKEY01", "typ": type])
        let payload = try JSONSerialization.data(withJSONObject: claims.merging(changes) { $1 })
        let signed = "\(Self.base64URL(header)).\(Self.base64URL(payload))"
        let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
        return #"{"jws":"\#(signed).\#(Self.base64URL(signature))"}"#
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Tries to buy: nil where it was sold, else what StoreKit would not say.
    func refusal(
        _ signed: String, product: String = "pass.year", offer: String = "comeback", token: String = Self.token,
        kind: String = "promotional", more: String = ""
    ) async throws -> String? {
        let answer = try await simulator.request(
            .post, "/simulator/v1/sales",
            body: #"""
                {"bundleId":"\#(Self.bundleId)","productId":"\#(product)","appAccountToken":"\#(token)"\#(more),
                "offer":{"kind":"\#(kind)","identifier":"\#(offer)","signed":\#(signed)}}
                """#)
        if answer.status == .ok { return nil }
        return try JSONDecoder().decode(Simulator.ProblemDetails.self, from: answer.json).detail
    }
}

@Suite("Offers that a server signed")
struct SignedOfferTests {
    private static func nonce() -> String { UUID().uuidString.lowercased() }

    @Test("a purchase that fails leaves the signature good; one signature is one purchase")
    func unused() async throws {
        let shop = try OfferShop()
        try await shop.setUp()
        let signed = try shop.jws(Self.nonce(), ["offerIdentifier": "none"])
        #expect(try await shop.refusal(signed, offer: "none")?.contains("no such offer") == true)
        let good = try shop.signature(Self.nonce())
        #expect(try await shop.refusal(good, more: #","count":2"#)?.contains("count: 1") == true)
        #expect(try await shop.refusal(good) == nil)
    }

    @Test("a JWS is for one app, product, offer, customer and use")
    func claims() async throws {
        let shop = try OfferShop()
        try await shop.setUp()
        let cases: [(changes: [String: any Sendable], why: String)] = [
            (["aud": "introductory-offer-eligibility"], "aud"), (["bid": "com.example.other"], "bid"),
            (["iss": "another"], "bid, iss"), (["productId": "pass.month"], "productId"),
            (["offerIdentifier": "summer"], "offerIdentifier"), (["nonce": "x"], "no UUID"),
            (["iat": shop.now], "last 24 hours"), (["iat": 1e300], "iat"),
        ]
        for bad in cases {
            let why = try #require(try await shop.refusal(try shop.jws(Self.nonce(), bad.changes)))
            #expect(why.contains(bad.why), "\(bad.changes): \(why)")
        }
        #expect(try await shop.refusal(try shop.jws(Self.nonce(), type: "X"))?.contains("header") == true)
        let alice = try #require(
            try await shop.simulator.sell(
                #"{"bundleId":"\#(OfferShop.bundleId)","productId":"pass.year","account":"alice"}"#
            ).first)
        let hers = try shop.jws(Self.nonce(), ["transactionId": alice.transactionId])
        #expect(try await shop.refusal(hers, more: #","account":"bob""#)?.contains("another customer") == true)
        let allowed: [String: any Sendable] = [
            "aud": "introductory-offer-eligibility", "allowIntroductoryOffer": false, "transactionId": "7",
        ]
        let no = try shop.jws(Self.nonce(), allowed)
        #expect(try await shop.refusal(no, kind: "introductory")?.contains("allows no introductory") == true)
    }

    @Test("a signature is good for 24 hours, and nonces are forgotten after them and not before")
    func times() async throws {
        let shop = try OfferShop()
        try await shop.setUp()
        let early = try shop.signature(Self.nonce(), at: shop.now + SignedOffer.Limit.clockSkew + 1)
        #expect(try await shop.refusal(early)?.contains("last 24 hours") == true)
        let signed = [try shop.signature(Self.nonce()), try shop.jws(Self.nonce()), try shop.signature(Self.nonce())]
        shop.time.step(SignedOffer.Limit.validity - 1_000)
        #expect(try await shop.refusal(signed[2]) == nil, "on the last second")
        #expect(try await shop.refusal(signed[2])?.contains("used already") == true)
        shop.time.step(1_000)
        for signed in signed { #expect(try await shop.refusal(signed)?.contains("last 24 hours") == true) }
        shop.time.step(SignedOffer.Limit.clockSkew + 1)
        #expect(try await shop.refusal(try shop.signature(Self.nonce())) == nil)
        #expect(await shop.simulator.assembly.store.read { $0.offerNonces.count } == 1)
    }

    @Test("a nonce stays used when the simulator is started again")
    func restarted() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "offers-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let signed: String
        do {
            let shop = try OfferShop(folder: folder)
            try await shop.setUp()
            signed = try shop.signature(Self.nonce())
            #expect(try await shop.refusal(signed) == nil)
        }
        let again = try OfferShop(folder: folder)
        #expect(try await again.refusal(signed)?.contains("used already") == true)
    }
}
