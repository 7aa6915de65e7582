import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Synchronization
import Testing

@testable import Console

/// A way in which an ID token is not good.
struct BadToken: Sendable, CustomTestStringConvertible {
    let name: String
    let change: @Sendable (inout TestProvider.Behaviour) -> Void

    init(_ name: String, _ change: @escaping @Sendable (inout TestProvider.Behaviour) -> Void) {
        (self.name, self.change) = (name, change)
    }

    init(_ name: String, _ claims: [String: JSON]) { self.init(name) { $0.claims = claims } }

    var testDescription: String { name }

    static let all = [
        BadToken("another nonce", ["nonce": "another"]), BadToken("no nonce", ["nonce": .null]),
        BadToken("another audience", ["aud": "another-client"]), BadToken("no audience", ["aud": .null]),
        BadToken("two audiences, and no azp", ["aud": .list(["console-client", "another"])]),
        BadToken("another azp", ["azp": "another-client"]), BadToken("another issuer", ["iss": "https://evil.example"]),
        BadToken("expired", ["exp": .integer(1_000_000)]), BadToken("no exp", ["exp": .null]),
        BadToken("exp is a text", ["exp": "99999999999"]), BadToken("no subject", ["sub": .null]),
        BadToken("an empty subject", ["sub": ""]), BadToken("a number for a subject", ["sub": .integer(1)]),
        BadToken("another subject than userinfo", ["sub": "person-2"]),
        BadToken("algorithm none") { $0.algorithm = "none" }, BadToken("algorithm HS256") { $0.algorithm = "HS256" },
        BadToken("an algorithm that the key is not for") { $0.algorithm = "ES384" },
        BadToken("a key that it does not publish") { $0.signsWith = "other" },
        BadToken("an unknown key") { ($0.signsWith, $0.keyId) = ("other", "other") },
    ]
}

@Suite("What a provider signs", .timeLimit(.minutes(1)))
struct ProviderTokenTests {
    @Test("an ID token that is not genuine, not of now or not for us lets nobody in", arguments: BadToken.all)
    func bad(token: BadToken) async throws {
        try await LogInStage.withOpenID { stage, provider in
            provider.change(token.change)
            let browser = stage.browser()
            let answer = try await browser.logIn(at: provider)
            #expect(answer.status == .forbidden)
            #expect(stage.sessions.all.isEmpty)
            #expect(try await !browser.isIn())
        }
    }

    @Test("several audiences with our azp are good")
    func audiences() async throws {
        try await LogInStage.withOpenID { stage, provider async throws in
            provider.change { $0.claims = ["aud": .list(["another", "console-client"]), "azp": "console-client"] }
            #expect(try await stage.browser().logIn(at: provider).status == .seeOther)
        }
    }

    @Test("a new key is fetched, and keys that nobody has are looked for every 30 s at most")
    func keys() async throws {
        try await LogInStage.withOpenID { stage, provider async throws in
            #expect(try await stage.browser().logIn(at: provider).status == .seeOther)
            provider.change { $0.published = ["one", "two"] }
            provider.change { ($0.signsWith, $0.keyId) = ("two", "two") }
            // Within 30 s of the last look.
            #expect(try await stage.browser().logIn(at: provider).status == .forbidden)
            stage.clock.advance(by: 30)
            #expect(try await stage.browser().logIn(at: provider).status == .seeOther)
            provider.change { ($0.signsWith, $0.keyId) = ("other", "invented") }
            for _ in 0..<5 { #expect(try await stage.browser().logIn(at: provider).status == .forbidden) }
            #expect(provider.behaviour.withLock { $0.keySetRequests } == 2)
        }
    }

    @Test(
        "a discovery document of another issuer, or with addresses that anybody on the way may answer for, is refused")
    func discovery() async throws {
        let bad: [[String: JSON]] = [
            ["issuer": "https://evil.example"], ["token_endpoint": "http://evil.example/token"],
            ["jwks_uri": "http://evil.example/keys"], ["userinfo_endpoint": .null],
            ["authorization_endpoint": "javascript:alert(1)"],
        ]
        for document in bad {
            try await LogInStage.withOpenID { stage, provider in
                provider.change { $0.discovery = document }
                let answer = try await stage.browser().get("/login/start")
                #expect(answer.status == .forbidden, "\(document)")
                #expect(answer.headers[.location] == nil)
            }
        }
    }

    @Test("the back channel ends the sessions that a genuine logout token names, and a bad one none")
    func backChannel() async throws {
        try await LogInStage.withOpenID { stage, provider in
            let browser = stage.browser()
            try await browser.logIn(at: provider)
            let event: JSON = .object(["http://schemas.openid.net/event/backchannel-logout": .object([:])])
            func logOut(_ change: [String: JSON], by algorithm: String = "ES256") async throws -> HTTPResponse.Status {
                provider.change { $0.algorithm = algorithm }
                let claims = provider.claims().merging(["events": event]) { $1 }.merging(change) { $1 }
                let token = try provider.token(claims, type: "logout+jwt")
                return try await stage.browser().post("/back-channel-logout", [("logout_token", token)]).status
            }
            #expect(try await stage.browser().post("/back-channel-logout").status == .badRequest)
            #expect(try await logOut(["events": .null]) == .badRequest)
            #expect(try await logOut(["nonce": "one"]) == .badRequest)
            #expect(try await logOut(["aud": "another-client"]) == .badRequest)
            #expect(try await logOut(["iat": .integer(1_000_000)]) == .badRequest)
            #expect(try await logOut(["sub": .null, "sid": .null]) == .badRequest)
            #expect(try await logOut([:], by: "none") == .badRequest)
            #expect(try await logOut(["sid": "another-session"]) == .ok)
            #expect(try await browser.isIn())
            #expect(try await logOut([:]) == .ok)
            #expect(try await !browser.isIn())
            try await browser.logIn(at: provider)
            #expect(try await logOut(["sid": .null]) == .ok)
            #expect(try await !browser.isIn())
        }
    }
}
