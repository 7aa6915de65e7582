import Messages
import Persistence
import PurchaseModel

/// What is told of orders that Apple took back or gave back.
enum RevocationDrafts {
    /// To each account that an order concerns: its owner, and who got its items.
    static func drafts(
        of transitions: [OrderTransition], _ entries: [LedgerStore.Entry],
        _ names: [EntitlementStore.Recipient: [String]]
    ) -> [EventDraft] {
        let entries = Dictionary(grouping: entries) { $0.cause.order }
        let names = Dictionary(grouping: names) { $0.key.key }
        return transitions.flatMap { transition -> [EventDraft] in
            let entries = entries[transition.key] ?? []
            let changesNothing = entries.isEmpty && names[transition.key] == nil
            guard let type = eventType(of: transition, changesNothing: changesNothing) else { return [] }
            let names = Dictionary((names[transition.key] ?? []).map { ($0.key.customer, $0.value) }) { first, _ in
                first
            }
            let app = transition.transaction.bundleId
            var customers = Set(entries.map(\.customer)).union(names.keys)
            if let account = transition.account {
                customers.insert(Customer(environment: transition.key.environment, app: app, account: account))
            }
            return customers.sorted().map { customer in
                EventDraft(
                    type: type, environment: transition.key.environment, app: app, account: customer.account,
                    correlationId: transition.correlationId,
                    payload: PurchaseEvent.Payload(
                        transaction: transition.transaction, state: transition.state, reason: transition.reason,
                        entries: entries.filter { $0.customer == customer }.map {
                            Catalogue.ItemGrant(item: $0.item, amount: $0.amount)
                        },
                        entitlements: names[customer] ?? []))
            }
        }
    }

    /// Nil where nobody needs to know.
    private static func eventType(of transition: OrderTransition, changesNothing: Bool) -> String? {
        switch transition.change {
        case .decided: nil
        case .restated: transition.becameFamilyCopy && !changesNothing ? PurchaseEvent.adjusted : nil
        case .revoked, .revokedOtherwise:
            transition.transaction.isFamilyRevoke ? PurchaseEvent.familyRevoked : PurchaseEvent.refundGranted
        case .reinstated: PurchaseEvent.refundReversed
        }
    }
}
