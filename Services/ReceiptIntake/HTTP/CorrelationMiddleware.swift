import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Messages
import ServiceRuntime

/// Gives every request its correlation id: the caller's `traceparent`, else its `x-request-id`, when they look like one;
/// else a new one.
///
/// It stands before `ProblemMiddleware`, which puts the id on the answer and on the log lines.
struct CorrelationMiddleware: RouterMiddleware {
    /// The most characters of a caller's id.
    static let lengthMaximum = 64
    private static let traceParent = HTTPField.Name(TraceContext.header)

    func handle(
        _ request: Request, context: IntakeContext, next: (Request, IntakeContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        let given =
            Self.traceParent.flatMap { request.headers[$0] }.flatMap { TraceContext.traceParent($0) }
            ?? request.headers[.requestId].flatMap { Self.isWellFormed($0) ? $0 : nil }
        context.correlationId = given ?? EventIdentifier.correlation(at: Date())
        var head = request.head
        head.headerFields[.requestId] = context.correlationId
        return try await next(Request(head: head, body: request.body), context)
    }

    static func isWellFormed(_ id: String) -> Bool {
        (1...lengthMaximum).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
