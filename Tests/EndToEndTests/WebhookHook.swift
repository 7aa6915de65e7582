import Crypto
import Foundation
import ServerTesting
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

    private let server: AnsweringServer
    private let isHolding: Held

    /// Whether what comes gets no answer.
    private final class Held: Sendable {
        let now = Mutex(false)
    }

    private init() async throws {
        let isHolding = Held()
        self.isHolding = isHolding
        server = try await AnsweringServer { _, _ in isHolding.now.withLock { $0 } ? .hang : .status(200) }
    }

    /// What came until now.
    var deliveries: [Delivery] {
        server.requests.map { request in
            Delivery(
                id: request.header("webhook-id"), timestamp: request.header("webhook-timestamp"),
                signatures: request.header("webhook-signature").split(separator: " ").map(String.init),
                body: request.body)
        }
    }

    /// Whether what comes from now on gets no answer.
    func hold(_ isHolding: Bool) { self.isHolding.now.withLock { $0 = isHolding } }

    /// Returns once so many deliveries of a transaction have come; a test's time limit ends the wait.
    func wait(for count: Int, of transactionId: String) async throws {
        while deliveries.count(where: { $0.transactionId == transactionId }) < count {
            // A request of another process has no signal here but itself.
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Runs a body while it listens.
    static func with<Value>(_ body: (WebhookHook, _ url: String) async throws -> Value) async throws -> Value {
        let hook = try await WebhookHook()
        let result: Result<Value, any Error>
        do { result = .success(try await body(hook, "\(hook.server.url)/hook")) } catch { result = .failure(error) }
        await hook.server.stop()
        return try result.get()
    }
}
