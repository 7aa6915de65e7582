import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A developer's server that answers as it is told, byte for byte.
final class NotificationReceiver: Sendable {
    /// What it does with a request.
    enum Reply: Sendable {
        /// Sends this text; then closes, or waits for more.
        case text(String, closes: Bool)
        /// Closes without a word.
        case close
        /// Resets the connection.
        case reset
        /// Never answers.
        case silence

        static func status(_ status: Int, headers: String = "", body: String = "") -> Reply {
            .text(
                "HTTP/1.1 \(status) Text\r\ncontent-length: \(body.utf8.count)\r\n\(headers)\r\n\(body)", closes: false)
        }
    }

    struct Received: Sendable {
        let head: String
        let body: String

        var signedPayload: String? {
            struct Body: Decodable { let signedPayload: String }
            return try? JSONDecoder().decode(Body.self, from: Data(body.utf8)).signedPayload
        }
    }

    private let requests = Mutex<[Received]>([])
    private let channel: any Channel
    /// Where it listens: `http://127.0.0.1:PORT`.
    let url: String

    /// - Parameters:
    ///   - tls: for HTTPS.
    ///   - reply: told the number of the request, from 0, and its head.
    init(
        tls: TLSConfiguration? = nil, _ reply: @escaping @Sendable (Int, String) -> Reply = { _, _ in .status(200) }
    ) async throws {
        let box = Box()
        let context = try tls.map { try NIOSSLContext(configuration: $0) }
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        Handler { received in
                            box.receiver.withLock { $0?.value }?.take(received, reply) ?? .close
                        })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        url = "\(tls == nil ? "http" : "https")://127.0.0.1:\(channel.localAddress?.port ?? 0)"
        box.receiver.withLock { $0 = Weak(self) }
    }

    /// Every request so far.
    var received: [Received] { requests.withLock { $0 } }

    func stop() async { try? await channel.close() }

    private func take(_ received: Received, _ reply: (Int, String) -> Reply) -> Reply {
        let number = requests.withLock { requests in
            requests.append(received)
            return requests.count - 1
        }
        return reply(number, received.head)
    }

    private struct Weak: Sendable {
        weak let value: NotificationReceiver?
        init(_ value: NotificationReceiver) { self.value = value }
    }

    private final class Box: Sendable {
        let receiver = Mutex<Weak?>(nil)
    }

    /// Cuts requests out of the bytes of a connection.
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: (Received) -> Reply
        private var text = ""

        init(_ answer: @escaping (Received) -> Reply) {
            self.answer = answer
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            // The first byte of TLS: this server speaks none, and says so.
            if text.isEmpty, bytes.readableBytesView.first == 0x16 {
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 400 No TLS\r\n\r\n")), promise: nil)
                context.close(promise: nil)
                return
            }
            text += String(buffer: bytes)
            while let request = nextRequest() {
                switch answer(request) {
                case .text(let text, let closes):
                    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
                    if closes { context.close(promise: nil) }
                case .close: context.close(promise: nil)
                case .reset:
                    // A linger of zero makes the close a reset.
                    let channel = context.channel
                    let linger = linger(l_onoff: 1, l_linger: 0)
                    (channel as? any SocketOptionProvider)?.setSoLinger(linger)
                        .whenComplete { _ in channel.close(promise: nil) }
                case .silence: break
                }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func nextRequest() -> Received? {
            guard let end = text.range(of: "\r\n\r\n") else { return nil }
            let head = String(text[..<end.lowerBound])
            let length =
                head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
            let rest = text[end.upperBound...]
            guard rest.utf8.count >= length else { return nil }
            text = String(rest.dropFirst(length))
            return Received(head: head, body: String(rest.prefix(length)))
        }
    }
}
