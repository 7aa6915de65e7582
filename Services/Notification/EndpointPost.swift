import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Posts a request to an endpoint and reads what it says: a webhook, or a notification that goes on.
struct EndpointPost: Sendable {
    /// The most that is read of an answer; the rest is left and its connection closed.
    static let answerBytesMaximum = 64 << 10

    let clients: EndpointClients
    /// For the whole attempt.
    let timeout: Duration

    /// Makes the attempt; it has ended when this returns, at the latest after the time-out.
    ///
    /// - Parameter prepare: adds headers and the body, when the request is about to go.
    func send(to endpoint: WebhookEndpoint, _ prepare: (inout HTTPClient.Request) -> Void) async -> EndpointAnswer {
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
