import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// An error that a client can read: RFC 9457 problem details.
struct Problem: HTTPResponseError {
    let status: HTTPResponse.Status
    /// What is wrong with this request, safe to show.
    let detail: String

    init(_ status: HTTPResponse.Status, _ detail: String) {
        self.status = status
        self.detail = detail
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        var json = JSONText()
        json.add("type", "about:blank")
        json.add("title", status.reasonPhrase)
        json.add("status", Int64(status.code))
        json.add("detail", detail)
        return Response(
            status: status, headers: [.contentType: "application/problem+json"],
            body: .init(byteBuffer: ByteBuffer(string: json.object)))
    }
}

/// Turns every other error into a problem too: unknown paths, unknown methods, and faults of ours.
struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let problem as Problem {
            return try problem.response(from: request, context: context)
        } catch let error as HTTPError {
            return try Problem(error.status, error.body ?? error.status.reasonPhrase)
                .response(from: request, context: context)
        } catch {
            context.logger.error("request failed", metadata: ["error": "\(error)"])
            return try Problem(.internalServerError, "the simulator failed; its log says why")
                .response(from: request, context: context)
        }
    }
}

extension HTTPResponse.Status {
    /// 507 (RFC 4918): the store is full, or cannot be written.
    static let insufficientStorage = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
}
