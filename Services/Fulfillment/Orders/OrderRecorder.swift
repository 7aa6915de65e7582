import Messages
import Persistence
import Postgres
import PurchaseModel

/// Writes what new or newly granted orders bring: ledger, balances and entitlements, and says what is to be told of them.
struct OrderRecorder: Sendable {
    /// An order whose decision was just written, and whose it is.
    struct Recorded: Sendable {
        let key: OrderKey
        let transaction: PurchasedTransaction
        let decision: OrderDecision
        let correlationId: String

        /// The lineage that it belongs to.
        var lineage: LineageKey {
            LineageKey(environment: key.environment, originalTransactionId: transaction.originalTransactionId)
        }
    }

    /// Writes.
    ///
    /// - Parameter orders: each exactly once in an order's life: right after its insertion, or its release.
    /// - Returns: the events, to be written with the others of the transaction.
    func record(_ orders: [Recorded], on connection: PostgresConnection) async throws -> [EventDraft] {
        try await GrantStore.write(orders.compactMap(grant), on: connection)
        return orders.map { order in
            EventDraft(
                type: type(of: order.decision.state), environment: order.key.environment,
                app: order.transaction.bundleId, account: order.decision.account,
                correlationId: order.correlationId,
                payload: PurchaseEvent.Payload(order.transaction, order.decision))
        }
    }

    private func grant(_ order: Recorded) -> GrantStore.Grant? {
        guard order.decision.state == .granted, let account = order.decision.account else { return nil }
        return GrantStore.Grant(
            key: order.key, app: order.transaction.bundleId, account: account, items: order.decision.items,
            entitlements: order.decision.entitlements, expiresDate: order.decision.entitledUntil)
    }

    private func type(of state: OrderState) -> String {
        switch state {
        case .granted: PurchaseEvent.fulfilled
        case .parked: PurchaseEvent.unclaimed
        case .revoked: PurchaseEvent.revoked
        }
    }
}
