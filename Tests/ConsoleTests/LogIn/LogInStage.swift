import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore

@testable import Console
@testable import ServiceRuntime

/// The console with a way to log in; there is no intake behind it.
struct LogInStage: Sendable {
    static let people: [PeopleFile.Who: Role] = [
        .group("support"): .support, .group("admins"): .admin, .email("kim@studio.example"): .viewer,
    ]

    let clock: TestClock
    let sessions: Sessions
    let people: People
    let client: any TestClientProtocol

    /// Another browser.
    func browser() -> TestBrowser { TestBrowser(client) }

    /// Runs the console, logged in to by this provider.
    static func withOpenID(
        people: [PeopleFile.Who: Role] = people,
        _ body: @escaping @Sendable (LogInStage, TestProvider) async throws -> Void
    ) async throws {
        let clock = TestClock()
        let provider = TestProvider(clock: clock)
        try await provider.running {
            let settings = SettingReader([
                "console.oidc.issuer": provider.issuer, "console.oidc.client_id": TestProvider.client,
                "console.oidc.client_secret": TestProvider.secret,
            ])
            try await with(clock: clock, people: people) { pages, http, logger in
                let settings = try OpenIDSettings(settings, publicURL: "https://console.studio.example")
                return OpenIDLogIn(
                    provider: OpenIDProvider(settings, http: http, now: { clock.now }), pages: pages, logger: logger)
            } _: { stage in
                try await body(stage, provider)
            }
        }
    }

    static func with(
        clock: TestClock = TestClock(), people roles: [PeopleFile.Who: Role] = people, setup: TestingSetup = .live,
        logIn: @Sendable (SessionRoutes, HTTPClient, Logger) throws -> any LogIn,
        _ body: @escaping @Sendable (LogInStage) async throws -> Void
    ) async throws {
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let http = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: .init(redirectConfiguration: .disallow))
        do {
            let texts = try Texts.all()
            let renderer = try PageRenderer(htmx: nil)
            let sessions = Sessions(idle: .seconds(1_800), absolute: .seconds(43_200), now: { clock.now })
            let people = People(PeopleFile(roles: roles))
            let pages = SessionRoutes(
                sessions: sessions, people: people, page: try LogInPage(texts: texts, renderer: renderer),
                logger: logger)
            let server = ConsoleServer(
                address: ListenAddress(host: "127.0.0.1", port: 0), logIn: try logIn(pages, http, logger),
                intake: IntakeClient(http: http, address: "http://127.0.0.1:1", key: Redacted("csk_test")),
                apps: ["com.example.game"], texts: texts, renderer: renderer, logger: logger)
            try await server.application().test(setup) { client in
                try await body(LogInStage(clock: clock, sessions: sessions, people: people, client: client))
            }
        } catch {
            try await http.shutdown()
            throw error
        }
        try await http.shutdown()
    }
}
