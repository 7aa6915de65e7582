import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A client that sends what it is told to, and no more, and keeps what comes.
struct RawClient: Sendable {
    private let channel: any Channel
    private let received: Received

    /// What came, and whether more may come.
    private final class Received: Sendable {
        private struct State {
            var text = ""
            var isClosed = false
            var waiters: [CheckedContinuation<Void, Never>] = []
        }
        private let state = Mutex(State())
        var text: String { state.withLock { $0.text } }

        func change(_ text: String?) {
            let waiters = state.withLock { state in
                if let text { state.text += text } else { state.isClosed = true }
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        func wait(until isEnough: (String) -> Bool) async {
            while true {
                let seen = state.withLock { ($0.text, $0.isClosed) }
                if isEnough(seen.0) || seen.1 { return }
                await withCheckedContinuation { continuation in
                    let isNew = state.withLock { state in
                        if state.text != seen.0 || state.isClosed { return true }
                        state.waiters.append(continuation)
                        return false
                    }
                    if isNew { continuation.resume() }
                }
            }
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let received: Received
        init(_ received: Received) { self.received = received }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.change(String(buffer: unwrapInboundIn(data)))
        }
        func channelInactive(context: ChannelHandlerContext) {
            received.change(nil)
        }
    }

    /// - Parameter reads: whether it takes what is sent.
    static func connect(port: Int, reads: Bool = true) async throws -> RawClient {
        let received = Received()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: reads)
            .channelOption(.socketOption(.so_rcvbuf), value: 8_192)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(received))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return RawClient(channel: channel, received: received)
    }

    /// What the server answers to a text, until it closes.
    static func exchange(_ text: String, port: Int) async throws -> String {
        let client = try await connect(port: port)
        try await client.send(text)
        return try await client.all()
    }

    func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text))
    }

    /// What has come until now.
    var text: String { received.text }

    /// Returns once enough has come, or nothing more comes.
    func wait(until isEnough: (String) -> Bool) async { await received.wait(until: isEnough) }

    /// Returns once something is there, or nothing more comes.
    func has(_ part: String) async -> Bool {
        await wait { $0.contains(part) }
        return text.contains(part)
    }

    /// All that comes, until the server closes.
    func all() async throws -> String {
        try await closed()
        return text
    }

    /// Returns when the server has closed the connection.
    func closed() async throws { try await channel.closeFuture.get() }

    var isOpen: Bool { channel.isActive }

    /// Sends no more, and goes on receiving.
    func finish() async throws { try await channel.close(mode: .output) }

    /// Closes as the system does for a process that dies with data unread.
    func reset() async throws {
        // A linger of zero makes the close a reset.
        try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        try await channel.close()
    }

    func close() { channel.close(promise: nil) }
}
