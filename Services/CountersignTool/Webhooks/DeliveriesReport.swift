import Foundation
import Messages
import Persistence

/// Deliveries, as `countersign webhooks deliveries` shows them.
struct DeliveriesReport: Encodable, Sendable {
    let deliveries: [Delivery]
    /// Whether there are more than the limit.
    let hasMore: Bool

    enum CodingKeys: String, CodingKey {
        case deliveries
        case hasMore = "more"
    }

    /// One of them.
    struct Delivery: Encodable, Sendable {
        let event: String
        let type: String
        let app: String
        let environment: String
        let endpoint: String
        let state: String
        let attempts: Int32
        let createdAt: String
        let deliveredAt: String?
        let nextAttemptAt: String?
        let waitsForTurn: Bool
        let lastStatus: Int32?
        let lastError: String?

        init(_ delivery: DeliveryReading.Delivery) {
            (event, type, app) = (delivery.event, delivery.type, delivery.app)
            (environment, endpoint, state) = (delivery.environment, delivery.endpoint, delivery.state)
            attempts = delivery.attempts
            createdAt = MessageCoding.text(delivery.createdAt)
            deliveredAt = delivery.deliveredAt.map { MessageCoding.text($0) }
            nextAttemptAt = delivery.dueAt.map { MessageCoding.text($0) }
            waitsForTurn = delivery.waitsForTurn
            (lastStatus, lastError) = (delivery.lastStatus, delivery.lastError)
        }

        var text: String {
            let tries = attempts == 1 ? "1 attempt" : "\(attempts) attempts"
            let then =
                switch (deliveredAt, nextAttemptAt) {
                case (let at?, _): ", at \(at)"
                case (nil, let at?): ", next at \(at)"
                case (nil, nil): waitsForTurn ? ", waits for its turn" : ""
                }
            let why = lastError.map { "; \($0)" } ?? ""
            return "\(event) \(type) to \(endpoint): \(state) after \(tries)\(then)\(why)"
        }
    }

    /// As a person reads it.
    var text: String {
        guard !deliveries.isEmpty else { return "there is no such delivery" }
        let lines = deliveries.map(\.text)
        return (hasMore ? lines + ["there are more: --limit is \(deliveries.count)"] : lines).joined(separator: "\n")
    }
}

/// Attempts of one delivery, as `countersign webhooks attempts` shows them.
struct AttemptsReport: Encodable, Sendable {
    let event: String
    let endpoint: String
    let attempts: [Attempt]

    /// One of them.
    struct Attempt: Encodable, Sendable {
        let number: Int32
        let at: String
        let milliseconds: Int32
        let status: Int32?
        let error: String?
        let answer: String?

        init(_ attempt: DeliveryReading.Attempt) {
            (number, at, milliseconds) = (attempt.number, MessageCoding.text(attempt.at), attempt.milliseconds)
            (status, error, answer) = (attempt.status, attempt.error, attempt.answer)
        }

        var text: String {
            let outcome = status.map { "status \($0)" } ?? error ?? "no answer"
            return "\(number). \(at), \(milliseconds) ms: \(outcome)" + (answer.map { ": \($0)" } ?? "")
        }
    }

    /// As a person reads it.
    var text: String {
        guard !attempts.isEmpty else {
            return "no attempt is written down: none was made yet, or its retention is over"
        }
        return attempts.map(\.text).joined(separator: "\n")
    }
}
