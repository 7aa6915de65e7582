import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// Misbehaves as the ``FaultBook`` says; the first middleware of Apple's two hosts, and never of the control API.
struct FaultMiddleware<Context: RequestContext>: RouterMiddleware {
    let book: FaultBook
    let environment: StoreEnvironment

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let path = request.uri.path
        let verdict = book.verdict(environment: environment, method: request.method.rawValue, path: path)
        if verdict.delay > 0 { await FaultPause.wait(for: .milliseconds(verdict.delay)) }
        guard let action = verdict.action else { return try await next(request, context) }
        switch action {
        case .answer(let answer):
            return answer.response(path: path, now: book.now)
        case .reset(let afterHandling):
            if afterHandling { _ = try await rightAnswer(request, context, next) }
            await RequestConnection.current?.reset()
            return FaultResponse.lost
        case .hang(let afterHandling):
            if afterHandling { _ = try await rightAnswer(request, context, next) }
            await FaultPause.hang()
            return FaultResponse.lost
        case .latency, .unauthorizedStorm:
            // The book gives neither out: it turns them into a delay, and into an answer.
            return try await next(request, context)
        case .truncatedBody:
            return try await FaultResponse.truncated(rightAnswer(request, context, next))
        case .wrongContentType:
            var response = try await rightAnswer(request, context, next)
            response.headers[.contentType] = "text/html; charset=UTF-8"
            return response
        case .slowLoris(let bytesPerSecond):
            return try await FaultResponse.slow(rightAnswer(request, context, next), bytesPerSecond: bytesPerSecond)
        case .garbageJSON:
            return FaultResponse.garbage(try await rightAnswer(request, context, next))
        case .emptyBody:
            var response = try await rightAnswer(request, context, next)
            response.body = ResponseBody()
            return response
        }
    }

    /// The answer without a fault, also when it is an error.
    private func rightAnswer(
        _ request: Request, _ context: Context, _ next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as any HTTPResponseError {
            return try error.response(from: request, context: context)
        }
    }
}

/// Waiting on purpose, which ends early when the process is to stop.
enum FaultPause {
    enum Limit {
        /// How long a request is left hanging: longer than clients wait.
        static let hang = TimeAmount.seconds(120)
    }

    static func wait(for duration: Duration) async {
        try? await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
    }

    /// Waits until the client has hung up, the limit is reached or the process is to stop; the connection has ended then.
    static func hang() async {
        guard let connection = RequestConnection.current else { return }
        await withGracefulShutdownHandler {
            await connection.hang(for: Limit.hang)
        } onGracefulShutdown: {
            connection.end()
        }
    }
}
