import AsyncHTTPClient
import Foundation
import Messages
import NIOCore
import NIOHTTP1
import Persistence
import WebhookSigning

/// Makes one attempt: signs the stored bytes, posts them, and reads what the endpoint says.
struct SendWebhook: Sendable {
    /// The most that is read of an answer; the rest is left and its connection closed.
    static let answerBytesMaximum = 64 << 10
    /// The most characters of an answer that are kept with a failed delivery.
    static let excerptCharactersMaximum = 256

    private let clients: EndpointClients
    private let timeout: Duration
    private let userAgent: String

    /// - Parameters:
    ///   - timeout: for the whole attempt.
    ///   - version: of the program, for `user-agent`.
    init(clients: EndpointClients, timeout: Duration, version: String) {
        self.clients = clients
        self.timeout = timeout
        userAgent = "countersign/\(version)"
    }

    /// Makes the attempt; it has ended when this returns, at the latest after the time-out.
    func send(_ delivery: LeasedDelivery) async -> EndpointAnswer {
        let deadline = ContinuousClock.now + timeout
        let lease: EndpointClients.Lease
        do {
            lease = try await clients.lease(for: delivery.endpoint)
        } catch {
            return .failed("\(error)")
        }
        guard ContinuousClock.now < deadline else {
            clients.giveBack(lease, broken: false)
            return late
        }
        do {
            let answer = try await post(delivery, with: lease.client, before: deadline)
            clients.giveBack(lease, broken: false)
            return answer
        } catch {
            clients.giveBack(lease, broken: true)
            if let error = error as? HTTPClientError, error == .deadlineExceeded { return late }
            return .failed(Self.excerpt("no answer: \(error)"))
        }
    }

    private var late: EndpointAnswer { .failed("no complete answer within \(timeout)") }

    private func post(
        _ delivery: LeasedDelivery, with client: HTTPClient, before deadline: ContinuousClock.Instant
    ) async throws -> EndpointAnswer {
        let (due, endpoint) = (delivery.due, delivery.endpoint)
        var request = endpoint.request
        request.headers.add(name: "content-type", value: "application/json; charset=utf-8")
        request.headers.add(name: "user-agent", value: userAgent)
        if let traceParent = delivery.traceParent {
            request.headers.add(name: TraceContext.header, value: traceParent)
        }
        for header in endpoint.signer.headers(id: due.eventId, timestamp: Date(), body: due.body) {
            request.headers.add(name: header.name, value: header.value)
        }
        request.body = .byteBuffer(ByteBuffer(bytes: due.body))
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
        if (200..<300).contains(status) { return .answered(status: status, excerpt: "", retryAfter: nil) }
        let retryAfter = answer.head.headers.first(name: "retry-after").flatMap { RetryAfter.delay($0, now: Date()) }
        return .answered(
            status: status, excerpt: Self.excerpt(String(decoding: answer.body, as: UTF8.self)),
            retryAfter: retryAfter)
    }

    /// The beginning of a text without control characters, which a log would stumble over and PostgreSQL refuse.
    static func excerpt(_ text: String) -> String {
        let shown = text.prefix(excerptCharactersMaximum).unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control ? " " : scalar
        }
        return String(String.UnicodeScalarView(shown)).trimmingCharacters(in: .whitespaces)
    }
}
