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
            let names = Dictionary((names[transition.key] ?? []).map { ($0.key.customer, $0.value) }) { first, _ in
                first
            }
            let (corrections, others) = (entries[transition.key] ?? []).partitioned(by: \.cause.isCorrection)
            guard let type = eventType(of: transition) else {
                // Nothing but that it is a family member's copy.
                let customers = Set(corrections.map(\.customer)).union(names.keys)
                return drafts(PurchaseEvent.adjusted, to: customers, of: transition, corrections, names)
            }
            var customers = Set(others.map(\.customer)).union(names.keys)
            if let account = transition.account {
                customers.insert(
                    Customer(
                        environment: transition.key.environment, app: transition.transaction.bundleId,
                        account: account))
            }
            return drafts(
                PurchaseEvent.adjusted, to: Set(corrections.map(\.customer)), of: transition, corrections, [:])
                + drafts(type, to: customers, of: transition, others, names)
        }
    }

    private static func drafts(
        _ type: String, to customers: Set<Customer>, of transition: OrderTransition, _ entries: [LedgerStore.Entry],
        _ names: [Customer: [String]]
    ) -> [EventDraft] {
        customers.sorted().map { customer in
            EventDraft(
                type: type, environment: transition.key.environment, app: transition.transaction.bundleId,
                account: customer.account, correlationId: transition.correlationId,
                payload: PurchaseEvent.Payload(
                    transaction: transition.transaction, state: transition.state, reason: transition.reason,
                    entries: entries.filter { $0.customer == customer }.map {
                        Catalogue.ItemGrant(item: $0.item, amount: $0.amount)
                    },
                    entitlements: names[customer] ?? [], isGrantedElsewhere: transition.isGrantedElsewhere))
        }
    }

    /// Nil where nobody needs to know.
    private static func eventType(of transition: OrderTransition) -> String? {
        switch transition.change {
        case .decided, .restated: nil
        case .revoked, .revokedOtherwise:
            transition.transaction.isFamilyRevoke ? PurchaseEvent.familyRevoked : PurchaseEvent.refundGranted
        case .reinstated: PurchaseEvent.refundReversed
        }
    }
}

extension LedgerStore.Cause {
    fileprivate var isCorrection: Bool {
        if case .correction = self { true } else { false }
    }
}

extension [LedgerStore.Entry] {
    fileprivate func partitioned(by isFirst: (LedgerStore.Entry) -> Bool) -> (first: Self, second: Self) {
        (filter(isFirst), filter { !isFirst($0) })
    }
}
