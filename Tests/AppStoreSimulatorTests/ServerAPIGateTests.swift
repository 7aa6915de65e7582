import Crypto
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Server API: who may call")
struct ServerAPIGateTests {
    /// Claims with some of them changed; `now` is seconds.
    private static func claims(
        now: Int64, iss: String = ServerAPIShop.issuerId, iat: Int64? = 0, exp: Int64 = 300,
        aud: String = #""appstoreconnect-v1""#, bid: String = ServerAPIShop.bundleId, factor: Int64 = 1
    ) -> String {
        let issued = iat.map { #""iat":\#((now + $0) * factor),"# } ?? ""
        return #"{"iss":"\#(iss)",\#(issued)"exp":\#((now + exp) * factor),"aud":\#(aud),"bid":"\#(bid)"}"#
    }

    private static func status(
        _ shop: ServerAPIShop, header: String? = nil, _ payload: String, key: P256.Signing.PrivateKey? = nil,
        in environment: StoreEnvironment = .production
    ) async throws -> Int {
        let header = header ?? #"{"alg":"ES256","kid":"\#(ServerAPIShop.keyId)","typ":"JWT"}"#
        let token = try shop.token(header: header, payload: payload, key: key)
        let response = try await shop.call(
            .get, "v1/transactions/1", authorization: "Bearer \(token)", in: environment)
        // Past the gate there is no such transaction.
        if response.status == .unauthorized {
            #expect(response.headers[.contentType] == "text/plain")
            #expect(String(buffer: response.body).hasPrefix("Unauthenticated"))
        }
        return response.status.code
    }

    @Test("a good token is let through, also one without iat as Apple's library makes it")
    func good() async throws {
        let shop = try await ServerAPIShop()
        let now = shop.clock.realNow / 1_000
        for payload in [
            Self.claims(now: now), Self.claims(now: now, iat: nil, exp: 300), Self.claims(now: now, exp: 3_600),
            Self.claims(now: now, iat: 60, exp: 300), Self.claims(now: now, aud: #"["appstoreconnect-v1"]"#),
        ] {
            #expect(try await Self.status(shop, payload) == 404, "\(payload)")
        }
        await shop.store.close()
    }

    @Test("a wrong token is not")
    func wrong() async throws {
        let shop = try await ServerAPIShop()
        let now = shop.clock.realNow / 1_000
        for payload in [
            Self.claims(now: now, iss: "somebody-else"), Self.claims(now: now, aud: #""appstore""#),
            Self.claims(now: now, aud: "[]"), Self.claims(now: now, bid: "com.example.other"),
            Self.claims(now: now, iat: 61), Self.claims(now: now, exp: 3_601), Self.claims(now: now, exp: 0),
            Self.claims(now: now, iat: -4_000, exp: -300), Self.claims(now: now, iat: nil, exp: 3_661),
            Self.claims(now: now, factor: 1_000), "{}", "[]", "",
        ] {
            #expect(try await Self.status(shop, payload) == 401, "\(payload)")
        }
        let good = Self.claims(now: now)
        for header in [
            #"{"alg":"none","kid":"\#(ServerAPIShop.keyId)","typ":"JWT"}"#,
            #"{"alg":"HS256","kid":"\#(ServerAPIShop.keyId)","typ":"JWT"}"#,
            #"{"alg":"ES256","kid":"unknown","typ":"JWT"}"#, #"{"alg":"ES256","kid":"\#(ServerAPIShop.keyId)"}"#,
            #"{"alg":"ES256","typ":"JWT"}"#,
        ] {
            #expect(try await Self.status(shop, header: header, good) == 401, "\(header)")
        }
        #expect(try await Self.status(shop, good, key: P256.Signing.PrivateKey()) == 401)
        await shop.store.close()
    }

    @Test("neither is no token, or half of one")
    func malformed() async throws {
        let shop = try await ServerAPIShop()
        let token = try shop.token()
        for authorization in [
            nil, "", token, "Basic \(token)", "Bearer ", "Bearer \(token)x", "Bearer \(token.dropLast())",
            "Bearer a.b", "Bearer a.b.c", "Bearer \(String(repeating: "x", count: 10_000))",
        ] {
            let response = try await shop.call(.get, "v1/transactions/1", authorization: authorization)
            #expect(response.status == .unauthorized, "\(authorization ?? "none")")
        }
        await shop.store.close()
    }

    @Test("a token that was let through is refused once it expired, or its key or issuer is gone")
    func remembered() async throws {
        let shop = try await ServerAPIShop()
        let api = TokenGate(store: shop.store, environment: .production)
        let token = "Bearer \(try shop.token())"
        #expect(try api.caller(authorization: token).bundleId == ServerAPIShop.bundleId)
        #expect(try api.caller(authorization: token).bundleId == ServerAPIShop.bundleId)
        let pem = shop.key.publicKey.pemRepresentation
        for change in [
            { $0.publicKeys = [:] }, { $0.issuerId = "another" }, { $0.isReleased = false },
            { $0.publicKeys[ServerAPIShop.keyId] = P256.Signing.PrivateKey().publicKey.pemRepresentation },
        ] as [@Sendable (inout AppRecord) -> Void] {
            try await shop.store.change { state, _ in
                var app = ServerAPIShop.app(ServerAPIShop.bundleId, key: pem)
                change(&app)
                state.put(app)
            }
            #expect(throws: APIError.unauthenticated) { try api.caller(authorization: token) }
        }
        try await shop.store.change { state, _ in
            state.put(ServerAPIShop.app(ServerAPIShop.bundleId, key: pem))
        }
        shop.time.step(299_000)
        #expect(try api.caller(authorization: token).bundleId == ServerAPIShop.bundleId)
        shop.time.step(1_000)
        #expect(throws: APIError.unauthenticated) { try api.caller(authorization: token) }
        await shop.store.close()
    }

    @Test("tokens are dated in real time, whatever the store's clock says")
    func realTime() async throws {
        let shop = try await ServerAPIShop()
        shop.clock.set(shop.clock.now + 365 * 86_400_000)
        #expect(try await Self.status(shop, Self.claims(now: shop.clock.realNow / 1_000)) == 404)
        await shop.store.close()
    }
}
