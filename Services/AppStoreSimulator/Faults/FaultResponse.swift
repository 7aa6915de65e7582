import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Answers that are made of the right one by spoiling it.
enum FaultResponse {
    enum Limit {
        /// How long a slow answer takes at most, in seconds; then the rest is sent at once.
        static let slowSeconds = 300
        /// How often a slow answer has something to send, in a second.
        static let piecesPerSecond = 10
    }

    /// For a connection that has ended: nobody sees it.
    static let lost = Response(status: .serviceUnavailable)

    /// The answer with half of its body under the length of the whole; then the connection ends.
    ///
    /// An answer without a body claims to have two bytes.
    static func truncated(_ response: Response) async throws -> Response {
        let body = try await CollectedBody.bytes(of: response.body)
        var response = response
        response.body = ResponseBody(contentLength: max(body.readableBytes, 2)) { writer in
            if let half = body.getSlice(at: body.readerIndex, length: body.readableBytes / 2) {
                try await writer.write(half)
            }
            // Without its end, the server closes the connection as soon as this is sent.
            throw AnswerCutShort()
        }
        return response
    }

    /// The answer with its body sent in small pieces.
    static func slow(_ response: Response, bytesPerSecond: Int) async throws -> Response {
        let body = try await CollectedBody.bytes(of: response.body)
        let pieces = min(bytesPerSecond, Limit.piecesPerSecond)
        let size = max(bytesPerSecond / pieces, 1)
        let pause = Duration.seconds(1) / pieces
        var response = response
        response.body = ResponseBody(contentLength: body.readableBytes) { writer in
            var rest = body
            var sent = 0
            while sent < Limit.slowSeconds * pieces, let piece = rest.readSlice(length: min(size, rest.readableBytes)),
                piece.readableBytes > 0
            {
                try await writer.write(piece)
                sent += 1
                if rest.readableBytes > 0 { await FaultPause.wait(for: pause) }
            }
            if rest.readableBytes > 0 { try await writer.write(rest) }
            try await writer.finish(nil)
        }
        return response
    }

    /// The answer with a body that begins like JSON and is none.
    static func garbage(_ response: Response) -> Response {
        var response = response
        response.headers[.contentType] = "application/json"
        response.body = ResponseBody(byteBuffer: ByteBuffer(string: "{\"signedTransactionInfo\":\"eyJhbGciOi,]}<\u{1}"))
        return response
    }
}

/// Thrown where an answer ends before its end.
private struct AnswerCutShort: Error {}

/// Takes a body as it is written.
private struct CollectedBody: ResponseBodyWriter {
    private final class Bytes: Sendable {
        let buffer = Mutex(ByteBuffer())
    }

    private let bytes = Bytes()

    static func bytes(of body: ResponseBody) async throws -> ByteBuffer {
        let collected = CollectedBody()
        try await body.write(collected)
        return collected.bytes.buffer.withLock { $0 }
    }

    func write(_ buffer: ByteBuffer) async throws {
        bytes.buffer.withLock { bytes in
            var buffer = buffer
            bytes.writeBuffer(&buffer)
        }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
