import HTTPTypes
import Hummingbird
import HummingbirdCore
import ServiceRuntime

/// Answers 405 where a path is there and takes another method, whatever the method's name: the router answers 404 to that (RFC 9110,
/// section 15.5.6).
struct MethodMiddleware: RouterMiddleware {
    /// The methods of each path, as its parts; one in braces stands for any.
    private let methods: [[Substring]: [HTTPRequest.Method]]

    init(_ routes: [IntakeRoute]) {
        methods = Dictionary(grouping: routes) { Self.parts($0.path) }.mapValues { $0.map(\.method) }
    }

    func handle(
        _ request: Request, context: IntakeContext, next: (Request, IntakeContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            let allowed = allowed(request.uri.path)
            throw allowed.isEmpty ? error : ProblemDetails.methodNotAllowed(allowed)
        }
    }

    private func allowed(_ path: String) -> [HTTPRequest.Method] {
        let asked = Self.parts(path)
        // A path that is written out comes before one with a part in braces, as in the router.
        if let own = methods[asked] { return own }
        let found = methods.first { parts, _ in
            parts.count == asked.count && zip(parts, asked).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }
        return found?.value ?? []
    }

    /// A path as the router takes it: a slash at its end, or two in a row, make no difference.
    static func parts(_ path: String) -> [Substring] { path.split(separator: "/") }
}
