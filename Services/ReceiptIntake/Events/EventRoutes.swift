import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/events`, by which the studio's backend pulls, and `GET /v1/accounts/{id}/events`, by which players follow their own.
struct EventRoutes: Sendable {
    let authenticator: Authenticator
    let reading: EventReading
    let places: EventStreamPlaces
    let pace: EventStream.Pace
    let accountWaits: AccountWaits
    let connections: ConnectionSignals

    /// Events of an app, a page at a time.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func events(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        let query = try EventQuery(request, of: caller, account: nil)
        context.tells(of: query.filter.account, in: query.filter.environment)
        return try await page(query, request, context, caller)
    }

    /// Events of an account: a page, or a stream for who accepts `text/event-stream`.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func accountEvents(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        let account = try ReadingQuery.account(context)
        guard caller.maySee(app: caller.app, account: account.text) else { throw ProblemDetails.notFound }
        let query = try EventQuery(request, of: caller, account: account)
        context.tells(of: account, in: query.filter.environment)
        let last = try EventQuery.start(request.headers[.lastEventId], field: "Last-Event-ID")
        guard Self.wantsStream(request) else { return try await page(query, request, context, caller) }
        return try await stream(query, from: last, context, caller, account, isAllowed(request, context))
    }

    private static func wantsStream(_ request: Request) -> Bool {
        request.headers[values: .accept].contains { value in
            value.split(separator: ",").contains { range in
                let type = range.prefix { $0 != ";" }.filter { $0 != " " }
                return type.lowercased() == "text/event-stream"
            }
        }
    }

    @inline(never)
    private func page(
        _ query: EventQuery, _ request: Request, _ context: IntakeContext, _ caller: Caller
    ) async throws -> Response {
        let wait = try WaitParameter.read(request)
        let place = accountWaits.enter(caller, wait: wait, for: .event, from: context.client)
        defer { accountWaits.leave(place) }
        let page = try await reading.page(
            query, from: query.start ?? .oldest, for: caller, within: place.time,
            connection: connections.connection(of: context.channel))
        return EventPageAnswer.response(PlayerEvent.page(page, for: caller, logger: context.logger))
    }

    @inline(never)
    private func stream(
        _ query: EventQuery, from last: EventQuery.Start?, _ context: IntakeContext, _ caller: Caller,
        _ account: Account, _ isAllowed: @escaping @Sendable () async -> Bool
    ) async throws -> Response {
        let place = try places.enter(caller, account: account, from: context.client)
        let start = last ?? query.start ?? .now
        let slices = EventQuery(query, limit: EventStream.Pace.events)
        let first = try await reading.page(slices, from: start, for: caller)
        let stream = EventStream(
            pace: pace, reading: reading, query: slices, caller: caller,
            first: PlayerEvent.page(first, for: caller, logger: context.logger), isAllowed: isAllowed,
            channel: context.channel, connection: connections.connection(of: context.channel), place: place,
            logger: context.logger)
        return stream.response()
    }

    /// Whether the request's credentials are good later on: a token ends, a key is taken back.
    private func isAllowed(_ request: Request, _ context: IntakeContext) -> @Sendable () async -> Bool {
        let authenticator = authenticator
        return {
            do {
                _ = try await ReadingCaller.read(request, context, authenticator)
                return true
            } catch let error as AuthenticationError {
                return error.code == .unavailable
            } catch {
                return false
            }
        }
    }
}

extension EventQuery {
    /// The same in pages of another size.
    init(_ query: EventQuery, limit: Int) {
        filter = query.filter
        start = query.start
        self.limit = limit
    }
}
