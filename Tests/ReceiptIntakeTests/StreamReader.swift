import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// Reads a stream of server-sent events from a socket, as it comes.
final class StreamReader: Sendable {
    private let channel: any Channel
    private let collector: Collector

    /// What came, as text with the marks of its chunks.
    private final class Collector: Sendable {
        private struct State {
            var text = ""
            var isClosed = false
            var waiters: [CheckedContinuation<Void, Never>] = []
        }
        private let state = Mutex(State())
        var text: String { state.withLock { $0.text } }
        var isClosed: Bool { state.withLock { $0.isClosed } }

        func change(_ text: String?) {
            let waiters = state.withLock { state in
                if let text { state.text += text } else { state.isClosed = true }
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        func wait(until isEnough: (String, Bool) -> Bool) async {
            while true {
                let seen = state.withLock { ($0.text, $0.isClosed) }
                if isEnough(seen.0, seen.1) || seen.1 { return }
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
        private let collector: Collector
        init(_ collector: Collector) { self.collector = collector }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            collector.change(String(buffer: unwrapInboundIn(data)))
        }
        func channelInactive(context: ChannelHandlerContext) {
            collector.change(nil)
        }
    }

    private init(_ channel: any Channel, _ collector: Collector) {
        (self.channel, self.collector) = (channel, collector)
    }

    /// Opens a stream.
    ///
    /// - Parameter reads: whether it takes what is sent.
    static func open(
        _ path: String, port: Int, token: String, headers: String = "", reads: Bool = true
    ) async throws -> StreamReader {
        let collector = Collector()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: reads)
            .channelOption(.socketOption(.so_rcvbuf), value: 8_192)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(collector))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let request = """
            GET \(path) HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \(token)\r
            accept: text/event-stream\r\n\(headers)\r\n
            """
        try await channel.writeAndFlush(ByteBuffer(string: request))
        return StreamReader(channel, collector)
    }

    var text: String { collector.text }

    /// The status of the answer, once its head is there.
    func status() async -> String {
        await collector.wait { text, _ in text.contains("\r\n") }
        return text.split(separator: " ").dropFirst().first.map(String.init) ?? ""
    }

    /// The ids of events that came, once there are so many.
    func events(_ count: Int) async -> [String] {
        await collector.wait { text, _ in Self.lines(text, "data: {").count >= count }
        return Self.lines(text, "data: {").compactMap { line in
            line.firstMatch(of: #/"id":"(evt_[0-9a-f]+)","schema/#).map { String($0.1) }
        }
    }

    /// Cursors that came.
    var cursors: [String] { Self.lines(text, "id: ").map { String($0.dropFirst(4)) } }

    private static func lines(_ text: String, _ prefix: String) -> [String] {
        // A chunk's size ends in both, which Swift takes for one character; the last line may not be whole.
        text.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map(String.init).filter { $0.hasPrefix(prefix) }
    }

    /// Returns once something is there.
    func has(_ part: String) async -> Bool {
        await collector.wait { text, _ in text.contains(part) }
        return text.contains(part)
    }

    /// Returns when the server has closed the connection.
    func closed() async throws { try await channel.closeFuture.get() }

    func close() async throws { try await channel.close() }
}
