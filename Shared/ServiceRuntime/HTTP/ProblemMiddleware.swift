package import HTTPTypes
package import Hummingbird
import HummingbirdCore
import Logging

/// The first middleware of every router but `HeadMiddleware`: gives each request an id, and turns every thrown error into a problem document.
///
/// - The id is the caller's `x-request-id` when that is short and plain, else a new one. It is on the answer, and on
///   each log line of the request as `correlation`.
/// - ``ProblemDetails`` are answered as they are; Hummingbird's own errors (404, 413, …) become the problem of their
///   status; anything else is a 500 that tells the caller only the id, and is logged with it.
package struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
    /// The most characters of a caller's request id.
    package static var requestIdLengthMaximum: Int { 64 }

    /// Makes the middleware.
    package init() {}

    /// Answers the request, whatever happens.
    package func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let id = Self.requestId(of: request)
        var context = context
        context.logger = context.logger.with(.correlation, "\(id)")
        var response: Response
        do {
            response = try await next(request, context)
        } catch {
            response = try problem(for: error, id: id, request: request, logger: context.logger).response()
        }
        response.headers[.requestId] = id
        return response
    }

    private func problem(for error: any Error, id: String, request: Request, logger: Logger) -> ProblemDetails {
        switch error {
        case let problem as ProblemDetails:
            return problem
        case let error as HTTPError:
            var problem = ProblemDetails(status: error.status, detail: error.body)
            problem.headers = error.headers
            return problem
        case let error as any HTTPResponseError where error.status != .internalServerError:
            return ProblemDetails(status: error.status)
        default:
            logger.error(
                "request failed",
                metadata: .fields([
                    .method: "\(request.method.rawValue)", .path: "\(request.uri.path)", .error: "\(error)",
                ]))
            var problem = ProblemDetails(
                status: .internalServerError, detail: "The request failed; the operator finds the reason by its id.")
            problem.extensions = ["request_id": id]
            return problem
        }
    }

    static func requestId(of request: Request) -> String {
        if let given = request.headers[.requestId], isPlain(given) { return given }
        var generator = SystemRandomNumberGenerator()
        let digits = String(generator.next(), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func isPlain(_ id: String) -> Bool {
        (1...requestIdLengthMaximum).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}

extension HTTPField.Name {
    /// The header that carries a request's id, both ways.
    package static var requestId: HTTPField.Name { requestIdName }
}

private let requestIdName: HTTPField.Name = {
    guard let name = HTTPField.Name("x-request-id") else { preconditionFailure("x-request-id is a field name") }
    return name
}()
