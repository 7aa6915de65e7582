import AsyncHTTPClient
import Foundation
import Messages
import NIOCore
import NIOHTTP1
import Persistence
import WebhookSigning

/// Makes one attempt: signs the stored bytes, posts them, and reads what the endpoint says.
struct SendWebhook: Sendable {
    private let post: EndpointPost
    private let userAgent: String

    /// - Parameters:
    ///   - timeout: for the whole attempt.
    ///   - version: of the program, for `user-agent`.
    init(clients: EndpointClients, timeout: Duration, version: String) {
        post = EndpointPost(clients: clients, timeout: timeout)
        userAgent = "countersign/\(version)"
    }

    /// Makes the attempt; it has ended when this returns, at the latest after the time-out.
    func send(_ delivery: LeasedDelivery) async -> EndpointAnswer {
        let (due, endpoint) = (delivery.due, delivery.endpoint)
        return await post.send(to: endpoint) { request in
            request.headers.add(name: "content-type", value: "application/json; charset=utf-8")
            request.headers.add(name: "user-agent", value: userAgent)
            if let traceParent = delivery.traceParent {
                request.headers.add(name: TraceContext.header, value: traceParent)
            }
            for header in endpoint.signer.headers(id: due.eventId, timestamp: Date(), body: due.body) {
                request.headers.add(name: header.name, value: header.value)
            }
            request.body = .byteBuffer(ByteBuffer(bytes: due.body))
        }
    }
}
