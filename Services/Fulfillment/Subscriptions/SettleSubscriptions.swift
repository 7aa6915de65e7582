import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Works out anew where subscriptions stand, after their orders, owners or renewal statements changed.
struct SettleSubscriptions: Sendable {
    /// What time it is; nil for the database's clock, by which entitlements are read and subscriptions end, too.
    var now: (@Sendable () -> Date)?

    /// Writes.
    ///
    /// A batch takes one statement where no subscription is concerned, none where there is no lineage and no renewal,
    /// and five at the most, whatever its size.
    ///
    /// - Parameters:
    ///   - lineages: those of which an order or the owner changed in this transaction, with what led to it; any type.
    ///   - renewals: what Apple signed about coming renewals, of any age.
    /// - Returns: what is to be told.
    /// - Throws: `PostgresError`.
    func settle(
        _ lineages: [LineageKey: String], renewals: [(statement: RenewalStatement, correlationId: String)],
        on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        let concerned = try await RenewalStatementStore.keep(
            renewals.map(\.statement), touched: Array(lineages.keys), on: connection)
        guard !concerned.isEmpty else { return [] }
        let before = try await SubscriptionStore.lock(concerned, on: connection)
        let derived = derive(try await SubscriptionStore.bases(of: concerned, on: connection))
        let steps = SubscriptionStep.all(from: before, to: derived)
        try await SubscriptionStore.write(steps.filter(\.isChange).map(\.after), on: connection)
        try await SubscriptionEntitlementStore.write(
            derived.map {
                SubscriptionEntitlementStore.Ends(
                    lineage: $0.basis.lineage, transactionId: $0.standing.transactionId,
                    accessUntil: $0.standing.accessUntil)
            }, on: connection)
        let causes = lineages.merging(renewals.map { ($0.statement.lineage, $0.correlationId) }) { order, _ in order }
        return steps.flatMap { $0.drafts(correlationId: causes[$0.after.basis.lineage]) }
    }

    /// Where subscriptions stand now, in the order of what they follow from.
    func derive(_ bases: [SubscriptionStore.Basis]) -> [SubscriptionStore.Derived] {
        bases.compactMap { basis in
            SubscriptionStanding.derived(
                from: [basis.current], renewal: basis.renewal, at: now?() ?? basis.readAt
            ).map { SubscriptionStore.Derived(basis: basis, standing: $0) }
        }
    }
}

/// A subscription's way from where it stood to where it stands.
struct SubscriptionStep: Sendable {
    /// Nil where it was not known.
    let before: SubscriptionStore.Known?
    let after: SubscriptionStore.Derived

    /// One for each subscription that stands somewhere now.
    static func all(
        from before: [SubscriptionStore.Known], to after: [SubscriptionStore.Derived]
    ) -> [SubscriptionStep] {
        let known = Dictionary(before.map { ($0.lineage, $0) }) { first, _ in first }
        return after.map { SubscriptionStep(before: known[$0.basis.lineage], after: $0) }
    }

    /// Whether its row is to be written.
    var isChange: Bool { before?.standing != after.standing || before?.account != after.basis.account }

    /// What is to be told, to whom it is now.
    ///
    /// - Parameter correlationId: of what led to it; the current order's where the clock did.
    func drafts(correlationId: String?) -> [EventDraft] {
        let basis = after.basis
        return SubscriptionChange.all(from: before?.standing, to: after.standing).map { change in
            EventDraft(
                type: change.eventType, environment: basis.lineage.environment, app: basis.app,
                account: basis.account, correlationId: correlationId ?? basis.correlationId,
                payload: PurchaseEvent.Payload(
                    transaction: basis.current, entitlements: change.concernsAccess ? basis.entitlements : [],
                    subscription: after.standing, previousSubscription: before?.standing))
        }
    }
}
