import Hummingbird
import HummingbirdCore

/// Notes where a request comes from, for whatever counts by address.
struct ClientAddressMiddleware: RouterMiddleware {
    let reader: ClientAddressReader

    func handle(
        _ request: Request, context: IntakeContext, next: (Request, IntakeContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.client = reader.client(context.channel.remoteAddress, request.headers)
        return try await next(request, context)
    }
}
