import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

/// A real HTTP server on loopback that notes what it gets and answers as it is told.
final class WebhookReceiver: Sendable {
    struct Request: Sendable {
        let uri: String
        let headers: [(name: String, value: String)]
        let body: [UInt8]

        func header(_ name: String) -> String {
            headers.first { $0.name.lowercased() == name }?.value ?? ""
        }
    }

    enum Answer: Sendable {
        case status(Int, headers: [(String, String)] = [], body: String = "")
        /// Never answers.
        case hang
        /// A head, and a body that never ends.
        case hangAfterHead
        /// Closes the connection.
        case close
    }

    private struct Waiter {
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var requests: [Request] = []
        var waiters: [Int: Waiter] = [:]
        var waitersCount = 0
    }

    private let state = Mutex(State())
    private let answer: @Sendable (_ index: Int, Request) -> Answer
    private let channel = Mutex<(any Channel)?>(nil)

    /// - Parameter answer: what to say to the request of that number, from 0.
    private init(answer: @escaping @Sendable (_ index: Int, Request) -> Answer) {
        self.answer = answer
    }

    static func with<Result>(
        answer: @escaping @Sendable (_ index: Int, Request) -> Answer = { _, _ in .status(200) },
        _ body: (WebhookReceiver, Int) async throws -> Result
    ) async throws -> Result {
        let receiver = WebhookReceiver(answer: answer)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(ReceiverHandler(receiver: receiver))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(receiver, channel.localAddress?.port ?? 0)
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }

    var requests: [Request] { state.withLock { $0.requests } }

    /// Waits until that many requests have come, or the test is cancelled: its time limit must be able to end it.
    func waitForRequests(_ count: Int) async {
        let id = state.withLock { state in
            state.waitersCount += 1
            return state.waitersCount
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.requests.count >= count || Task.isCancelled { return true }
                    state.waiters[id] = Waiter(count: count, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
        }
        if Task.isCancelled { Issue.record("waited for \(count) requests, and \(requests.count) came") }
    }

    func take(_ request: Request) -> Answer {
        let (index, ready) = state.withLock { state in
            state.requests.append(request)
            let ready = state.waiters.filter { $0.value.count <= state.requests.count }
            for id in ready.keys { state.waiters[id] = nil }
            return (state.requests.count - 1, ready.values)
        }
        for waiter in ready { waiter.continuation.resume() }
        return answer(index, request)
    }
}

private final class ReceiverHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let receiver: WebhookReceiver
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(receiver: WebhookReceiver) {
        self.receiver = receiver
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let buffer):
            body += Array(buffer.readableBytesView)
        case .end:
            guard let head else { return }
            let headers = head.headers.map { (name: $0.name, value: $0.value) }
            write(receiver.take(.init(uri: head.uri, headers: headers, body: body)), context)
        }
    }

    private func write(_ answer: WebhookReceiver.Answer, _ context: ChannelHandlerContext) {
        switch answer {
        case .hang: break
        case .close: context.close(promise: nil)
        case .hangAfterHead:
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "10"])
            context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
        case .status(let status, let headers, let text):
            var fields = HTTPHeaders(headers)
            fields.replaceOrAdd(name: "content-length", value: "\(text.utf8.count)")
            let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: fields)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
