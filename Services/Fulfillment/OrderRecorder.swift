import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Writes what new or newly granted orders bring: ledger, balances, entitlements and events, in one transaction.
struct OrderRecorder: Sendable {
    let eventLease: Duration

    /// An order whose decision was just written, and whose it is.
    struct Recorded: Sendable {
        let key: OrderKey
        let transaction: PurchasedTransaction
        let decision: OrderDecision
        let correlationId: String
    }

    /// Writes.
    ///
    /// - Parameter orders: each exactly once in an order's life: right after its insertion, or its release.
    /// - Returns: the events, to be published after the commit.
    func record(
        _ orders: [Recorded], on connection: PostgresConnection
    ) async throws -> [EventStore.StoredEvent] {
        try await GrantStore.write(orders.compactMap(grant), on: connection)
        let events = try await events(for: orders, on: connection)
        return try await EventStore.insert(events, lease: eventLease, on: connection)
    }

    private func grant(_ order: Recorded) -> GrantStore.Grant? {
        guard order.decision.state == .granted, let account = order.decision.account else { return nil }
        return GrantStore.Grant(
            key: order.key, app: order.transaction.bundleId, account: account, items: order.decision.items,
            entitlements: order.decision.entitlements, expiresDate: order.decision.entitledUntil)
    }

    private func events(
        for orders: [Recorded], on connection: PostgresConnection
    ) async throws -> [PurchaseEvent] {
        var counts: [EventStore.Customer: Int] = [:]
        for order in orders {
            if let customer = customer(of: order) { counts[customer, default: 0] += 1 }
        }
        var next = try await EventStore.reserveSequences(counts, on: connection)
        return orders.map { order in
            // Each event has its own instant, so that ids made in one batch still sort as they were made.
            let now = Date()
            let owner = customer(of: order)
            let sequence = owner.flatMap { next[$0] }
            if let owner, let sequence { next[owner] = sequence + 1 }
            let customer = owner.flatMap { owner in
                sequence.map {
                    PurchaseEvent.Customer(
                        id: owner.account, sequence: $0, token: order.transaction.appAccountToken)
                }
            }
            return PurchaseEvent(
                id: EventIdentifier.event(at: now), type: type(of: order.decision.state), timestamp: now,
                environment: order.key.environment, app: order.transaction.bundleId, customer: customer,
                correlationId: order.correlationId, data: PurchaseEvent.Payload(order.transaction, order.decision))
        }
    }

    private func customer(of order: Recorded) -> EventStore.Customer? {
        order.decision.account.map {
            EventStore.Customer(environment: order.key.environment, app: order.transaction.bundleId, account: $0)
        }
    }

    private func type(of state: OrderState) -> String {
        switch state {
        case .granted: PurchaseEvent.fulfilled
        case .parked: PurchaseEvent.unclaimed
        case .revoked: PurchaseEvent.revoked
        }
    }
}
