import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import ServiceRuntime
import Testing

@testable import Console

@Suite("Logging in at a provider", .timeLimit(.minutes(1)))
struct OpenIDLogInTests {
    @Test("somebody with a role gets in, and where they wanted to go")
    func good() async throws {
        try await LogInStage.withOpenID { stage, provider in
            let browser = stage.browser()
            #expect(try await browser.get("/").headers[.location] == "/login?next=%2F")
            let page = try await browser.get("/login?next=/apps/com.example.game/find%3Fq%3D1")
            #expect(String(buffer: page.body).contains("/login/start?next=%2Fapps%2Fcom.example.game%2Ffind%3Fq%3D1"))
            let back = try await browser.logIn(at: provider, next: "/apps/com.example.game/find?q=1")
            #expect(back.status == .seeOther)
            #expect(back.headers[.location] == "/apps/com.example.game/find?q=1")
            let cookie = try #require(back.headers[values: .setCookie].first { $0.hasPrefix("__Host-countersign=") })
            for part in ["Secure", "HttpOnly", "SameSite=Lax", "Path=/"] { #expect(cookie.contains(part), "\(cookie)") }
            #expect(!cookie.contains("Domain"))
            #expect(try await browser.isIn())
            let session = try #require(stage.sessions.all.first)
            #expect(stage.people.person(session.identity)?.role == .support)
            #expect(session.identity.shown == "kim@studio.example")
            // What lists show is not what the cookie has.
            #expect(session.id != browser.session)
        }
    }

    @Test("the role is the highest that groups, address and subject give; without an entry nobody gets in")
    func roles() async throws {
        try await LogInStage.withOpenID { stage, provider async throws in
            func role() async throws -> Role? {
                let browser = stage.browser()
                stage.sessions.end { _ in true }
                let answer = try await browser.logIn(at: provider)
                #expect(try await browser.isIn() == (answer.status == .seeOther))
                return stage.sessions.all.first.flatMap { stage.people.person($0.identity) }?.role
            }
            #expect(try await role() == .support)
            provider.change { $0.groups = ["support", "admins", .integer(7)] }
            #expect(try await role() == .admin)
            provider.change { $0.groups = nil }
            #expect(try await role() == .viewer)
            // An address that the provider has not verified anybody may have written there.
            provider.change { $0.isVerified = false }
            #expect(try await role() == nil)
            stage.people.use(PeopleFile(roles: [.subject("person-1"): .operator]))
            #expect(try await role() == .operator)
            // The name in the log is then nobody else's.
            #expect(stage.sessions.all.first?.identity.shown == "Kim (person-1)")
        }
    }

    @Test("a role that the people file takes away is away with the next request")
    func peopleFile() async throws {
        try await LogInStage.withOpenID { stage, provider in
            let browser = stage.browser()
            try await browser.logIn(at: provider)
            stage.people.use(PeopleFile(roles: [:]))
            #expect(try await !browser.isIn())
            #expect(stage.sessions.all.isEmpty)
        }
    }

    @Test("an id of before the log-in is worth nothing afterwards")
    func fixation() async throws {
        try await LogInStage.withOpenID { stage, provider in
            let browser = stage.browser()
            browser.session = "chosen-by-somebody-else"
            try await browser.logIn(at: provider)
            let first = try #require(browser.session)
            #expect(first != "chosen-by-somebody-else")
            #expect(first.utf8.count == 64)
            try await browser.logIn(at: provider)
            let other = stage.browser()
            other.session = first
            #expect(try await !other.isIn())
            other.session = "chosen-by-somebody-else"
            #expect(try await !other.isIn())
            #expect(try await browser.isIn())
        }
    }

    @Test(
        "a way back that is no page of ours leads to the first page",
        arguments: [
            "https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "/a\r\nSet-Cookie: a=b",
            "/\tevil", "javascript:alert(1)", "", "/login", "/login/start?next=/",
        ])
    func openRedirect(next: String) async throws {
        try await LogInStage.withOpenID { stage, provider in
            let browser = stage.browser()
            let back = try await browser.logIn(at: provider, next: next)
            #expect(back.headers[.location] == "/")
            #expect(try await browser.get("/login?next=\(IntakeClient.part(next))").headers[.location] == "/")
        }
    }

    @Test("an answer is of the log-in that this browser began, once")
    func state() async throws {
        try await LogInStage.withOpenID { stage, provider in
            let browser = stage.browser()
            func back(_ query: String, from browser: TestBrowser) async throws -> HTTPResponse.Status {
                try await browser.get("/login/callback?\(query)").status
            }
            func begin(_ browser: TestBrowser) async throws -> (state: String, code: String) {
                try provider.authorize(try #require(try await browser.get("/login/start").headers[.location]))
            }
            var (state, code) = try await begin(browser)
            #expect(try await back("state=\(RandomText.make())&code=\(code)", from: browser) == .forbidden)
            // The cookie went with the refusal.
            #expect(try await back("state=\(state)&code=\(code)", from: browser) == .forbidden)
            // Somebody else's answer, in the victim's browser.
            (state, code) = try await begin(stage.browser())
            #expect(try await back("state=\(state)&code=\(code)", from: browser) == .forbidden)
            _ = try await begin(browser)
            #expect(try await back("state=\(state)&code=\(code)", from: browser) == .forbidden)
            (state, code) = try await begin(browser)
            #expect(try await back("state=\(state)", from: browser) == .forbidden)
            (state, code) = try await begin(browser)
            #expect(try await back("state=\(state)&error=access_denied", from: browser) == .forbidden)
            (state, code) = try await begin(browser)
            #expect(
                try await back("state=\(state)&code=\(code)&iss=https://other.example", from: browser) == .forbidden)
            // Too late.
            (state, code) = try await begin(browser)
            stage.clock.advance(by: TimeInterval(LogInState.Limit.seconds))
            #expect(try await back("state=\(state)&code=\(code)", from: browser) == .forbidden)
            #expect(stage.sessions.all.isEmpty)
            (state, code) = try await begin(browser)
            #expect(try await back("state=\(state)&code=\(code)", from: browser) == .seeOther)
        }
    }

    @Test("the provider away: a page says so, and nobody gets in")
    func away() async throws {
        try await LogInStage.withOpenID { stage, provider in
            let browser = stage.browser()
            provider.change { $0.isAway = true }
            #expect(try await browser.get("/login/start").status == .serviceUnavailable)
            provider.change { $0.isAway = false }
            // Not asked with every log-in that somebody begins.
            #expect(try await browser.get("/login/start").status == .serviceUnavailable)
            stage.clock.advance(by: 5)
            let start = try await browser.get("/login/start")
            let (state, code) = try provider.authorize(try #require(start.headers[.location]))
            provider.change { $0.isAway = true }
            let back = try await browser.get("/login/callback?state=\(state)&code=\(code)")
            #expect(back.status == .serviceUnavailable)
            #expect(String(buffer: back.body).contains("does not answer"))
            #expect(stage.sessions.all.isEmpty)
        }
    }

    @Test("logging out wants a form of ours, and ends the session for every copy of the cookie")
    func logOut() async throws {
        try await LogInStage.withOpenID(people: [.group("support"): .admin]) { stage, provider in
            let browser = stage.browser()
            try await browser.logIn(at: provider)
            let token = try await browser.token(on: "/sessions")
            #expect(try await browser.post("/logout").status == .forbidden)
            #expect(try await browser.post("/logout", [("csrf", RandomText.make())]).status == .forbidden)
            #expect(try await browser.isIn())
            let copy = stage.browser()
            copy.session = browser.session
            let out = try await browser.post("/logout", [("csrf", token)])
            #expect(out.headers[.location] == "/login?out=1")
            #expect(browser.session == nil)
            #expect(try await !copy.isIn())
        }
    }

    @Test("who may end sessions sees all of them, and ends another's")
    func endSessions() async throws {
        try await LogInStage.withOpenID { stage, provider in
            let support = stage.browser()
            try await support.logIn(at: provider)
            #expect(try await support.get("/sessions").status == .forbidden)
            let theirs = try #require(stage.sessions.all.first)
            provider.change { $0.groups = ["admins"] }
            let admin = stage.browser()
            try await admin.logIn(at: provider)
            let page = String(buffer: try await admin.get("/sessions").body)
            #expect(page.contains("/sessions/\(theirs.id)/end"))
            #expect(!page.contains(try #require(support.session)))
            let token = try await admin.token(on: "/sessions")
            #expect(try await admin.post("/sessions/\(theirs.id)/end").status == .forbidden)
            #expect(try await admin.post("/sessions/unknown/end", [("csrf", token)]).status == .notFound)
            #expect(try await admin.post("/sessions/\(theirs.id)/end", [("csrf", token)]).status == .seeOther)
            #expect(try await !support.isIn())
            #expect(try await admin.isIn())
        }
    }
}
