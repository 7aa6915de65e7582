import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// Reads an answer as far as it is wanted: the head, and the beginning of the body.
///
/// A delegate, because its request has a deadline for the answer as a whole, which the client keeps on its own event loop:
/// `async` requests have one for the head only, and would need a task and a timer of ours beside each.
final class AnswerReader: HTTPClientResponseDelegate {
    /// The answer.
    struct Response: Sendable {
        let head: HTTPResponseHead
        let body: [UInt8]
    }

    /// The body has more than is wanted: its connection is closed, and what was read is the answer.
    private struct HasEnough: Error {}
    /// The client ended a request without an answer and without an error.
    private struct NoHead: Error {}

    private struct State {
        var head: HTTPResponseHead?
        var body: [UInt8] = []
    }

    private let bytesMaximum: Int
    private let state = Mutex(State())

    /// - Parameter bytesMaximum: of a body.
    init(bytesMaximum: Int) {
        self.bytesMaximum = bytesMaximum
    }

    /// Waits for the answer to a request that has this delegate.
    ///
    /// - Throws: what the client throws, where there was no answer.
    func whatWasRead(of exchange: HTTPClient.Task<Response>) async throws -> Response {
        do {
            return try await exchange.get()
        } catch is HasEnough {
            return try answer()
        }
    }

    func didReceiveHead(task: HTTPClient.Task<Response>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Response>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let hasEnough = state.withLock { state in
            state.body += buffer.readableBytesView.prefix(bytesMaximum - state.body.count)
            return state.body.count >= bytesMaximum
        }
        return hasEnough
            ? task.eventLoop.makeFailedFuture(HasEnough()) : task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<Response>) throws -> Response {
        try answer()
    }

    private func answer() throws -> Response {
        try state.withLock { state in
            guard let head = state.head else { throw NoHead() }
            return Response(head: head, body: state.body)
        }
    }
}
