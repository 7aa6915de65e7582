import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

/// How connections are served on each port: HTTP/1.1 without TLS, within limits.
enum ConnectionServer {
    enum Limit {
        /// Bytes of a request's body on any port: a receipt with thousands of purchases has about one megabyte.
        ///
        /// The routes have their own limits below this.
        static let bodyBytes = 4_194_304
        /// Bytes of all header fields of a request together.
        static let headerBytes = 65_536
        /// Header fields of a request.
        static let headerFields = 100
        /// Seconds after which a connection that sends nothing is closed; a request that waits for its answer is not
        /// idle.
        static let idleSeconds: Int64 = 60
        /// Seconds that a request under way gets for its end when the process is to stop.
        static let stopSeconds: Int64 = 5
    }

    /// A server for an application.
    static func make() -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            HTTP1Channel(
                responder: { request, writer, channel in
                    try await respond(to: request, writer, channel, responder)
                },
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [ConnectionEndHandler()], idleTimeout: .seconds(Limit.idleSeconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: Limit.headerBytes, maxHeaderListSize: Limit.headerBytes,
                        maxHeaderFieldCount: Limit.headerFields)))
        }
    }

    /// Refuses a body that is said to be too large, and has everything else answered, its body cut off at the limit.
    private static func respond(
        to request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel,
        _ responder: HTTPChannelHandler.Responder
    ) async throws {
        var request = request
        if let text = request.headers[.contentLength] {
            guard let length = Int(text), length <= Limit.bodyBytes else {
                return try await writer.writeResponse(
                    HTTPResponse(status: .contentTooLarge, headerFields: [.contentLength: "0"]))
            }
        } else if request.headers[.transferEncoding] != nil {
            request.body = RequestBody(asyncSequence: LimitedBody(body: request.body, limit: Limit.bodyBytes))
        }
        // The closure may not consume what it captured, but may take it out of an Optional.
        var held: ResponseWriter? = consume writer
        try await RequestConnection.$current.withValue(RequestConnection(channel)) {
            guard let writer = held.take() else { return }
            try await responder(request, writer, channel)
        }
    }
}

/// A body of unknown length that fails with 413 beyond its limit.
private struct LimitedBody: AsyncSequence, Sendable {
    let body: RequestBody
    let limit: Int

    struct Iterator: AsyncIteratorProtocol {
        var parts: RequestBody.AsyncIterator
        var remaining: Int

        mutating func next() async throws -> ByteBuffer? {
            guard let part = try await parts.next() else { return nil }
            remaining -= part.readableBytes
            guard remaining >= 0 else { throw HTTPError(.contentTooLarge) }
            return part
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(parts: body.makeAsyncIterator(), remaining: limit)
    }
}
