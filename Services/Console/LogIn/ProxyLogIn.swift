import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceRuntime

/// A proxy in front has logged somebody in, and says by headers who it is; only the proxies' own connections are believed.
struct ProxyLogIn: LogIn {
    enum Limit {
        /// Characters of the header that names somebody.
        static let name = 255
        /// Groups that are looked at.
        static let groups = 1_000
    }

    let trusted: [AddressRange]
    let header: HTTPField.Name
    /// Groups with commas between; nil where the proxy tells none.
    let groupsHeader: HTTPField.Name?
    let people: People
    let page: LogInPage
    /// Of this process alone: a form from before a restart has expired.
    private let key = SymmetricKey(size: .bits256)

    init(
        trusted: [AddressRange], header: HTTPField.Name, groupsHeader: HTTPField.Name?, people: People, page: LogInPage
    ) {
        (self.trusted, self.header, self.groupsHeader) = (trusted, header, groupsHeader)
        (self.people, self.page) = (people, page)
    }

    var routes: [ConsoleRoute] {
        [ConsoleRoute(.get, "/login", nil, explain), ConsoleRoute(.post, "/logout", nil, logOut)]
    }

    func visit(of request: Request, _ context: ConsoleContext) async throws -> Visit? {
        guard let person = identity(of: request, context).flatMap(people.person) else { return nil }
        return Visit(person: person, session: person.id, csrfToken: token(of: person.id))
    }

    /// What somebody's forms have: of that person, and of this process.
    func token(of subject: String) -> String {
        RandomText.hexadecimal(HMAC<SHA256>.authenticationCode(for: Data(subject.utf8), using: key))
    }

    /// Whom the proxy names; nil where it is no proxy of ours, or names nobody, or several.
    private func identity(of request: Request, _ context: ConsoleContext) -> Identity? {
        guard let peer = context.channel.remoteAddress.flatMap(ClientAddress.init),
            trusted.contains(where: { $0.contains(peer) })
        else { return nil }
        let names = request.headers[values: header]
        guard names.count == 1, let name = names.first?.trimmingCharacters(in: .whitespaces),
            (1...Limit.name).contains(name.count), !name.contains(where: { $0.isNewline || $0 == "\0" })
        else { return nil }
        let groups = groupsHeader.map { request.headers[values: $0] } ?? []
        return Identity(
            subject: name, email: name.contains("@") ? name : nil, name: name,
            groups: groups.flatMap { $0.split(separator: ",") }.prefix(Limit.groups)
                .map { $0.trimmingCharacters(in: .whitespaces) })
    }

    @Sendable
    private func explain(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        guard context.visit == nil else { return Redirect.to(LogInPage.next(request)) }
        let name = identity(of: request, context)?.shown
        if name != nil { ConsoleMetrics.count("no_role") }
        let texts = page.texts(for: request)
        return page.answer(request, "login.proxy", message: name.map { texts("login.no_role", $0) }, status: .forbidden)
    }

    /// The session is the proxy's: ending it here is not possible, and saying so is.
    @Sendable
    private func logOut(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let texts = page.texts(for: request)
        return page.answer(request, "login.proxy", message: texts("login.proxy_out"))
    }
}
