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
        let written = try await GrantStore.write(orders.flatMap(grants), on: connection)
        let frozen = Dictionary(grouping: written.frozen) { $0.key.key }
        return orders.flatMap { order in
            var payload = PurchaseEvent.Payload(order.transaction, order.decision)
            payload.entries = written.cut[order.key] ?? payload.entries
            var drafts = [draft(type(of: order.decision.state), of: order, payload)] + shares(order)
            for (bearer, names) in (frozen[order.key] ?? []).sorted(by: { $0.key < $1.key }) {
                // It was bought before a guardian withdrew consent, and comes after.
                var told = draft(
                    PurchaseEvent.consentRescinded, of: order,
                    PurchaseEvent.Payload(
                        transaction: order.transaction, state: order.decision.state, entitlements: names))
                told.account = bearer.customer.account
                drafts.append(told)
            }
            return drafts
        }
    }

    /// The balances that recording orders adds to.
    func holdings(of orders: [Recorded]) -> Set<LedgerStore.Holding> {
        GrantStore.holdings(of: orders.flatMap(grants))
    }

    private func draft(_ type: String, of order: Recorded, _ payload: PurchaseEvent.Payload) -> EventDraft {
        EventDraft(
            type: type, environment: order.key.environment, app: order.transaction.bundleId,
            account: order.decision.account, correlationId: order.correlationId, payload: payload)
    }

    /// What the order brings to its owner, and to those who share the lineage: these get no items.
    private func grants(_ order: Recorded) -> [GrantStore.Grant] {
        guard order.decision.state == .granted, let account = order.decision.account else { return [] }
        return [account: order.decision.items].merging(order.decision.sharers.map { ($0, []) }) { own, _ in own }
            .sorted { $0.key < $1.key }.map { account, items in
                GrantStore.Grant(
                    key: order.key, app: order.transaction.bundleId, account: account, items: items,
                    entitlements: order.decision.entitlements, expiresDate: order.decision.entitledUntil)
            }
    }

    /// What sharers are told; the owner knows it by what was granted.
    private func shares(_ order: Recorded) -> [EventDraft] {
        guard order.decision.state == .granted, !order.decision.entitlements.isEmpty else { return [] }
        return order.decision.sharers.map { sharer in
            EventDraft(
                type: PurchaseEvent.shared, environment: order.key.environment, app: order.transaction.bundleId,
                account: sharer, correlationId: order.correlationId,
                payload: PurchaseEvent.Payload(
                    transaction: order.transaction, state: .granted, entitlements: order.decision.entitlements,
                    binding: BindingChange(
                        from: order.decision.account, to: sharer, cause: .share, policy: .share)))
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
