import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Persistence

/// Makes one attempt to send a notification on: Apple's own body, `{"signedPayload":"…"}`, with what Apple signed byte for byte.
struct PostNotification: Sendable {
    let clients: EndpointClients
    /// For the whole attempt.
    let timeout: Duration

    /// Makes the attempt; it has ended when this returns.
    func send(_ signedPayload: String, to endpoint: WebhookEndpoint) async -> EndpointAnswer {
        let deadline = ContinuousClock.now + timeout
        let lease: EndpointClients.Lease
        do { lease = try await clients.lease(for: endpoint) } catch { return .failed("\(error)") }
        do {
            let answer = try await post(signedPayload, to: endpoint, with: lease.client, before: deadline)
            clients.giveBack(lease, broken: false)
            return answer
        } catch {
            clients.giveBack(lease, broken: true)
            return .failed(SendWebhook.excerpt("no answer: \(error)"))
        }
    }

    /// The body as Apple sends it: base64url and dots need no escapes.
    static func body(_ signedPayload: String) -> String { #"{"signedPayload":"\#(signedPayload)"}"# }

    private func post(
        _ signedPayload: String, to endpoint: WebhookEndpoint, with client: HTTPClient,
        before deadline: ContinuousClock.Instant
    ) async throws -> EndpointAnswer {
        var request = endpoint.request
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .byteBuffer(ByteBuffer(string: Self.body(signedPayload)))
        let reader = AnswerReader(bytesMaximum: SendWebhook.answerBytesMaximum)
        let left = TimeAmount(max(.zero, deadline - .now))
        let exchange = client.execute(request: request, delegate: reader, deadline: .now() + left)
        let answer = try await withTaskCancellationHandler {
            try await reader.whatWasRead(of: exchange)
        } onCancel: {
            exchange.cancel()
        }
        let status = Int(answer.head.status.code)
        let excerpt = SendWebhook.excerpt(String(decoding: answer.body, as: UTF8.self))
        return .answered(status: status, excerpt: (200..<300).contains(status) ? "" : excerpt, retryAfter: nil)
    }
}
