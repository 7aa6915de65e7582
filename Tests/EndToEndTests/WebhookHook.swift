import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An endpoint of webhooks on loopback that takes everything, and checks signatures by its own means: HMAC-SHA256 of `id.timestamp.body`.
final class WebhookHook: Sendable {
    struct Delivery: Sendable {
        let id: String
        let timestamp: String
        let signatures: [String]
        let body: [UInt8]

        /// Whether it is signed with a secret, as Standard Webhooks says.
        func isSigned(with secret: String) -> Bool {
            guard let key = Data(base64Encoded: String(secret.dropFirst("whsec_".count))) else { return false }
            let code = HMAC<SHA256>.authenticationCode(
                for: Data("\(id).\(timestamp).".utf8) + body, using: SymmetricKey(data: key))
            return signatures.contains("v1,\(Data(code).base64EncodedString())")
        }

        /// A member of the body that is a text.
        func text(_ name: String) -> String? {
            fields?[name] as? String
        }

        /// The transaction that the event is about.
        var transactionId: String? {
            let data = fields?["data"] as? [String: Any]
            return (data?["transaction"] as? [String: Any])?["transaction_id"] as? String
        }

        private var fields: [String: Any]? {
            try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        }
    }

    private let state = Mutex<[Delivery]>([])

    /// What came until now.
    var deliveries: [Delivery] { state.withLock { $0 } }

    /// Runs a body while it listens.
    static func with<Value>(_ body: (WebhookHook, _ url: String) async throws -> Value) async throws -> Value {
        let hook = WebhookHook()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(hook: hook))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let value = try await body(hook, "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/hook")
            try await channel.close()
            return value
        } catch {
            try? await channel.close()
            throw error
        }
    }

    fileprivate func add(_ delivery: Delivery) { state.withLock { $0.append(delivery) } }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let hook: WebhookHook
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(hook: WebhookHook) { self.hook = hook }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body = []
            case .body(let buffer): body += Array(buffer.readableBytesView)
            case .end:
                func header(_ name: String) -> String { head?.headers.first(name: name) ?? "" }
                hook.add(
                    Delivery(
                        id: header("webhook-id"), timestamp: header("webhook-timestamp"),
                        signatures: header("webhook-signature").split(separator: " ").map(String.init), body: body))
                let answer = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0"])
                context.write(wrapOutboundOut(.head(answer)), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
