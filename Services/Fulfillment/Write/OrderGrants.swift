import Messages
import Persistence
import Postgres
import PurchaseModel

/// Writes what orders bring that were just decided: ledger, balances and entitlements; and says what is to be told of them.
enum OrderGrants {
    /// - Parameter orders: each exactly once in an order's life: right after its insertion, or its release.
    /// - Returns: what is to be told.
    /// - Throws: `PostgresError`.
    static func write(_ orders: [OrderTransition], on connection: PostgresConnection) async throws -> [EventDraft] {
        let written = try await GrantStore.write(orders.flatMap(grants), on: connection)
        let frozen = Dictionary(grouping: written.frozen) { $0.key.key }
        return orders.flatMap { order -> [EventDraft] in
            guard let decision = order.decision else { return [] }
            var payload = PurchaseEvent.Payload(order.transaction, decision)
            payload.entries = written.cut[order.key] ?? payload.entries
            var drafts = order.isSilent ? [] : [draft(type(of: order.state), of: order, payload)] + shares(order)
            for (recipient, names) in (frozen[order.key] ?? []).sorted(by: { $0.key < $1.key }) {
                // It was bought before a guardian withdrew consent, and comes after.
                var frozen = draft(
                    PurchaseEvent.consentRescinded, of: order,
                    PurchaseEvent.Payload(transaction: order.transaction, state: order.state, entitlements: names))
                frozen.account = recipient.customer.account
                drafts.append(frozen)
            }
            return drafts
        }
    }

    /// The balances that orders add to.
    static func holdings(of orders: [OrderTransition]) -> Set<LedgerStore.Holding> {
        GrantStore.holdings(of: orders.flatMap(grants))
    }

    private static func draft(_ type: String, of order: OrderTransition, _ payload: PurchaseEvent.Payload) -> EventDraft
    {
        EventDraft(
            type: type, environment: order.key.environment, app: order.transaction.bundleId, account: order.account,
            correlationId: order.correlationId, payload: payload)
    }

    /// What the order brings to its owner, and to those who share the lineage: these get no items.
    private static func grants(_ order: OrderTransition) -> [GrantStore.Grant] {
        guard order.isGrant, let decision = order.decision, let account = order.account else { return [] }
        return [account: decision.items].merging(decision.sharers.map { ($0, []) }) { own, _ in own }
            .sorted { $0.key < $1.key }.map { account, items in
                GrantStore.Grant(
                    key: order.key, app: order.transaction.bundleId, account: account, items: items,
                    entitlements: decision.entitlements, expiresDate: decision.entitledUntil,
                    isFromElsewhere: order.isGrantedElsewhere)
            }
    }

    /// What sharers are told; the owner knows it by what was granted.
    private static func shares(_ order: OrderTransition) -> [EventDraft] {
        guard order.isGrant, let decision = order.decision, !decision.entitlements.isEmpty else { return [] }
        return decision.sharers.map { sharer in
            EventDraft(
                type: PurchaseEvent.shared, environment: order.key.environment, app: order.transaction.bundleId,
                account: sharer, correlationId: order.correlationId,
                payload: PurchaseEvent.Payload(
                    transaction: order.transaction, state: .granted, entitlements: decision.entitlements,
                    binding: BindingChange(from: order.account, to: sharer, cause: .share, policy: .share)))
        }
    }

    private static func type(of state: OrderState) -> String {
        switch state {
        case .granted: PurchaseEvent.fulfilled
        case .parked: PurchaseEvent.unclaimed
        case .revoked: PurchaseEvent.revoked
        }
    }
}
