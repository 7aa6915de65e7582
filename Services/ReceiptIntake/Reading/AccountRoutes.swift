import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/accounts/{id}` and `GET /v1/accounts/{id}/transactions`.
struct AccountRoutes: Sendable {
    let authenticator: Authenticator
    let store: AccountStore
    let turns: ReadingTurns
    let waits: VersionWaits
    let accountWaits: AccountWaits
    let connections: ConnectionSignals

    /// Tells what an account has, with `at_least` not before its effects are in it.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func account(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let (customer, caller) = try await customer(request, context)
        let includesExpired = try ReadingQuery.includesExpired(request)
        let wait = try WaitParameter.read(request)
        if let least = try ReadingQuery.leastVersion(request) {
            // Each look while it waits reads, too.
            try await turns.limits.admitReading(by: caller)
            let place = accountWaits.enter(caller, wait: wait, for: .version, from: context.client)
            defer { accountWaits.leave(place) }
            try await waits.wait(
                for: customer, atLeast: least, within: place.time,
                connection: connections.connection(of: context.channel))
            let account = try await turns.takeAgain(for: caller) {
                try await store.account(customer, includesExpired: includesExpired)
            }
            guard account.version >= least else { throw ProblemDetails.versionNotReached(account.version) }
            return try ReadingAnswer.response(AccountAnswer(account, of: customer))
        }
        let account = try await turns.take(for: caller) {
            try await store.account(customer, includesExpired: includesExpired)
        }
        return try ReadingAnswer.response(AccountAnswer(account, of: customer))
    }

    /// Tells an account's transactions, a page at a time.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func transactions(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let (customer, caller) = try await customer(request, context)
        let position = try ReadingQuery.position(request)
        let limit = try ReadingQuery.limit(request)
        let page = try await turns.take(for: caller) {
            try await store.transactions(of: customer, after: position, limit: limit)
        }
        return try ReadingAnswer.response(ListAnswer(page))
    }

    /// Whose account is asked for; another's does not exist for a player.
    @inline(never)
    private func customer(
        _ request: Request, _ context: IntakeContext
    ) async throws -> (customer: Customer, caller: Caller) {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        let environment = try ReadingQuery.environment(request, of: caller)
        let name = try ReadingQuery.account(context)
        guard caller.maySee(app: caller.app, account: name.text) else { throw ProblemDetails.notFound }
        context.tells(of: name, in: environment)
        return (Customer(environment: environment, app: caller.app, account: name), caller)
    }
}

/// Who reads, for the app that the query names.
enum ReadingCaller {
    /// - Throws: `ProblemDetails`, `AuthenticationError`.
    @inline(never)
    static func read(
        _ request: Request, _ context: IntakeContext, _ authenticator: Authenticator
    ) async throws -> Caller {
        guard let token = BearerToken(request.headers) else { throw ProblemDetails.authenticationRequired }
        let app = try ReadingQuery.app(request)
        guard authenticator.knows(app: app) else { throw ProblemDetails.appUnknown }
        return try await authenticator.caller(
            token, app: app, access: context.access, correlationId: context.correlationId)
    }
}

extension ProblemDetails {
    /// After how many seconds to ask again for a version that was not reached.
    static let versionRetryAfterSeconds = 1

    static func versionNotReached(_ version: Int64) -> ProblemDetails {
        ProblemDetails(
            .versionNotReached, "The account is at version \(version). Ask again, or with a longer `wait`.",
            extensions: ["version": "\(version)"], retryAfterSeconds: versionRetryAfterSeconds)
    }
}
