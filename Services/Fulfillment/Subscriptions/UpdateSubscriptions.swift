import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Works out anew where subscriptions stand, after their orders, owners or renewal statements changed.
struct UpdateSubscriptions: Sendable {
    /// What time it is; nil for the database's clock, by which entitlements are read and subscriptions end, too.
    var now: (@Sendable () -> Date)?

    /// Writes.
    ///
    /// A batch takes one statement where no subscription is concerned, none where there is no lineage and no renewal,
    /// and seven at the most, whatever its size.
    ///
    /// - Parameters:
    ///   - lineages: those of which an order or the owner changed in this transaction, with what led to it; any type.
    ///   - renewals: what Apple signed about coming renewals, of any age.
    ///   - silent: lineages of which nothing is told.
    /// - Returns: what is to be told.
    /// - Throws: `PostgresError`.
    func update(
        _ lineages: [LineageKey: String], renewals: [(statement: RenewalStatement, correlationId: String)],
        silent: Set<LineageKey> = [], on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        let concerned = try await RenewalStatementStore.keep(
            renewals.map(\.statement), touched: Array(lineages.keys), on: connection)
        guard !concerned.isEmpty else { return [] }
        let before = try await SubscriptionStore.lock(concerned, on: connection)
        let derived = derive(try await SubscriptionStore.bases(of: concerned, on: connection))
        let steps = SubscriptionStep.all(from: before, to: derived)
        try await SubscriptionStore.write(steps.filter(\.isChange).map(\.after), on: connection)
        // A refunded period that was never granted may become a held one: then no period is anybody's.
        let standing = Set(derived.map(\.basis.lineage))
        try await SubscriptionStore.remove(before.map(\.lineage).filter { !standing.contains($0) }, on: connection)
        let superseded = try await EntitlementStore.endPeriods(
            derived.map {
                EntitlementStore.Ends(
                    lineage: $0.basis.lineage, transactionId: $0.standing.transactionId,
                    accessUntil: $0.standing.accessUntil)
            }, on: connection)
        let causes = lineages.merging(renewals.map { ($0.statement.lineage, $0.correlationId) }) { order, _ in order }
        return try await lost(by: superseded, causes: causes, on: connection).filter { !$0.isOf(silent) }
            + drafts(of: steps.filter { !silent.contains($0.after.basis.lineage) }, causes: causes, on: connection)
    }

    /// What is to be told of orders whose place an upgrade took: what they gave and the new plan does not.
    private func lost(
        by superseded: [OrderKey], causes: [LineageKey: String], on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        let lost = try await EntitlementStore.superseded(superseded, at: now?(), on: connection)
        return lost.filter { !$0.entitlements.isEmpty }.map { lost in
            let lineage = LineageKey(
                environment: lost.key.environment,
                originalTransactionId: lost.transaction?.originalTransactionId ?? lost.key.transactionId)
            return EventDraft(lost, correlationId: causes[lineage] ?? lost.correlationId)
        }
    }

    /// What is to be told of steps, once the entitlements are as they should be.
    ///
    /// - Parameter causes: the correlation ids of what led to them; the current order's where the clock did.
    /// - Throws: `PostgresError`.
    func drafts(
        of steps: [SubscriptionStep], causes: [LineageKey: String] = [:], on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        let bearings = try await EntitlementStore.bearings(
            of: steps.filter(\.concernsAccess).map(\.order), at: now?(), on: connection)
        return steps.flatMap {
            $0.drafts(correlationId: causes[$0.after.basis.lineage], bearings: bearings[$0.order] ?? [])
        }
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

extension RenewalStatement {
    /// The same under the lineage's own original id, where it names another of the app's.
    func resolved(by members: [LineageKey: LineageStore.Member], app: String) -> RenewalStatement {
        guard let member = members[lineage], member.app == app else { return self }
        var statement = self
        statement.originalTransactionId = member.lineage.originalTransactionId
        return statement
    }
}

extension EventDraft {
    /// Whether it tells of one of these lineages.
    fileprivate func isOf(_ lineages: Set<LineageKey>) -> Bool {
        guard let transaction = payload.transaction else { return false }
        return lineages.contains(
            LineageKey(environment: environment, originalTransactionId: transaction.originalTransactionId))
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

    /// The order of the current period.
    var order: OrderKey {
        OrderKey(
            environment: after.basis.lineage.environment, transactionId: after.basis.current.transactionId)
    }

    /// What there is to tell.
    var changes: [SubscriptionChange] { SubscriptionChange.all(from: before?.standing, to: after.standing) }

    /// Whether it changes what may be used.
    var concernsAccess: Bool { changes.contains { $0.access != nil } }

    /// What is to be told: to whose it is now all of it, to those who share it what they may use, or no more.
    ///
    /// - Parameters:
    ///   - correlationId: of what led to it; the current order's where the clock did.
    ///   - bearings: what the current period gives, and to whom.
    func drafts(correlationId: String?, bearings: [EntitlementStore.Bearing]) -> [EventDraft] {
        let owner = after.basis.account
        let own = bearings.first { $0.account == owner }
        let sharers = bearings.filter { $0.account != owner }
        return changes.flatMap { change in
            [draft(change, to: owner, own, correlationId)]
                + (change.access == nil
                    ? [] : sharers.map { draft(change, to: $0.account, $0, correlationId) })
        }
    }

    private func draft(
        _ change: SubscriptionChange, to account: Account, _ bearing: EntitlementStore.Bearing?,
        _ correlationId: String?
    ) -> EventDraft {
        let names: [String]? =
            switch change.access {
            case .given?: bearing?.entitlements
            case .taken?: bearing?.onlyByIt
            case nil: nil
            }
        return EventDraft(
            type: change.eventType, environment: after.basis.lineage.environment, app: after.basis.app,
            account: account, correlationId: correlationId ?? after.basis.correlationId,
            payload: PurchaseEvent.Payload(
                transaction: after.basis.current, entitlements: names ?? [], subscription: after.standing,
                previousSubscription: before?.standing))
    }
}
