import Hummingbird
import HummingbirdCore
import NIOCore
import Synchronization

/// Remembers what intake was asked.
final class AskedIntake: RouterMiddleware {
    typealias Context = BasicRequestContext

    struct Question: Sendable {
        let method: String
        let path: String
        let query: String
        let headers: [String: String]
        let body: String
    }

    private let asked = Mutex<[Question]>([])

    var questions: [Question] { asked.withLock { $0 } }

    func handle(
        _ request: Request, context: BasicRequestContext, next: (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        var request = request
        let body = String(buffer: try await request.collectBody(upTo: 1 << 20))
        let headers = Dictionary(request.headers.map { ($0.name.canonicalName, $0.value) }) { first, _ in first }
        asked.withLock {
            $0.append(
                Question(
                    method: request.method.rawValue, path: request.uri.path, query: request.uri.query ?? "",
                    headers: headers, body: body))
        }
        return try await next(request, context)
    }
}
