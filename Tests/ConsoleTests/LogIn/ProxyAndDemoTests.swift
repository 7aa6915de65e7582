import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import ServiceRuntime
import Testing

@testable import Console

@Suite("Behind a proxy that logs people in", .timeLimit(.minutes(1)))
struct ProxyLogInTests {
    private func with(trusted: String, _ body: @escaping @Sendable (LogInStage) async throws -> Void) async throws {
        let trusted = try SettingReader(["console.trusted_proxies": trusted]).addressRanges("console.trusted_proxies")
        let header = try #require(HTTPField.Name("X-Forwarded-Email"))
        let groups = HTTPField.Name("X-Forwarded-Groups")
        try await LogInStage.with { pages, _, _ in
            ProxyLogIn(
                trusted: trusted, header: header, groupsHeader: groups, people: pages.people, page: pages.page)
        } _: { stage in
            try await body(stage)
        }
    }

    private func headers(_ names: [String], groups: String? = nil) throws -> HTTPFields {
        var headers = HTTPFields()
        headers[values: try #require(HTTPField.Name("X-Forwarded-Email"))] = names
        if let groups { headers[try #require(HTTPField.Name("X-Forwarded-Groups"))] = groups }
        return headers
    }

    @Test("its headers name people and their groups")
    func named() async throws {
        try await with(trusted: "127.0.0.0/8, ::1") { stage in
            let browser = stage.browser()
            let kim = try headers(["kim@studio.example"])
            #expect(try await browser.get("/", kim).headers[.location]?.hasPrefix("/apps/") == true)
            let nobody = try headers(["lee@studio.example"])
            #expect(try await browser.get("/", nobody).headers[.location]?.hasPrefix("/login") == true)
            #expect(try await browser.get("/login", nobody).status == .forbidden)
            let support = try headers(["lee@studio.example"], groups: "others, support")
            #expect(try await browser.get("/", support).headers[.location]?.hasPrefix("/apps/") == true)
            // A name that came along, and the proxy's behind it.
            let two = try headers(["admin@studio.example", "kim@studio.example"])
            #expect(try await browser.get("/", two).headers[.location]?.hasPrefix("/login") == true)
            #expect(try await browser.get("/", [:]).headers[.location]?.hasPrefix("/login") == true)
        }
    }

    @Test("from any other address they are nobody's")
    func others() async throws {
        try await with(trusted: "10.0.0.1") { stage in
            let kim = try headers(["kim@studio.example"], groups: "admins")
            #expect(try await stage.browser().get("/", kim).headers[.location]?.hasPrefix("/login") == true)
        }
    }

    @Test("a form has a token of that person and of this process")
    func tokens() throws {
        let page = try LogInPage(texts: Texts.all(), renderer: PageRenderer(htmx: nil))
        let header = try #require(HTTPField.Name("X-User"))
        func logIn() -> ProxyLogIn {
            ProxyLogIn(trusted: [], header: header, groupsHeader: nil, people: People(DemoLogIn.people), page: page)
        }
        let one = logIn()
        #expect(one.token(of: "kim") == one.token(of: "kim"))
        #expect(one.token(of: "kim") != one.token(of: "lee"))
        #expect(one.token(of: "kim") != logIn().token(of: "kim"))
    }
}

@Suite("A demo's log-in", .timeLimit(.minutes(1)))
struct DemoLogInTests {
    private func with(
        setup: TestingSetup = .live, _ body: @escaping @Sendable (LogInStage) async throws -> Void
    ) async throws {
        try await LogInStage.with(people: DemoLogIn.people.roles, setup: setup) { pages, _, _ in
            DemoLogIn(pages: pages)
        } _: { stage in
            try await body(stage)
        }
    }

    @Test("anybody on this machine picks a role")
    func roles() async throws {
        try await with { stage in
            let browser = stage.browser()
            let page = String(buffer: try await browser.get("/login?next=/apps/com.example.game/log").body)
            #expect(page.matches(of: /action="\/login\/\w+\?next=%2Fapps%2Fcom.example.game%2Flog"/).count == 4)
            for role in Role.allCases {
                let answer = try await browser.post("/login/\(role.rawValue)?next=/")
                #expect(answer.headers[.location] == "/")
                #expect(try await browser.get("/sessions").status == (role == .admin ? .ok : .forbidden))
            }
            #expect(try await browser.post("/login/owner").status == .notFound)
            #expect(try await browser.post("/login/admin?next=//evil.example").headers[.location] == "/")
        }
    }

    @Test("a site elsewhere cannot log somebody in, nor be a name of this machine")
    func crossSite() async throws {
        try await with { stage in
            let browser = stage.browser()
            let site = try #require(HTTPField.Name("sec-fetch-site"))
            #expect(try await browser.post("/login/admin", [], [site: "cross-site"]).status == .forbidden)
            #expect(
                try await browser.post("/login/admin", [], [.origin: "https://evil.example"]).status == .forbidden)
            #expect(try await browser.post("/login/admin", [], [.origin: "null"]).status == .forbidden)
            #expect(stage.sessions.all.isEmpty)
            // What Chromium sends from our own page, which asks for no Referer.
            let own: HTTPFields = [site: "same-origin", .origin: "null"]
            #expect(try await browser.post("/login/admin", [], own).status == .seeOther)
        }
    }

    @Test("a connection that is not from this machine is refused, for pages too")
    func peers() async throws {
        // Without a connection there is no address.
        try await with(setup: .router) { stage async throws in
            #expect(try await stage.browser().get("/login").status == .forbidden)
            #expect(try await stage.browser().post("/login/admin").status == .forbidden)
        }
    }
}
