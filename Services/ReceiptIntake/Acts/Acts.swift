import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Metrics
import NIOCore
import Persistence
import Postgres
import ServiceRuntime

/// How acts are done: each in one transaction, once for each `Idempotency-Key`, and not at all in a dry run.
///
/// What an act was answered is remembered in the transaction of the act. A process that dies before the commit has done nothing, and
/// one that dies after it answers the repetition from memory: decision 0036.
struct Acts: Sendable {
    /// What an act answers.
    struct Answer: Sendable {
        /// The answer at the commit, which is the one that is told where the process dies then.
        let response: Response
        /// Waits after the commit for what came of it.
        var outcome: (@Sendable () async throws -> Response)?
    }

    /// Does an act; whatever it does with the pool of the stores is one transaction.
    typealias Handler = @Sendable (Request, IntakeContext) async throws -> Answer

    /// What is particular to a route's acts.
    struct Traits: OptionSet, Sendable {
        let rawValue: Int
        /// `dry_run` is a member of its body.
        static let hasDryRun = Traits(rawValue: 1)
        /// Doing it twice does twice as much.
        static let needsKey = Traits(rawValue: 2)
        /// Its answer tells a secret, and is sealed where it is remembered.
        static let tellsSecret = Traits(rawValue: 4)
    }

    let authenticator: Authenticator
    let body: JSONBody
    let turns: ReadingTurns
    let pool: PostgresPool
    let memory: ActMemory

    /// A route's handler that does its acts so.
    func once(_ act: @escaping Handler, _ traits: Traits = []) -> IntakeRoute.Handler {
        { request, context in try await run(act, traits, request, context) }
    }

    /// The same for acts of which nothing is to be waited for.
    func once(_ act: @escaping IntakeRoute.Handler, _ traits: Traits = []) -> IntakeRoute.Handler {
        once({ request, context -> Answer in Answer(response: try await act(request, context)) }, traits)
    }

    /// What every act's body says.
    private struct Named: Decodable, Sendable {
        let app: String
        let environment: String?
        let isDryRun: Bool

        enum CodingKeys: String, CodingKey {
            case app, environment
            case isDryRun = "dry_run"
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            app = try members.decode(String.self, forKey: .app)
            // What is no text, or no truth value, is refused by whoever reads the whole body.
            environment = try? members.decode(String.self, forKey: .environment)
            isDryRun = (try? members.decode(Bool.self, forKey: .isDryRun)) ?? false
        }
    }

    @inline(never)
    private func run(
        _ act: @escaping Handler, _ traits: Traits, _ request: Request, _ context: IntakeContext
    ) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let bytes = try await body.bytes(of: request)
        let named = try JSONBody.decode(Named.self, from: bytes)
        let caller = try await callers.caller(app: named.app)
        _ = try callers.actor(app: caller.app)
        // Before anything is said of the rest: a test key learns nothing of production.
        if caller.isTest { _ = try caller.environment(named.environment) }
        let isDry = traits.contains(.hasDryRun) && named.isDryRun
        let key = isDry ? nil : try ActKey(request, bytes, app: caller.app, route: context.endpointPath)
        guard isDry || key != nil || !traits.contains(.needsKey) else { throw ProblemDetails.idempotencyKeyRequired }
        var (asked, within) = (request, context)
        asked.body = RequestBody(buffer: ByteBuffer(bytes: bytes))
        within.callers = callers
        let (again, inside) = (asked, within)
        return try await done(key, traits, caller, context.logger) {
            try await unwinding(isDry) { try await act(again, inside) }
        }
    }

    /// How a transaction of an act ended.
    private enum End: Sendable {
        case done(Answer)
        case repeated(Response)
        /// The act met this, which is remembered.
        case refused(ProblemDetails)
    }

    @inline(never)
    private func done(
        _ key: ActKey?, _ traits: Traits, _ caller: Caller, _ logger: Logger,
        _ act: @escaping @Sendable () async throws -> Answer
    ) async throws -> Response {
        let end: End
        do {
            end = try await turns.takeAgain(for: caller) {
                try await pool.withJoinedTransaction { try await transaction(key, traits, act) }
            }
        } catch let error as PostgresError where error.sqlState == PostgresError.insufficientPrivilege {
            logger.warning(
                "the database's role may not do what was asked for", metadata: .fields([.error: "\(error)"]))
            throw ProblemDetails.rightsMissing
        }
        switch end {
        case .repeated(let response): return response
        case .refused(let problem): throw problem
        case .done(let answer): return await outcome(of: answer, key, traits, logger)
        }
    }

    @inline(never)
    private func transaction(
        _ key: ActKey?, _ traits: Traits, _ act: @Sendable () async throws -> Answer
    ) async throws -> End {
        guard let key else { return .done(try await act()) }
        if let answer = try await memory.take(key, traits) {
            return .repeated(answer)
        }
        do {
            let answer = try await act()
            try await memory.remember(answer.response, of: key, traits)
            return .done(answer)
        } catch let problem as ProblemDetails where problem.isOfTheAct {
            try await memory.remember(try problem.response(), of: key, traits)
            return .refused(problem)
        }
    }

    /// Takes back what an act wrote before it answered with a problem, and what a dry run wrote.
    @inline(never)
    private func unwinding(
        _ isDry: Bool, _ act: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        struct Unwound: Error { let answer: Answer }
        do {
            return try await pool.withTransaction { _ in
                let answer = try await act()
                guard !isDry, answer.response.status.code < 400 else { throw Unwound(answer: answer) }
                return answer
            }
        } catch let unwound as Unwound {
            return Answer(response: unwound.answer.response)
        }
    }

    /// Whatever goes wrong now, the act is done.
    @inline(never)
    private func outcome(of answer: Answer, _ key: ActKey?, _ traits: Traits, _ logger: Logger) async -> Response {
        guard let outcome = answer.outcome else { return answer.response }
        do {
            let response = try await outcome()
            if let key { try await memory.remember(response, of: key, traits) }
            return response
        } catch {
            logger.debug("what came of an act is not known yet", metadata: .fields([.error: "\(error)"]))
            return answer.response
        }
    }
}

extension ProblemDetails {
    /// After how many seconds to come again for what another request does.
    static let underWayRetryAfterSeconds = 1

    static let requestUnderWay = ProblemDetails(
        .requestUnderWay, "A request with this `Idempotency-Key` is not answered yet. Send it again for its answer.",
        retryAfterSeconds: underWayRetryAfterSeconds)

    static let rightsMissing = ProblemDetails(
        .rightsMissing,
        "The operator grants receipt-intake's role `countersign_desk` for acts, `countersign_wallet` for spending.")

    /// Whether an act met it, so that a repetition meets it, too; not what is wrong with the request, nor with the settings.
    var isOfTheAct: Bool {
        switch status {
        case .notFound, .conflict: true
        case .unprocessableContent: extensions["field"] == nil && code != ProblemKind.webhookKeyMissing.code
        default: false
        }
    }
}

extension PostgresError {
    /// 42501: a role lacks a right.
    static let insufficientPrivilege = "42501"
}
