import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTPTypes

/// Answers a client that waits with its body until it is told to go on (RFC 9110, section 10.1.1): once somebody reads the body, so
/// after the credentials.
struct ContinueMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: IntakeContext, next: (Request, IntakeContext) async throws -> Response
    ) async throws -> Response {
        guard request.headers[.expect]?.lowercased() == "100-continue" else { return try await next(request, context) }
        let body = AwaitedBody(parts: request.body, channel: context.channel)
        return try await next(Request(head: request.head, body: RequestBody(asyncSequence: body)), context)
    }
}

/// A body that its client sends when it is asked to.
private struct AwaitedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let parts: RequestBody
    let channel: any Channel

    func makeAsyncIterator() -> Iterator { Iterator(parts: parts.makeAsyncIterator(), unasked: channel) }

    struct Iterator: AsyncIteratorProtocol {
        var parts: RequestBody.AsyncIterator
        /// The connection, until the client is asked.
        var unasked: (any Channel)?

        mutating func next() async throws -> ByteBuffer? {
            if let channel = unasked {
                unasked = nil
                // Not waited for: a client that reads nothing would hold its place for as long as it likes.
                channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)), promise: nil)
            }
            return try await parts.next()
        }
    }
}
