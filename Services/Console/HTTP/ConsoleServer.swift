import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Metrics
import NIOCore
import ServiceLifecycle
import ServiceRuntime

/// The web server that the studio's people open.
struct ConsoleServer: Service, CustomStringConvertible {
    enum Limit {
        /// Seconds after which a connection that sends nothing is closed.
        static let idleSeconds: Int64 = 60
        /// Bytes of a form.
        static let formBytes = 64 << 10
        /// Fields of a form.
        static let formFields = 100
    }

    private let address: ListenAddress
    private let logIn: any LogIn
    private let intake: IntakeClient
    private let apps: [String]
    private let site: String?
    private let texts: [Language: Texts]
    private let renderer: PageRenderer
    private let logger: Logger

    /// - Parameters:
    ///   - apps: bundle ids, the first is shown first.
    ///   - site: where the website of the documents is, with a slash at the end; nil where it is published nowhere.
    ///   - texts: of every language.
    ///   - renderer: makes HTML, and has the files that browsers fetch.
    init(
        address: ListenAddress, logIn: any LogIn, intake: IntakeClient, apps: [String], site: String? = nil,
        texts: [Language: Texts], renderer: PageRenderer, logger: Logger
    ) {
        (self.address, self.logIn, self.intake, self.apps) = (address, logIn, intake, apps)
        (self.site, self.texts, self.renderer, self.logger) = (site, texts, renderer, logger)
    }

    /// The name in logs.
    var description: String { "console server" }

    func run() async throws {
        try await application().run()
    }

    /// The server with its limits.
    func application() -> some ApplicationProtocol {
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .notice)
        return Application(
            router: router(),
            server: .http1(configuration: HTTP1Channel.Configuration(idleTimeout: .seconds(Limit.idleSeconds))),
            configuration: ApplicationConfiguration(address: .hostname(address.host, port: address.port)),
            onServerRunning: { [logger] channel in
                logger.info(
                    "the console is open",
                    metadata: .fields([
                        .host: "\(address.host)", .port: "\(channel.localAddress?.port ?? address.port)",
                    ]))
            },
            logger: quiet)
    }

    /// Makes the router of all routes.
    func router() -> Router<ConsoleContext> {
        let router = Router(context: ConsoleContext.self)
        router.add(middleware: SecurityHeaders())
        for route in routes {
            router.on(RouterPath(route.path), method: route.method) { request, context in
                try await answer(request, context, route)
            }
        }
        return router
    }

    /// Every route; a test walks it with every role.
    var routes: [ConsoleRoute] {
        logIn.routes
            + [
                ConsoleRoute(.get, "/", .seeHome) { _, _ in
                    Redirect.to(apps.first.map { "/apps/\($0)" } ?? "/login")
                },
                ConsoleRoute(.get, "/go", .seeHome) { request, _ in
                    let app = request.uri.queryParameters["app"].map(String.init) ?? ""
                    guard apps.contains(app) else { throw ConsoleTrouble(.notFound) }
                    return Redirect.to("/apps/\(app)")
                },
                ConsoleRoute(.get, "/language/{code}", nil, LanguageCookie.set),
                ConsoleRoute(.get, "/assets/{hash}/{name}", nil) { request, _ in try asset(request) },
            ]
            + AppPages.all.map { page in
                ConsoleRoute(page.method, "/apps/{app}\(page.path)", page.permission) { request, context in
                    try await html(of: page, request, context)
                }
            }
    }

    // MARK: Answers

    /// Finds out who asks, and whether that person may; what goes wrong is a page as well.
    @inline(never)
    private func answer(_ request: Request, _ context: ConsoleContext, _ route: ConsoleRoute) async throws -> Response {
        var context = context
        do {
            do {
                context.visit = try await logIn.visit(of: request, context)
            } catch let trouble as ConsoleTrouble where route.permission == nil && trouble.kind == .providerAway {
                // The page that says so has a style sheet, and the way to log in is open.
            }
            if let permission = route.permission {
                guard let visit = context.visit else { return Redirect.toLogIn(from: request) }
                guard visit.person.may(permission) else { throw ConsoleTrouble(.forbidden) }
            }
            return try await route.handler(request, context)
        } catch let trouble as ConsoleTrouble {
            return try response(troublePage(trouble, texts(for: request)), request, context, app: nil)
        }
    }

    @inline(never)
    private func html(of page: AppPage, _ request: Request, _ context: ConsoleContext) async throws -> Response {
        guard let visit = context.visit, let app = context.parameters.get("app"), apps.contains(app) else {
            throw ConsoleTrouble(.notFound)
        }
        var request = request
        var fields: [String: String] = [:]
        if page.method == .post {
            fields = try await Self.fields(of: &request, context)
            try CrossSite.check(request, token: fields["csrf"], visit)
        }
        let texts = texts(for: request)
        let made = PageRequest(
            request: request, context: context, visit: visit, app: app, site: site, texts: texts, intake: intake,
            fields: fields)
        do {
            return try response(try await page.make(made), request, context, app: app)
        } catch let trouble as ConsoleTrouble {
            return try response(troublePage(trouble, texts), request, context, app: app)
        }
    }

    /// The fields of a form.
    ///
    /// - Throws: `ConsoleTrouble` for what is none.
    static func fields(of request: inout Request, _ context: ConsoleContext) async throws -> [String: String] {
        do {
            let body = try await request.collectBody(upTo: Limit.formBytes)
            let fields = try URLEncodedFormDecoder().decode([String: String].self, from: String(buffer: body))
            guard fields.count <= Limit.formFields else { throw ConsoleTrouble(.badRequest) }
            return fields
        } catch is DecodingError {
            throw ConsoleTrouble(.badRequest)
        } catch let error as HTTPError where error.status == .contentTooLarge {
            throw ConsoleTrouble(.badRequest)
        }
    }

    /// What is shown in place of a page; counted, and logged where the person can do nothing about it.
    private func troublePage(_ trouble: ConsoleTrouble, _ texts: Texts) -> Page {
        Counter(label: "countersign_console_troubles", dimensions: [("kind", trouble.kind.rawValue)]).increment()
        if trouble.status.code >= 500 {
            logger.warning("a page could not be shown", metadata: .fields([.reason: "\(trouble.kind.rawValue)"]))
        }
        var blocks: [Block] = [.notice(.bad, texts("trouble.\(trouble.kind.rawValue)"))]
        if let code = trouble.problem, texts.word("problem", code) != code {
            blocks.append(.notice(.plain, texts.word("problem", code)))
        }
        if let detail = trouble.detail { blocks.append(.notice(.plain, detail)) }
        return Page(title: texts("trouble.title"), blocks: blocks, status: trouble.status.code)
    }

    private func response(_ page: Page, _ request: Request, _ context: ConsoleContext, app: String?) throws -> Response
    {
        if let place = page.goTo { return Redirect.to(place) }
        if let download = page.download { return Self.response(download) }
        let frame = Frame(
            visit: context.visit, app: app ?? (context.visit == nil ? nil : apps.first), apps: apps,
            texts: texts(for: request), here: request.uri.string,
            asked: PageRequest.query(of: request)["q"] ?? "")
        return Response(
            status: HTTPResponse.Status(code: page.status),
            headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: renderer.html(page, frame))))
    }

    private static func response(_ download: Download) -> Response {
        var headers: HTTPFields = [.contentType: download.contentType, .cacheControl: "no-store"]
        headers[.contentDisposition] = "attachment; filename=\"\(download.name)\""
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: download.text)))
    }

    private func texts(for request: Request) -> Texts {
        let language = LanguageCookie.language(of: request)
        // Every language has texts: they are read at the start.
        return texts[language] ?? Texts(language: language, texts: [:])
    }

    private func asset(_ request: Request) throws -> Response {
        guard let asset = renderer.assets.first(where: { $0.path == request.uri.path }) else {
            throw ConsoleTrouble(.notFound)
        }
        return Response(
            status: .ok,
            headers: [.contentType: asset.contentType, .cacheControl: "public, max-age=31536000, immutable"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: asset.bytes)))
    }
}
