import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Makes one attempt to send a notification on: Apple's own body, `{"signedPayload":"…"}`, with what Apple signed byte for byte.
struct PostNotification: Sendable {
    let post: EndpointPost

    /// - Parameter timeout: for the whole attempt.
    init(clients: EndpointClients, timeout: Duration) {
        post = EndpointPost(clients: clients, timeout: timeout)
    }

    /// Makes the attempt; it has ended when this returns.
    func send(_ signedPayload: String, to endpoint: WebhookEndpoint) async -> EndpointAnswer {
        await post.send(to: endpoint) { request in
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .byteBuffer(ByteBuffer(string: Self.body(signedPayload)))
        }
    }

    /// The body as Apple sends it: base64url and dots need no escapes.
    static func body(_ signedPayload: String) -> String { #"{"signedPayload":"\#(signedPayload)"}"# }
}
