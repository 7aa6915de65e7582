import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import ServiceLifecycle
import ServiceRuntime

/// Makes everything of `console`, in start order; it stops in reverse.
struct Assembly {
    private let context: ServiceContext
    private let configuration: Configuration

    init(_ context: ServiceContext, configuration: Configuration) {
        (self.context, self.configuration) = (context, configuration)
    }

    /// The parts in start order.
    ///
    /// - Throws: `SettingsFileError`.
    func services() throws -> ServiceAssembly {
        let logger = context.logger
        context.metrics.describe(ConsoleMetrics.families + SettingsReloadMetrics.families)
        let client = WebClient()
        let texts = try Texts.all()
        let renderer = try PageRenderer(htmx: htmx())
        let file = try configuration.peopleFile.map { path in (path, try PeopleFile.load(path: path)) }
        let people = People(file?.1 ?? DemoLogIn.people)
        let server = ConsoleServer(
            address: configuration.http,
            logIn: logIn(people, try LogInPage(texts: texts, renderer: renderer), client.http),
            intake: IntakeClient(http: client.http, address: configuration.intake, key: configuration.key),
            apps: configuration.apps, site: configuration.site, texts: texts, renderer: renderer, logger: logger)
        let reload = file.map { path, now in
            SettingsReload(
                "people", inUse: now, every: PeopleFile.Limit.interval, logger: logger,
                read: { try PeopleFile.load(path: path) }, use: { people.use($0) })
        }
        return ServiceAssembly(services: [client] + (reload.map { [$0] } ?? []) + [server])
    }

    private func logIn(_ people: People, _ page: LogInPage, _ http: HTTPClient) -> any LogIn {
        let logger = context.logger
        let sessions = Sessions(idle: configuration.sessionIdle, absolute: configuration.sessionAbsolute)
        let pages = SessionRoutes(sessions: sessions, people: people, page: page, logger: logger)
        context.metrics.onScrape { [GaugeSample("countersign_console_sessions", Double(sessions.all.count))] }
        switch configuration.logIn {
        case .oidc(let settings):
            return OpenIDLogIn(
                provider: OpenIDProvider(settings, http: http, now: { Date() }), pages: pages, logger: logger)
        case .proxy(let trusted, let header, let groupsHeader):
            return ProxyLogIn(
                trusted: trusted, header: header, groupsHeader: groupsHeader, people: people, page: page)
        case .demo:
            logger.warning("anybody on this machine may log in and pick a role: this is a demo")
            return DemoLogIn(pages: pages)
        }
    }

    private func htmx() -> [UInt8]? {
        guard let folder = configuration.assets,
            let data = FileManager.default.contents(atPath: "\(folder)/htmx.min.js")
        else {
            context.logger.notice("there is no htmx.min.js in console.assets: pages do not refresh by themselves")
            return nil
        }
        return Array(data)
    }
}

/// The client that intake and the provider are asked with.
struct WebClient: Service, CustomStringConvertible {
    let http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: WebClient.configuration)

    /// Follows no redirect, which would carry a key elsewhere.
    static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: .seconds(5)))
        // Somebody waits for the page: one that refuses is not tried for seconds.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// The name in logs.
    var description: String { "web client" }

    func run() async throws {
        try? await gracefulShutdown()
        try await http.shutdown()
    }
}
