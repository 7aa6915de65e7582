import Foundation
import Messages
import Persistence

/// Sends the test messages that somebody asked for, each once, whatever events its endpoint takes and whether it is on.
struct SendPings: Sendable {
    /// Looks that go on side by side, each with one message: one that its endpoint does not answer holds up no other.
    static let concurrency = 4

    /// The type of the message; no event has it.
    static let type = "countersign.ping"

    let store: WebhookPingStore
    let endpoints: WebhookEndpoints
    let post: EndpointPost
    /// After how long another process may send what this one has taken.
    let lease: Duration

    /// What is sent; the fields of an event that say what kind it is.
    struct Message: Encodable, Sendable {
        let id: String
        let type: String
        let timestamp: Date
        let endpoint: String
    }

    /// Sends what is due now, one after the other.
    ///
    /// - Throws: `PostgresError`.
    func look() async throws {
        while !Task.isCancelled {
            let all = endpoints.all.filter { $0.id.hasPrefix(StoredEndpoint.idPrefix) }
            guard !all.isEmpty else { return }
            let due = try await store.claimDue(endpointIds: all.map(\.id), limit: 1, lease: lease)
            guard let ping = due.first, let endpoint = all.first(where: { $0.id == ping.endpointId }) else { return }
            try await send(ping, to: endpoint)
        }
    }

    @inline(never)
    private func send(_ ping: WebhookPingStore.Due, to endpoint: WebhookEndpoint) async throws {
        if let hold = endpoint.hold {
            try await store.record(ping, .init(status: nil, error: "nothing is sent to it: \(hold)", duration: .zero))
            return
        }
        let message = Message(id: ping.id, type: Self.type, timestamp: Date(), endpoint: endpoint.id)
        let start = ContinuousClock.now
        let delivery = LeasedDelivery(
            due: .init(
                eventId: ping.id, endpointId: endpoint.id, body: try MessageCoding.encode(message), createdAt: Date()),
            endpoint: endpoint, traceParent: nil, leasedAt: start)
        let answer = await post.send(delivery)
        // Broken off by us: the lease brings it again.
        if Task.isCancelled { return }
        try await store.record(ping, Self.outcome(answer, duration: ContinuousClock.now - start))
    }

    private static func outcome(_ answer: EndpointAnswer, duration: Duration) -> WebhookPingStore.Outcome {
        switch answer {
        case .answered(let status, _, _) where (200..<300).contains(status):
            .init(status: status, error: nil, duration: duration)
        case .answered(let status, let excerpt, _):
            .init(status: status, error: excerpt.isEmpty ? "it answered \(status)" : excerpt, duration: duration)
        case .failed(let reason): .init(status: nil, error: reason, duration: duration)
        }
    }
}
