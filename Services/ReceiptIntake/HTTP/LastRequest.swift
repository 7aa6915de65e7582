import NIOCore
import NIOHTTP1

/// Has a connection end with the answer wherever its request wants that: in whatever spelling it says so, and for HTTP/1.0.
///
/// Hummingbird compares with `close` byte for byte, and knows no version.
enum LastRequest {
    /// A handler for the pipeline of a new connection.
    static func makeHandler() -> some RemovableChannelHandler { Placer() }

    /// Puts the reader behind the decoder, where requests have their version: further on there is none.
    private final class Placer: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = NIOAny

        func handlerAdded(context: ChannelHandlerContext) {
            let pipeline = context.pipeline.syncOperations
            do {
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                try pipeline.addHandler(Reader(), position: .after(decoder))
            } catch {
                context.fireErrorCaught(error)
            }
        }
    }

    private final class Reader: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias InboundOut = HTTPServerRequestPart

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
            if !head.isKeepAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
            // A client of HTTP/1.0 is never told to go on (RFC 9110, section 10.1.1).
            if head.version == .http1_0 { head.headers.remove(name: "expect") }
            context.fireChannelRead(wrapInboundOut(.head(head)))
        }
    }
}
