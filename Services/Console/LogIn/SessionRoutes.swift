import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import ServiceRuntime

/// Logging out, and the list of who is logged in: the same however people log in.
struct SessionRoutes: Sendable {
    let sessions: Sessions
    let people: People
    let page: LogInPage
    let logger: Logger

    /// The routes; each form has the visit's token.
    var all: [ConsoleRoute] {
        [
            ConsoleRoute(.post, "/logout", .seeHome, logOut),
            ConsoleRoute(.get, "/sessions", .endSessions, list),
            ConsoleRoute(.post, "/sessions/{session}/end", .endSessions, end),
        ]
    }

    /// The session of a request's cookie; nil where it has none that is alive.
    ///
    /// A page that htmx refreshes by itself is looked at, maybe, by nobody: it keeps no session alive.
    func session(of request: Request) -> Sessions.Session? {
        guard let secret = HostCookie.session.value(in: request) else { return nil }
        return sessions.session(secret, isUse: request.method != .get || request.headers[.hxRequest] == nil)
    }

    /// What a session may now; nil, and its end, where the people file has no role for it any more.
    func visit(_ session: Sessions.Session) -> Visit? {
        guard let person = people.person(session.identity) else {
            sessions.end { $0.id == session.id }
            return nil
        }
        return Visit(person: person, session: session.id, csrfToken: session.csrfToken)
    }

    /// Begins a session and leads to a page; a cookie from before the log-in is worth nothing afterwards.
    func begin(
        _ identity: Identity, as person: Person, grant: ProviderGrant? = nil, from request: Request, to path: String
    ) -> Response {
        if let old = HostCookie.session.value(in: request) { sessions.end(cookie: old) }
        let secret = sessions.begin(identity, grant: grant)
        ConsoleMetrics.count("in")
        logger.info(
            "somebody logged in", metadata: .fields([.person: "\(person.name)", .role: "\(person.role.rawValue)"]))
        var response = Redirect.to(path)
        HostCookie.session.set(secret, in: &response)
        return response
    }

    @Sendable
    private func logOut(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let visit = try await checked(request, context)
        sessions.end { $0.id == visit.session }
        logger.info("somebody logged out", metadata: .fields([.person: "\(visit.person.name)"]))
        var response = Redirect.to("/login?out=1")
        HostCookie.session.clear(in: &response)
        return response
    }

    @Sendable
    private func list(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        guard let visit = context.visit else { throw ConsoleTrouble(.forbidden) }
        let texts = page.texts(for: request)
        let blocks = sessions.all.flatMap { self.blocks(of: $0, visit, texts) }
        let page = Page(title: texts("sessions.title"), blocks: [.notice(.plain, texts("sessions.about"))] + blocks)
        let frame = Frame(visit: visit, app: nil, apps: [], texts: texts, here: request.uri.string)
        return Response(
            status: .ok, headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: self.page.renderer.html(page, frame))))
    }

    /// Whose a session is, and the button that ends it.
    private func blocks(of session: Sessions.Session, _ visit: Visit, _ texts: Texts) -> [Block] {
        let role = people.person(session.identity).map { texts("role.\($0.role.rawValue)") }
        let own = session.id == visit.session ? " · " + texts("sessions.own") : ""
        let facts = [
            Fact(texts("sessions.role"), Cell(role)), Fact(texts("sessions.began"), Self.time(session.began)),
            Fact(texts("sessions.last_use"), Self.time(session.lastUse)),
        ]
        let form = Form(
            action: "/sessions/\(session.id)/end", fields: [], submit: texts("sessions.end"), isDangerous: true,
            csrf: visit.csrfToken)
        return [.facts(heading: session.identity.shown + own, facts), .form(form)]
    }

    @Sendable
    private func end(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let visit = try await checked(request, context)
        let id = context.parameters.get("session") ?? ""
        guard sessions.end(where: { $0.id == id }) > 0 else { throw ConsoleTrouble(.notFound) }
        logger.info("somebody ended a session", metadata: .fields([.person: "\(visit.person.name)"]))
        return Redirect.to("/sessions")
    }

    /// Whose form it is.
    ///
    /// - Throws: `ConsoleTrouble` where no page of ours sent it.
    private func checked(_ request: Request, _ context: ConsoleContext) async throws -> Visit {
        guard let visit = context.visit else { throw ConsoleTrouble(.forbidden) }
        var request = request
        let fields = try await ConsoleServer.fields(of: &request, context)
        try CrossSite.check(request, token: fields["csrf"], visit)
        return visit
    }

    private static func time(_ date: Date) -> Cell { .time(.string(date.formatted(.iso8601))) }
}
