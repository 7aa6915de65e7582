import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A real HTTP server on loopback that notes the questions it gets and answers as it is told.
final class Responder: Sendable {
    struct Request: Sendable {
        let method: HTTPMethod
        let contentType: String
        let body: [UInt8]
    }

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
        var requests: [Request] = []
        var answer = Answer.close
        var held: [@Sendable (Answer) -> Void] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var requests: [Request] { state.withLock { $0.requests } }

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
        for send in held { send(answer) }
    }

    /// Waits until so many questions have come.
    func waitForRequests(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.requests.count >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Runs the body with a responder, its URL, and a client that follows no redirects.
    static func with<Result>(_ body: (Responder, String, HTTPClient) async throws -> Result) async throws -> Result {
        let responder = Responder()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(ResponderHandler(responder: responder))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let http = HTTPClient(
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            configuration: .init(
                redirectConfiguration: .disallow,
                connectionPool: .init(idleTimeout: .seconds(60), concurrentHTTP1ConnectionsPerHostSoftLimit: 100)))
        do {
            let result = try await body(responder, "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/ocsp", http)
            try await http.shutdown()
            try await channel.close()
            return result
        } catch {
            try? await http.shutdown()
            try? await channel.close()
            throw error
        }
    }

    fileprivate func take(_ request: Request, _ send: @escaping @Sendable (Answer) -> Void) {
        let (answer, ready) = state.withLock { state in
            state.requests.append(request)
            let ready = state.waiters.filter { $0.count <= state.requests.count }
            state.waiters.removeAll { $0.count <= state.requests.count }
            if case .held = state.answer { state.held.append(send) }
            return (state.answer, ready)
        }
        if case .held = answer {} else { send(answer) }
        for waiter in ready { waiter.continuation.resume() }
    }
}

private final class ResponderHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let responder: Responder
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(responder: Responder) {
        self.responder = responder
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
            let channel = context.channel
            let type = head.headers.first(name: "content-type") ?? ""
            responder.take(.init(method: head.method, contentType: type, body: body)) { Self.write($0, channel) }
        }
    }

    private static func write(_ answer: Responder.Answer, _ channel: any Channel) {
        var fields: HTTPHeaders = [:]
        let status: HTTPResponseStatus
        var body: [UInt8] = []
        switch answer {
        case .held: return
        case .close:
            channel.close(promise: nil)
            return
        case .partial(let bytes):
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "65000"])
            channel.write(HTTPServerResponsePart.head(head), promise: nil)
            channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: bytes))), promise: nil)
            return
        case .ocsp(let bytes):
            status = .ok
            fields.add(name: "content-type", value: "application/ocsp-response")
            body = bytes
        case .status(let code): status = .init(statusCode: code)
        case .redirect(let url):
            status = .found
            fields.add(name: "location", value: url)
        }
        fields.add(name: "content-length", value: "\(body.count)")
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: fields)
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
        channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
        channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    }
}
