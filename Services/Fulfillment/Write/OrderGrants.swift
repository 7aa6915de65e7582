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
            var drafts = order.isSilent ? [] : announcements(of: order, payload) + shares(order)
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

    /// What is told of an order: to its owner; where its items went to another account, to each what it got.
    private static func announcements(of order: OrderTransition, _ payload: PurchaseEvent.Payload) -> [EventDraft] {
        guard order.isGrant, order.itemsAccount != order.account, !payload.entries.isEmpty else {
            return [draft(type(of: order.state), of: order, payload)]
        }
        var (own, items) = (payload, payload)
        own.entries = []
        items.entitlements = []
        var second = draft(type(of: order.state), of: order, items)
        second.account = order.itemsAccount
        return [draft(type(of: order.state), of: order, own), second]
    }

    /// What the order brings to its owner, to those who share the lineage, and to whom its items go: nobody else gets any.
    private static func grants(_ order: OrderTransition) -> [GrantStore.Grant] {
        guard order.isGrant, let decision = order.decision, let account = order.account else { return [] }
        let users = Set([account] + decision.sharers)
        let receiver = order.itemsAccount ?? account
        return users.union(decision.items.isEmpty ? [] : [receiver])
            .sorted().map { account in
                GrantStore.Grant(
                    key: order.key, app: order.transaction.bundleId, account: account,
                    items: account == receiver ? decision.items : [],
                    entitlements: users.contains(account) ? decision.entitlements : [],
                    expiresDate: decision.entitledUntil,
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
