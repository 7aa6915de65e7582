import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import ServiceRuntime

/// Anybody on this machine picks a role: for a demo, and refused at start where it could be anything else.
struct DemoLogIn: LogIn {
    private static let fetchSite = HTTPField.Name("sec-fetch-site")

    let pages: SessionRoutes

    /// Every role by its own name.
    static let people = PeopleFile(
        roles: Dictionary(uniqueKeysWithValues: Role.allCases.map { (.subject("demo-\($0.rawValue)"), $0) }))

    /// Whether settings are those of a demo: nothing of it is reached from another machine.
    static func isAllowed(host: String, intake: String, publicURL: String?) -> Bool {
        Loopback.isHost(host) && Loopback.isURL(intake) && publicURL.map(Loopback.isURL) ?? true
    }

    var routes: [ConsoleRoute] {
        [
            ConsoleRoute(.get, "/login", nil, choose), ConsoleRoute(.post, "/login/{role}", nil, logIn),
        ] + pages.all
    }

    func visit(of request: Request, _ context: ConsoleContext) async throws -> Visit? {
        try check(request, context)
        return pages.session(of: request).flatMap(pages.visit)
    }

    @Sendable
    private func choose(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let texts = pages.page.texts(for: request)
        let next = LogInPage.next(request)
        return pages.page.answer(
            request, "login.demo",
            acts: Role.allCases.map { role in
                LogInPage.Act(
                    href: "/login/\(role.rawValue)?next=\(IntakeClient.part(next))",
                    text: texts("login.as", texts("role.\(role.rawValue)")), isForm: true)
            })
    }

    @Sendable
    private func logIn(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        // Nobody is logged in, so there is no token: the browser itself says which site sent the form. As pages of ours ask for
        // no Referer, their Origin is `null`, which tells nothing: it counts only where the other header is missing.
        if let site = Self.fetchSite.flatMap({ request.headers[$0] }) {
            guard site == "same-origin" else { throw ConsoleTrouble(.formExpired) }
        } else if let origin = request.headers[.origin], origin != "http://\(request.head.authority ?? "")" {
            throw ConsoleTrouble(.formExpired)
        }
        guard let name = context.parameters.get("role") else { throw ConsoleTrouble(.notFound) }
        let identity = Identity(subject: "demo-\(name)")
        guard let person = pages.people.person(identity) else { throw ConsoleTrouble(.notFound) }
        return pages.begin(identity, as: person, from: request, to: LogInPage.next(request))
    }

    /// - Throws: `ConsoleTrouble` for a request from another machine, or one that a site's name was bent to here for.
    private func check(_ request: Request, _ context: ConsoleContext) throws(ConsoleTrouble) {
        guard let peer = context.channel.remoteAddress.flatMap(ClientAddress.init), peer.isLoopback,
            Loopback.isURL("http://\(request.head.authority ?? "")")
        else { throw ConsoleTrouble(.forbidden) }
    }
}
