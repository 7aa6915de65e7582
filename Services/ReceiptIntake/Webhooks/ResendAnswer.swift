import Persistence

/// What `POST /v1/webhooks/resend` answers: `WebhooksResent` in the OpenAPI document.
struct ResendAnswer: Encodable, Sendable {
    /// How many are sent again, or would be.
    let deliveries: Int
    let groups: [Group]
    /// Whether they are sent again.
    let asked: Bool
    /// What to send as `after` to go on; nil where that was all.
    let next: String?

    /// Deliveries to one endpoint in one state.
    struct Group: Encodable, Sendable {
        let endpoint: String
        let state: String
        let deliveries: Int
    }

    init(_ outcome: WebhookResendStore.Outcome) {
        deliveries = outcome.count
        groups = outcome.counts.sorted { $0.key < $1.key }.flatMap { endpoint, states in
            states.sorted { $0.key < $1.key }.map { Group(endpoint: endpoint, state: $0.key, deliveries: $0.value) }
        }
        asked = outcome.auditId != nil
        next = outcome.next.map { ListCursor.text($0.event, $0.endpoint) }
    }
}
