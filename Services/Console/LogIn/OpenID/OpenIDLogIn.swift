import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Pacing
import ServiceRuntime

/// People log in at the studio's OpenID provider.
struct OpenIDLogIn: LogIn {
    /// What came of asking the provider again.
    private enum Confirmation: Sendable {
        case confirmed, over, away
    }

    private let provider: OpenIDProvider
    private let pages: SessionRoutes
    private let logger: Logger
    private let now: @Sendable () -> Date
    /// Seals log-ins that are on their way; a restart ends them.
    private let key = SymmetricKey(size: .bits256)
    /// Pages that somebody opens at once ask the provider once.
    private let confirmations = SingleFlight<String, Confirmation>(
        limits: .init(flightsMaximum: Sessions.Limit.count, rememberedMaximum: 0), isWorthRemembering: { _ in false })

    init(provider: OpenIDProvider, pages: SessionRoutes, logger: Logger) {
        (self.provider, self.pages, self.logger, now) = (provider, pages, logger, provider.now)
    }

    var routes: [ConsoleRoute] {
        [
            ConsoleRoute(.get, "/login", nil, explain), ConsoleRoute(.get, "/login/start", nil, start),
            ConsoleRoute(.get, "/login/callback", nil, callback),
            ConsoleRoute(.post, "/back-channel-logout", nil, backChannel),
        ] + pages.all
    }

    // MARK: Who asks

    func visit(of request: Request, _ context: ConsoleContext) async throws -> Visit? {
        guard let session = pages.session(of: request) else { return nil }
        guard let grant = session.grant, grant.isDue(now()) || grant.isStale(now()) else { return pages.visit(session) }
        guard let current = try await confirmed(session, grant) else { return nil }
        return pages.visit(current)
    }

    /// The session as the provider sees it now; nil where it is over.
    ///
    /// - Throws: `ConsoleTrouble` where the provider has been away for too long.
    private func confirmed(_ session: Sessions.Session, _ grant: ProviderGrant) async throws -> Sessions.Session? {
        var outcome = Confirmation.away
        if grant.isDue(now()) {
            let answer = await confirmations.value(of: session.id, within: .seconds(4 * ProviderRequests.Limit.seconds))
            {
                await ask(session, grant)
            }
            if case .value(let value) = answer { outcome = value }
        }
        switch outcome {
        case .over: return nil
        case .confirmed: return pages.sessions.all.first { $0.id == session.id }
        case .away:
            guard !grant.isStale(now()) else { throw ConsoleTrouble(.providerAway) }
            return session
        }
    }

    private func ask(_ session: Sessions.Session, _ old: ProviderGrant) async -> Confirmation {
        do {
            let (identity, grant) = try await provider.confirm(session.identity.subject, old)
            pages.sessions.update(session.id, identity, grant)
            return .confirmed
        } catch ProviderTrouble.away(let what) {
            logger.warning(
                "the provider does not answer; sessions go on for a while", metadata: .fields([.error: "\(what)"]))
        } catch let trouble as ProviderTrouble {
            pages.sessions.end { $0.id == session.id }
            ConsoleMetrics.countEnded("refused")
            logger.info(
                "a session was ended",
                metadata: .fields([.person: "\(session.identity.shown)", .error: "\(trouble)"]))
            return .over
        } catch {}
        var asked = old
        asked.asked = now()
        pages.sessions.update(session.id, session.identity, asked)
        return .away
    }

    // MARK: Logging in

    @Sendable
    private func explain(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        guard context.visit == nil else { return Redirect.to(LogInPage.next(request)) }
        let texts = pages.page.texts(for: request)
        let isOut = request.uri.queryParameters["out"] != nil
        return answer(request, message: isOut ? texts("login.out") : nil)
    }

    @Sendable
    private func start(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let state = LogInState(next: LogInPage.next(request), now: now())
        do {
            let address = try await provider.address(for: state)
            var response = Response(status: .seeOther, headers: [.location: address, .cacheControl: "no-store"])
            HostCookie.logIn.set(
                try state.sealed(with: key), seconds: LogInState.Limit.seconds, in: &response)
            return response
        } catch let trouble as ProviderTrouble {
            return failed(request, trouble)
        }
    }

    @Sendable
    private func callback(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        var response: Response
        do {
            response = try await finish(request)
        } catch let trouble as ProviderTrouble {
            response = failed(request, trouble)
        }
        // It is good for one way back.
        HostCookie.logIn.clear(in: &response)
        return response
    }

    private func finish(_ request: Request) async throws -> Response {
        let query = request.uri.queryParameters
        guard let state = HostCookie.logIn.value(in: request).flatMap({ LogInState.opened($0, with: key, now: now()) }),
            let given = query["state"].map(String.init), ConstantTime.isEqual(given, state.state)
        else { throw ProviderTrouble.wrong("the answer is of no log-in of this browser: its state is another") }
        // RFC 9207: an answer of another provider than the one that was asked.
        if let issuer = query["iss"], issuer != provider.settings.issuer[...] {
            throw ProviderTrouble.wrong("the answer is another provider's")
        }
        guard let code = query["code"].map(String.init), !code.isEmpty else {
            throw ProviderTrouble.refused("it sent no code back")
        }
        let (identity, grant) = try await provider.logIn(code: code, state)
        guard let person = pages.people.person(identity) else {
            ConsoleMetrics.count("no_role")
            logger.notice(
                "somebody has no entry in the people file", metadata: .fields([.person: "\(identity.shown)"]))
            let texts = pages.page.texts(for: request)
            return answer(request, message: texts("login.no_role", identity.shown), status: .forbidden)
        }
        return pages.begin(identity, as: person, grant: grant, from: request, to: state.next)
    }

    /// The page with the way in.
    private func answer(_ request: Request, message: String?, status: HTTPResponse.Status = .ok) -> Response {
        let texts = pages.page.texts(for: request)
        let next = IntakeClient.part(LogInPage.next(request))
        return pages.page.answer(
            request, "login.oidc", message: message,
            acts: [.init(href: "/login/start?next=\(next)", text: texts("login.start"), isForm: false)], status: status)
    }

    private func failed(_ request: Request, _ trouble: ProviderTrouble) -> Response {
        logger.warning("a log-in failed", metadata: .fields([.error: "\(trouble)"]))
        let texts = pages.page.texts(for: request)
        if case .away = trouble {
            ConsoleMetrics.count("away")
            return answer(request, message: texts("login.away"), status: .serviceUnavailable)
        }
        ConsoleMetrics.count("refused")
        return answer(request, message: texts("login.failed"), status: .forbidden)
    }

    // MARK: The provider's back channel

    /// `POST /back-channel-logout`: the provider has logged somebody out.
    @Sendable
    private func backChannel(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        var request = request
        let fields = try await ConsoleServer.fields(of: &request, context)
        do {
            let token = try await provider.documents.claims(of: fields["logout_token"] ?? "")
            let (subject, providerSession) = try provider.claims.checkLogoutToken(token)
            let count = pages.sessions.end { session in
                if let providerSession { return session.grant?.providerSession == providerSession }
                return session.identity.subject == subject
            }
            ConsoleMetrics.countEnded("back_channel", count)
            logger.info("the provider ended sessions", metadata: .fields([.count: "\(count)"]))
            return Response(status: .ok, headers: [.cacheControl: "no-store"])
        } catch let trouble as ProviderTrouble {
            logger.warning("a back-channel logout was refused", metadata: .fields([.error: "\(trouble)"]))
            let status: HTTPResponse.Status = if case .away = trouble { .serviceUnavailable } else { .badRequest }
            return Response(status: status, headers: [.cacheControl: "no-store"])
        }
    }
}
