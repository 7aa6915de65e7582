import Foundation
package import Messages
package import Postgres
package import PurchaseModel

/// An event that is to be told, as far as it is known before it has a number.
package struct EventDraft: Sendable {
    /// One of `PurchaseEvent`'s types.
    package var type: String
    /// Production or sandbox.
    package var environment: StoreEnvironment
    /// The app's bundle id.
    package var app: String
    /// Whose it is; nil while in doubt.
    package var account: Account?
    /// Follows a purchase from the request to the webhook.
    package var correlationId: String
    /// What is told.
    package var payload: PurchaseEvent.Payload

    /// Makes a draft.
    package init(
        type: String, environment: StoreEnvironment, app: String, account: Account?, correlationId: String,
        payload: PurchaseEvent.Payload
    ) {
        self.type = type
        self.environment = environment
        self.app = app
        self.account = account
        self.correlationId = correlationId
        self.payload = payload
    }

    fileprivate var customer: Customer? {
        account.map { Customer(environment: environment, app: app, account: $0) }
    }
}

extension EventStore {
    /// Numbers events and writes them, in the caller's transaction; once in it, since accounts are locked in one order.
    ///
    /// - Parameter lease: after which they are published again, unless the notification service has them by then.
    /// - Returns: the events as they are to be published after the commit.
    /// - Throws: `PostgresError`.
    package static func write(
        _ drafts: [EventDraft], lease: Duration, on connection: PostgresConnection
    ) async throws -> [StoredEvent] {
        var counts: [Customer: Int] = [:]
        for draft in drafts {
            if let customer = draft.customer { counts[customer, default: 0] += 1 }
        }
        var next = try await reserveSequences(counts, on: connection)
        let events = drafts.map { draft in
            // Each event has its own instant, so that ids made in one batch still sort as they were made.
            let now = Date()
            var customer: PurchaseEvent.Customer?
            if let owner = draft.customer, let sequence = next[owner] {
                next[owner] = sequence + 1
                customer = PurchaseEvent.Customer(
                    id: owner.account.text, sequence: sequence, token: draft.payload.transaction?.appAccountToken)
            }
            return PurchaseEvent(
                id: EventIdentifier.event(at: now), type: draft.type, timestamp: now, environment: draft.environment,
                app: draft.app, customer: customer, correlationId: draft.correlationId, data: draft.payload)
        }
        return try await insert(events, lease: lease, on: connection)
    }
}
