import AsyncHTTPClient
import Foundation
import Messages
import NIOCore
import NIOHTTP1
import Persistence
import WebhookSigning

/// Makes one attempt: posts a webhook, or a notification that goes on, and reads what the endpoint says.
struct EndpointPost: Sendable {
    /// The most that is read of an answer; the rest is left and its connection closed.
    static let answerBytesMaximum = 64 << 10

    let clients: EndpointClients
    /// For the whole attempt.
    let timeout: Duration
    /// Of the program, for a webhook's `user-agent`.
    var version = ""

    /// Signs the stored bytes and posts them; it has ended when this returns, at the latest after the time-out.
    func send(_ delivery: LeasedDelivery) async -> EndpointAnswer {
        let (due, endpoint) = (delivery.due, delivery.endpoint)
        return await send(to: endpoint) { request in
            request.headers.add(name: "content-type", value: "application/json; charset=utf-8")
            request.headers.add(name: "user-agent", value: "countersign/\(version)")
            if let traceParent = delivery.traceParent {
                request.headers.add(name: TraceContext.header, value: traceParent)
            }
            for header in endpoint.signer.headers(id: due.eventId, timestamp: Date(), body: due.body) {
                request.headers.add(name: header.name, value: header.value)
            }
            request.body = .byteBuffer(ByteBuffer(bytes: due.body))
        }
    }

    /// The same of Apple's own body, `{"signedPayload":"…"}`, with what Apple signed byte for byte: base64url and dots need
    /// no escapes.
    func send(signedPayload: String, to endpoint: WebhookEndpoint) async -> EndpointAnswer {
        await send(to: endpoint) { request in
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .byteBuffer(ByteBuffer(string: #"{"signedPayload":"\#(signedPayload)"}"#))
        }
    }

    /// - Parameter prepare: adds headers and the body, when the request is about to go.
    private func send(
        to endpoint: WebhookEndpoint, _ prepare: (inout HTTPClient.Request) -> Void
    ) async -> EndpointAnswer {
        let deadline = ContinuousClock.now + timeout
        let lease: EndpointClients.Lease
        do {
            lease = try await clients.lease(for: endpoint)
        } catch {
            return .failed("\(error)")
        }
        guard ContinuousClock.now < deadline else {
            clients.giveBack(lease, broken: false)
            return late
        }
        var request = endpoint.request
        prepare(&request)
        do {
            let answer = try await answer(to: request, from: lease.client, before: deadline)
            clients.giveBack(lease, broken: false)
            return answer
        } catch {
            clients.giveBack(lease, broken: true)
            if let error = error as? HTTPClientError, error == .deadlineExceeded { return late }
            return .failed(
                String(AnswerText.excerpt("no answer: \(error)").prefix(AnswerText.errorCharactersMaximum)))
        }
    }

    private var late: EndpointAnswer { .failed("no complete answer within \(timeout)") }

    private func answer(
        to request: HTTPClient.Request, from client: HTTPClient, before deadline: ContinuousClock.Instant
    ) async throws -> EndpointAnswer {
        let reader = AnswerReader(bytesMaximum: Self.answerBytesMaximum)
        // The deadline is for the whole answer, its body as well.
        let left = TimeAmount(max(.zero, deadline - .now))
        let exchange = client.execute(request: request, delegate: reader, deadline: .now() + left)
        let answer = try await withTaskCancellationHandler {
            try await reader.whatWasRead(of: exchange)
        } onCancel: {
            exchange.cancel()
        }
        let status = Int(answer.head.status.code)
        let retryAfter = answer.head.headers.first(name: "retry-after").flatMap { RetryAfter.delay($0, now: Date()) }
        return .answered(
            status: status, excerpt: AnswerText.excerpt(answer.body),
            retryAfter: retryAfter)
    }
}
