import Foundation
import Persistence

/// What `GET /v1/webhooks/deliveries` answers: `WebhookDeliveries` in the OpenAPI document.
struct DeliveriesAnswer: Encodable, Sendable {
    let deliveries: [Delivery]
    /// What `before` is for the next page; left out after the last.
    let next: String?

    /// An event's being sent to an endpoint.
    struct Delivery: Encodable, Sendable {
        let event: String
        let type: String
        let environment: String
        let endpoint: String
        let state: String
        let attempts: Int32
        let createdAt: Date
        let deliveredAt: Date?
        let nextAttemptAt: Date?
        let waitsForTurn: Bool
        let lastStatus: Int32?
        let lastError: String?

        enum CodingKeys: String, CodingKey {
            case event, type, environment, endpoint, state, attempts
            case createdAt = "created_at"
            case deliveredAt = "delivered_at"
            case nextAttemptAt = "next_attempt_at"
            case waitsForTurn = "waits_for_turn"
            case lastStatus = "last_status"
            case lastError = "last_error"
        }

        init(_ delivery: DeliveryReading.Delivery) {
            (event, type, environment) = (delivery.event, delivery.type, delivery.environment)
            (endpoint, state, attempts) = (delivery.endpoint, delivery.state, delivery.attempts)
            (createdAt, deliveredAt, nextAttemptAt) = (delivery.createdAt, delivery.deliveredAt, delivery.dueAt)
            waitsForTurn = delivery.waitsForTurn
            (lastStatus, lastError) = (delivery.lastStatus, delivery.lastError)
        }
    }

    init(_ page: DeliveryReading.Page) {
        deliveries = page.deliveries.map(Delivery.init)
        next = page.next.map(ResendRequest.cursor)
    }
}

/// What `GET /v1/webhooks/deliveries/{event}/{endpoint}/attempts` answers: `WebhookAttempts` in the OpenAPI document.
struct AttemptsAnswer: Encodable, Sendable {
    let event: String
    let endpoint: String
    let attempts: [Attempt]

    /// One attempt.
    struct Attempt: Encodable, Sendable {
        let number: Int32
        let at: Date
        let milliseconds: Int32
        let status: Int32?
        let error: String?
        let answer: String?
    }

    init(event: String, endpoint: String, attempts: [DeliveryReading.Attempt]) {
        self.event = event
        self.endpoint = endpoint
        self.attempts = attempts.map {
            Attempt(
                number: $0.number, at: $0.at, milliseconds: $0.milliseconds, status: $0.status, error: $0.error,
                answer: $0.answer)
        }
    }
}
