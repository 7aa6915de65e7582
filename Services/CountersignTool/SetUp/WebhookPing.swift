import AsyncHTTPClient
import BuildVersion
import Foundation
import NIOCore
import NIOHTTP1
import ServiceRuntime
import WebhookSigning

/// One signed message to an endpoint, and what it says to that.
struct WebhookPing: Sendable {
    enum Limit {
        /// What is read of an answer.
        static let answerBytes = 4 << 10
        /// How long a connection may take to be made.
        static let connect = TimeAmount.seconds(10)
    }

    /// The type of the message; no event has it.
    static let type = "countersign.ping"

    let endpoint: WebhooksFile.Endpoint
    let timeout: Duration

    private struct Message: Encodable {
        let id: String
        let type: String
        let timestamp: String
    }

    /// Sends it.
    ///
    /// - Returns: what came of it; without a status where there was no answer.
    func send() async -> PingReport {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = Limit.connect
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let (id, asked) = ("ping_\(UUID().uuidString.lowercased())", Date())
        let start = ContinuousClock.now
        let result: Result<HTTPResponseStatus, any Error>
        do {
            let response = try await client.execute(try request(id, now: asked), timeout: .init(timeout))
            for try await _ in response.body.prefix(1) {}
            result = .success(response.status)
        } catch {
            result = .failure(error)
        }
        try? await client.shutdown()
        let milliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
        switch result {
        case .success(let status):
            return PingReport(
                id: id, askedAt: asked, status: Int(status.code),
                error: (200..<300).contains(status.code) ? nil : Self.advice(status.code), milliseconds: milliseconds)
        case .failure(let error):
            return PingReport(id: id, askedAt: asked, status: nil, error: "\(error)", milliseconds: milliseconds)
        }
    }

    private func request(_ id: String, now: Date) throws -> HTTPClientRequest {
        let message = Message(id: id, type: Self.type, timestamp: now.formatted(.iso8601))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = Array(try encoder.encode(message))
        let signer = WebhookSigner(secrets: try endpoint.secrets.map { try WebhookSecret($0.value) })
        var request = HTTPClientRequest(url: endpoint.url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json; charset=utf-8")
        request.headers.add(name: "user-agent", value: "countersign/\(CountersignVersion.text)")
        for header in signer.headers(id: message.id, timestamp: now, body: body) {
            request.headers.add(name: header.name, value: header.value)
        }
        request.body = .bytes(ByteBuffer(bytes: body))
        return request
    }

    /// What a status that is no 2xx means for events.
    static func advice(_ status: UInt) -> String {
        switch status {
        case 300..<400: "redirects are not followed; enter the address that it leads to"
        case 401, 403: "does it check signatures with the secret of this endpoint, over the body as it came?"
        case 404, 405: "is the path right, and does it take POST?"
        case 410: "it says that it wants no more; deliveries to it would be switched off"
        default: "an event would be tried again by the schedule; its log says why"
        }
    }
}
