import HTTPTypes
package import Hummingbird
import HummingbirdCore

/// Leaves the body out of every answer to HEAD, and keeps its headers (RFC 9110, section 9.3.2): the client would take the body for
/// the beginning of the next answer.
///
/// It stands before whatever answers, problems too.
package struct HeadMiddleware<Context: RequestContext>: RouterMiddleware {
    /// Makes the middleware.
    package init() {}

    /// Has the request answered.
    package func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        return request.method == .head ? response.createHeadResponse() : response
    }
}
