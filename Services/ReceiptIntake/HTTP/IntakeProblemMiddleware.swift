import Hummingbird
import HummingbirdCore
import Logging
import Metrics
import Postgres
import ServiceRuntime

/// Turns what intake's own parts throw into problems, and counts every problem by its code.
struct IntakeProblemMiddleware: RouterMiddleware {
    let pause: RefusalPause

    func handle(
        _ request: Request, context: IntakeContext, next: (Request, IntakeContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let problem = Self.problem(for: error)
            Counter(
                label: "countersign_problems_total",
                dimensions: [("code", (problem?.code ?? ProblemKind.internalServerError.code))]
            )
            .increment()
            if problem?.status == .serviceUnavailable {
                // Anybody can flood these routes; a line for each would fill the log with nothing but that.
                let isFlood = problem == .notificationsPutOff || problem == .putOff
                let level: Logger.Level = isFlood ? .debug : .warning
                context.logger.log(level: level, "a request was put off", metadata: .fields([.error: "\(error)"]))
            }
            guard let problem else { throw error }
            throw await pause.answer(problem, to: context.client)
        }
    }

    /// The problem for an error; nil for what is nobody's fault but ours.
    static func problem(for error: any Error) -> ProblemDetails? {
        switch error {
        case let problem as ProblemDetails: problem
        case let error as PostgresError where error.isRetriable || error.code == .poolClosed: .databaseUnavailable
        case is IntakeOverloadedError: .overloaded
        case let error as AuthenticationError:
            error.code == .unavailable
                ? .authenticationUnavailable(error.description) : .authenticationFailed(error.description)
        case let error as HTTPError where error.status == .notFound: .notFound
        default: nil
        }
    }
}
