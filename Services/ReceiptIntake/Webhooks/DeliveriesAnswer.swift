import Foundation
import Persistence

/// An event's being sent to an endpoint: `WebhookDelivery` in the OpenAPI document.
struct DeliveryAnswer: Encodable, Sendable {
    let eventId: String
    let type: String
    let environment: String
    let endpoint: String
    let state: String
    let attempts: Int32
    let createdAt: Date
    let deliveredAt: Date?
    let dueAt: Date?
    let waitsForTurn: Bool
    let lastStatus: Int32?
    let lastError: String?

    enum CodingKeys: String, CodingKey {
        case type, environment, endpoint, state, attempts
        case eventId = "event_id"
        case createdAt = "created_at"
        case deliveredAt = "delivered_at"
        case dueAt = "due_at"
        case waitsForTurn = "waits_for_turn"
        case lastStatus = "last_status"
        case lastError = "last_error"
    }

    init(_ delivery: DeliveryReading.Delivery) {
        (eventId, type, environment) = (delivery.event, delivery.type, delivery.environment)
        (endpoint, state, attempts) = (delivery.endpoint, delivery.state, delivery.attempts)
        (createdAt, deliveredAt, dueAt) = (delivery.createdAt, delivery.deliveredAt, delivery.dueAt)
        waitsForTurn = delivery.waitsForTurn
        (lastStatus, lastError) = (delivery.lastStatus, delivery.lastError)
    }
}

extension ListAnswer<DeliveryAnswer> {
    /// `WebhookDeliveries` in the OpenAPI document.
    init(_ page: DeliveryReading.Page) {
        data = page.deliveries.map(DeliveryAnswer.init)
        next = page.next.map { ListCursor.text($0.event, $0.endpoint) }
    }
}

/// One attempt of a delivery: `WebhookAttempt` in the OpenAPI document.
struct AttemptAnswer: Encodable, Sendable {
    let number: Int32
    let at: Date
    let milliseconds: Int32
    let status: Int32?
    let error: String?
    let answer: String?
}

extension ListAnswer<AttemptAnswer> {
    /// `WebhookAttempts` in the OpenAPI document.
    init(_ page: DeliveryReading.AttemptPage) {
        data = page.attempts.map {
            AttemptAnswer(
                number: $0.number, at: $0.at, milliseconds: $0.milliseconds, status: $0.status, error: $0.error,
                answer: $0.answer)
        }
        next = page.next.map { ListCursor.text("\($0.number)", "\($0.microseconds)") }
    }
}
