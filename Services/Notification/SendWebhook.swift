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
    func send(_ due: DeliveryStore.Due, to endpoint: WebhookEndpoint) async -> EndpointAnswer {
        await withTaskGroup(of: EndpointAnswer.self) { group in
            group.addTask { await exchange(due, endpoint) }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return .failed("no complete answer within \(timeout)")
            }
            let first = await group.next() ?? .failed("the attempt was given up")
            group.cancelAll()
            return first
        }
    }

    private func exchange(_ due: DeliveryStore.Due, _ endpoint: WebhookEndpoint) async -> EndpointAnswer {
        let lease: EndpointClients.Lease
        do {
            lease = try await clients.lease(for: endpoint)
        } catch {
            return .failed("\(error)")
        }
        do {
            let answer = try await post(due, endpoint, with: lease.client)
            await clients.giveBack(lease, broken: false)
            return answer
        } catch {
            await clients.giveBack(lease, broken: true)
            return .failed(Self.excerpt("no answer: \(error)"))
        }
    }

    private func post(
        _ due: DeliveryStore.Due, _ endpoint: WebhookEndpoint, with client: HTTPClient
    ) async throws -> EndpointAnswer {
        let body = Array(due.body.utf8)
        var request = HTTPClientRequest(url: endpoint.url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json; charset=utf-8")
        request.headers.add(name: "user-agent", value: userAgent)
        if let traceParent = TraceContext.traceParent(event: body) {
            request.headers.add(name: TraceContext.header, value: traceParent)
        }
        for header in endpoint.signer.headers(id: due.eventId, timestamp: Date(), body: body) {
            request.headers.add(name: header.name, value: header.value)
        }
        request.body = .bytes(ByteBuffer(bytes: body))
        // The head has this long; the task group around bounds the body as well.
        let response = try await client.execute(request, timeout: .init(timeout))
        let text = try await Self.text(of: response.body)
        let retryAfter = response.headers.first(name: "retry-after").flatMap { RetryAfter.delay($0, now: Date()) }
        return .answered(status: Int(response.status.code), excerpt: Self.excerpt(text), retryAfter: retryAfter)
    }

    private static func text(of body: HTTPClientResponse.Body) async throws -> String {
        var bytes: [UInt8] = []
        for try await buffer in body {
            bytes += buffer.readableBytesView.prefix(answerBytesMaximum - bytes.count)
            if bytes.count >= answerBytesMaximum { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The beginning of a text without control characters, which a log would stumble over and PostgreSQL refuse.
    static func excerpt(_ text: String) -> String {
        let shown = text.prefix(excerptCharactersMaximum).unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control ? " " : scalar
        }
        return String(String.UnicodeScalarView(shown)).trimmingCharacters(in: .whitespaces)
    }
}
