import AsyncHTTPClient
import NIOCore
import NIOPosix
import ServerTesting
import Synchronization

/// A real HTTP server on loopback that notes the questions it gets and answers as it is told.
final class Responder: Sendable {
    enum Answer: Sendable {
        case ocsp([UInt8])
        case status(Int)
        case redirect(String)
        /// Answers when ``Responder/release(_:)`` says what.
        case held
        /// A head, and a body that is never whole.
        case partial([UInt8])
        /// Closes the connection.
        case close
    }

    private struct State {
        var answer = Answer.close
        var held: [@Sendable (AnsweringServer.Answer) -> Void] = []
        /// Questions that were answered, or are kept waiting.
        var taken = 0
    }

    private let state = Mutex(State())
    private let asked = Mutex<AnsweringServer?>(nil)

    var requests: [AnsweringServer.Request] { asked.withLock { $0 }?.requests ?? [] }

    /// What every question from now on is answered with.
    var answer: Answer {
        get { state.withLock { $0.answer } }
        set { state.withLock { $0.answer = newValue } }
    }

    /// Answers all who are kept waiting.
    func release(_ answer: Answer) {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for send in held { send(said(answer)) }
    }

    /// Waits until so many questions have come, and those that are to be kept waiting are: ``release(_:)`` finds them.
    func waitForRequests(_ count: Int) async {
        await asked.withLock { $0 }?.waitForRequests(count)
        while state.withLock({ $0.taken < count }) { await Task.yield() }
    }

    /// Runs the body with a responder, its URL, and a client that follows no redirects.
    static func with<Result>(_ body: (Responder, String, HTTPClient) async throws -> Result) async throws -> Result {
        let responder = Responder()
        return try await AnsweringServer.with(answer: { _, _ in responder.take(responder.answer) }) { server, _ in
            responder.asked.withLock { $0 = server }
            // The server's answers hold the responder.
            defer { responder.asked.withLock { $0 = nil } }
            let http = HTTPClient(
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                configuration: .init(
                    redirectConfiguration: .disallow,
                    connectionPool: .init(idleTimeout: .seconds(60), concurrentHTTP1ConnectionsPerHostSoftLimit: 100)))
            do {
                let result = try await body(responder, "\(server.url)/ocsp", http)
                try await http.shutdown()
                return result
            } catch {
                try? await http.shutdown()
                throw error
            }
        }
    }

    private func take(_ answer: Answer) -> AnsweringServer.Answer {
        guard case .held = answer else {
            state.withLock { $0.taken += 1 }
            return said(answer)
        }
        return .later { [self] send in
            state.withLock { state in
                state.held.append(send)
                state.taken += 1
            }
        }
    }

    private func said(_ answer: Answer) -> AnsweringServer.Answer {
        switch answer {
        case .held: .close
        case .close: .close
        case .partial(let bytes):
            .bytes(Array("HTTP/1.1 200 OK\r\ncontent-length: 65000\r\n\r\n".utf8) + bytes, closes: false)
        case .ocsp(let bytes): .http(200, headers: [("content-type", "application/ocsp-response")], body: bytes)
        case .status(let code): .status(code)
        case .redirect(let url): .status(302, headers: [("location", url)])
        }
    }
}
