import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization

/// Reads an answer as far as it is wanted: the head, and the beginning of the body.
///
/// A delegate, because its request has a deadline for the answer as a whole, which the client keeps on its own event loop:
/// `async` requests have one for the head only, and would need a task and a timer of ours beside each.
final class AnswerReader: HTTPClientResponseDelegate {
    /// The answer.
    typealias Response = (head: HTTPResponseHead, body: [UInt8])

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
            return (head, state.body)
        }
    }
}

/// The beginning of an endpoint's answer, as text that a table, a log and a terminal can show.
enum AnswerText {
    /// The most bytes that are kept with an attempt.
    static let bytesMaximum = 2_048
    /// The most characters that the error of a delivery has of it.
    static let errorCharactersMaximum = 256

    /// The beginning of an answer, at most ``bytesMaximum`` bytes of UTF-8, in which a space stands for what is not shown.
    ///
    /// Not shown are control characters, which a log stumbles over and PostgreSQL refuses, and what turns the direction of
    /// writing, which makes a terminal show something else than is there.
    static func excerpt(_ bytes: some Collection<UInt8>) -> String {
        excerpt(String(decoding: bytes.prefix(bytesMaximum), as: UTF8.self))
    }

    /// The same of a text.
    static func excerpt(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        var length = 0
        for scalar in text.unicodeScalars {
            let kept = isShown(scalar) ? scalar : " "
            length += UTF8.width(kept)
            // What a cut has left of a character takes more room than it had.
            guard length <= bytesMaximum else { break }
            shown.append(kept)
        }
        return String(shown).trimmingCharacters(in: .whitespaces)
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        // Most answers are nothing else, and need no look at a table.
        if scalar.isASCII { return (0x20..<0x7F).contains(scalar.value) }
        return scalar.properties.generalCategory != .control && !scalar.properties.isBidiControl
    }
}
