import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A server of HTTP/1.1 on loopback that notes what it is asked and answers as it is told: well, badly, late or not at all.
///
/// It reads and writes bytes, so that it can also send what no HTTP library would.
public final class AnsweringServer: Sendable {
    /// What somebody asked.
    public struct Request: Sendable {
        /// The lines before the body, without the empty one.
        public let head: String
        /// The body; a request has none without `content-length`.
        public let body: [UInt8]

        /// What stands behind the method.
        public var uri: String { head.split(separator: " ").dropFirst().first.map(String.init) ?? "" }

        /// The body as text.
        public var text: String { String(decoding: body, as: UTF8.self) }

        /// The headers by their lower-case names, the first of each.
        public var headers: [String: String] {
            let fields = head.split(separator: "\r\n").dropFirst().compactMap { line -> (String, String)? in
                guard let colon = line.firstIndex(of: ":") else { return nil }
                let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                return (line[..<colon].lowercased(), value)
            }
            return Dictionary(fields) { first, _ in first }
        }

        /// The value of a header by its lower-case name; empty where there is none.
        public func header(_ name: String) -> String { headers[name] ?? "" }
    }

    /// What somebody is answered.
    public enum Answer: Sendable {
        /// A whole answer; its length is told besides the headers.
        case http(Int, headers: [(String, String)], body: [UInt8])
        /// Bytes as they are.
        case bytes([UInt8], closes: Bool)
        /// Never answers.
        case hang
        /// Closes the connection without a word.
        case close
        /// Resets the connection.
        case reset
        /// Whoever is given the function answers when it is time.
        case later(@Sendable (_ send: @escaping @Sendable (Answer) -> Void) -> Void)

        /// A whole answer with a text.
        public static func status(_ status: Int, headers: [(String, String)] = [], body: String = "") -> Answer {
            .http(status, headers: headers, body: Array(body.utf8))
        }

        /// A text as it is.
        public static func text(_ text: String, closes: Bool) -> Answer { .bytes(Array(text.utf8), closes: closes) }
    }

    private struct Notes {
        var requests: [Request] = []
        var waiters: [Int: (count: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
        var lastWaiter = 0
    }

    /// What the connections share with the server.
    fileprivate final class Desk: Sendable {
        let answer: @Sendable (_ index: Int, Request) -> Answer
        private let notes = Mutex(Notes())

        init(answer: @escaping @Sendable (_ index: Int, Request) -> Answer) { self.answer = answer }

        var requests: [Request] { notes.withLock { $0.requests } }

        func take(_ request: Request) -> Answer {
            let (index, ready) = notes.withLock { notes in
                notes.requests.append(request)
                let ready = notes.waiters.filter { $0.value.count <= notes.requests.count }
                for id in ready.keys { notes.waiters[id] = nil }
                return (notes.requests.count - 1, ready.values.map(\.continuation))
            }
            for waiter in ready { waiter.resume() }
            return answer(index, request)
        }

        func wait(for count: Int) async {
            let id = notes.withLock { notes in
                notes.lastWaiter += 1
                return notes.lastWaiter
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isOver = notes.withLock { notes in
                        if notes.requests.count >= count || Task.isCancelled { return true }
                        notes.waiters[id] = (count, continuation)
                        return false
                    }
                    if isOver { continuation.resume() }
                }
            } onCancel: {
                notes.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
            }
        }
    }

    private let desk: Desk
    private let channel: any Channel

    /// Listens on a free port until ``stop()``.
    ///
    /// - Parameter answer: What to say to the request of that number, from 0.
    public init(
        answer: @escaping @Sendable (_ index: Int, Request) -> Answer = { _, _ in .status(200) }
    ) async throws {
        let desk = Desk(answer: answer)
        self.desk = desk
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Connection(desk: desk))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    /// Runs a body with one and its port, and stops it afterwards.
    public static func with<Value>(
        answer: @escaping @Sendable (_ index: Int, Request) -> Answer = { _, _ in .status(200) },
        _ body: (AnsweringServer, _ port: Int) async throws -> Value
    ) async throws -> Value {
        let server = try await AnsweringServer(answer: answer)
        let result: Result<Value, any Error>
        do { result = .success(try await body(server, server.port)) } catch { result = .failure(error) }
        await server.stop()
        return try result.get()
    }

    /// Where it listens.
    public var port: Int { channel.localAddress?.port ?? 0 }

    /// Its address, without a path.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// Every request so far.
    public var requests: [Request] { desk.requests }

    /// Waits until so many requests have come, or the test is cancelled: its time limit must be able to end it.
    public func waitForRequests(_ count: Int) async { await desk.wait(for: count) }

    /// Listens no more; connections that are open stay so.
    public func stop() async { try? await channel.close() }
}

/// Cuts requests out of the bytes of a connection, and answers them.
private final class Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The first byte of TLS, which this server does not speak.
    private static let tls: UInt8 = 0x16

    private let desk: AnsweringServer.Desk
    private var bytes = ByteBuffer()
    /// Of the request whose body is not whole.
    private var head: (text: String, length: Int)?

    init(desk: AnsweringServer.Desk) { self.desk = desk }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var part = unwrapInboundIn(data)
        let channel = context.channel
        if head == nil, bytes.readableBytes == 0, part.readableBytesView.first == Self.tls {
            return Self.write(.text("HTTP/1.1 400 No TLS\r\n\r\n", closes: true), channel)
        }
        bytes.writeBuffer(&part)
        while let request = next() { Self.write(desk.take(request), channel) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func next() -> AnsweringServer.Request? {
        if head == nil {
            let view = bytes.readableBytesView
            guard let end = view.firstRange(of: Array("\r\n\r\n".utf8)),
                let text = bytes.readString(length: end.lowerBound - view.startIndex)
            else { return nil }
            bytes.moveReaderIndex(forwardBy: 4)
            let length = AnsweringServer.Request(head: text, body: []).header("content-length")
            head = (text, Int(length) ?? 0)
        }
        guard let head, let body = bytes.readBytes(length: head.length) else { return nil }
        self.head = nil
        bytes.discardReadBytes()
        return AnsweringServer.Request(head: head.text, body: body)
    }

    private static func write(_ answer: AnsweringServer.Answer, _ channel: any Channel) {
        switch answer {
        case .hang: break
        case .later(let take): take { write($0, channel) }
        case .close: channel.close(promise: nil)
        case .reset:
            // A linger of zero makes the close a reset.
            (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                .whenComplete { _ in channel.close(promise: nil) }
        case .http(let status, let headers, let body):
            let fields = (headers + [("content-length", "\(body.count)")]).map { "\($0): \($1)\r\n" }.joined()
            write(.bytes(Array("HTTP/1.1 \(status) Text\r\n\(fields)\r\n".utf8) + body, closes: false), channel)
        case .bytes(let bytes, let closes):
            channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
            if closes { channel.close(promise: nil) }
        }
    }
}
