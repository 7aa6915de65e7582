import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Writes what was decided, set by set, and says what is to be told of it.
struct WriteBatch: Sendable {
    /// - Returns: what is to be told.
    /// - Throws: `PostgresError`; of SQLSTATE 40001 where somebody recorded the same purchase meanwhile.
    func changes(
        _ decided: Decided, of loaded: Loaded, on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        let ownerships = Array(decided.ownerships.values)
        try await LineageStore.write(
            ownerships.filter { $0.lineage != $0.before }.map(\.lineage), on: connection)
        try await LineageStore.append(
            decided.bindings.map { ownership, change in
                LineageStore.Binding(
                    lineage: ownership.lineage.key, app: ownership.lineage.app, change: change.binding,
                    submissionId: change.submissionId, auditId: change.auditId)
            }, on: connection)
        try await LineageHistoryStore.note(ownerships.flatMap(\.claims), on: connection)
        try await OrderStore.give(decided.moved.map { ($0.order.key, $0.account) }, on: connection)
        try await moveEntitlements(of: ownerships, on: connection)
        var drafts = try await bindingDrafts(of: decided, at: loaded.now, on: connection)
        drafts += try await joinDrafts(of: loaded, on: connection)
        let transitions = decided.transitions
        try await OrderStore.insert(transitions.filter { $0.before == nil }, loaded.bodies, on: connection)
        try await OrderStore.update(transitions.filter { $0.before != nil }, loaded.bodies, on: connection)
        try await ReleaseRequestStore.add(Self.tokensOfNobody(transitions), on: connection)
        try await OrderStore.note(loaded.conflicts + decided.conflicts, on: connection)
        drafts += try await writeOrders(transitions, by: loaded.catalogue, on: connection)
        return drafts
    }

    /// The tokens that orders wait for from now on: they may have been registered since the batch looked for them.
    private static func tokensOfNobody(_ transitions: [OrderTransition]) -> Set<AppToken> {
        Set(
            transitions.filter { transition in
                transition.state == .parked && transition.reason == .accountTokenUnknown
                    || transition.state == .revoked && transition.account == nil
            }.compactMap(\.transaction.appToken))
    }

    // MARK: - Lineages

    private func moveEntitlements(of ownerships: [Ownership], on connection: PostgresConnection) async throws {
        try await EntitlementStore.move(
            ownerships.compactMap { ownership in
                guard ownership.hasNewOwner, let from = ownership.before.owner, let to = ownership.lineage.owner else {
                    return nil
                }
                return EntitlementStore.Move(lineage: ownership.lineage.key, from: from, to: to)
            }, on: connection)
        try await EntitlementStore.unshare(
            ownerships.flatMap { ownership in
                ownership.before.sharers.subtracting(ownership.lineage.sharers)
                    .filter { $0 != ownership.lineage.owner }.sorted()
                    .map { (lineage: ownership.lineage.key, account: $0) }
            }, on: connection)
        try await EntitlementStore.share(
            ownerships.flatMap { ownership in
                ownership.lineage.sharers.subtracting(ownership.before.sharers).sorted().compactMap { sharer in
                    ownership.lineage.owner.map {
                        EntitlementStore.Share(
                            lineage: ownership.lineage.key, app: ownership.lineage.app, owner: $0, account: sharer)
                    }
                }
            }, on: connection)
    }

    /// What is told of lineages that went to others; first bindings are told by what they grant.
    private func bindingDrafts(
        of decided: Decided, at now: Date, on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        let announced = decided.bindings.filter { $0.change.binding.from != nil }
        let names = try await EntitlementStore.entitlements(
            of: Set(announced.map(\.ownership.lineage.key)), at: now, on: connection)
        return announced.flatMap { ownership, change in
            [change.binding.from, change.binding.to].compactMap(\.self).map { account in
                EventDraft(
                    type: change.binding.cause == .share ? PurchaseEvent.shared : PurchaseEvent.transferred,
                    environment: ownership.lineage.key.environment, app: ownership.lineage.app, account: account,
                    correlationId: change.correlationId,
                    payload: PurchaseEvent.Payload(
                        transaction: change.transaction, entitlements: names[ownership.lineage.key] ?? [],
                        binding: change.binding))
            }
        }
    }

    /// What is told of lineages that went to others because they are one with another: to both accounts.
    private func joinDrafts(of loaded: Loaded, on connection: PostgresConnection) async throws -> [EventDraft] {
        let moved = loaded.joins.filter { $0.join.loser != nil && $0.join.owner != nil }
        let names = try await EntitlementStore.entitlements(
            of: Set(moved.map(\.join.into)), at: loaded.now, on: connection)
        return moved.flatMap { made in
            [made.join.loser, made.join.owner].compactMap(\.self).map { account in
                EventDraft(
                    type: PurchaseEvent.transferred, environment: made.join.into.environment, app: made.join.app,
                    account: account, correlationId: made.correlationId,
                    payload: PurchaseEvent.Payload(
                        transaction: made.transaction, entitlements: names[made.join.into] ?? [],
                        binding: made.join.owner.map { BindingChange(from: made.join.loser, to: $0, cause: .token) }))
            }
        }
    }

    // MARK: - Orders

    /// Writes what orders bring, lose and get back: ledger, balances, entitlements.
    private func writeOrders(
        _ transitions: [OrderTransition], by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        let decided = transitions.filter(\.isDecidedAnew)
        let changed = transitions.filter { $0.change != .decided }
        // What is taken comes before what is granted: a refund does not reach for what the same batch brings.
        let entries = try await LedgerStore.takeBack(
            changed.compactMap { taking($0, by: catalogue) }, alsoLocking: OrderGrants.holdings(of: decided),
            on: connection)
        let granted = try await OrderGrants.write(decided, on: connection)
        let names = try await reviseEntitlements(of: changed, by: catalogue, on: connection)
        let frozen = try await EntitlementStore.freeze(changed.filter(\.movesConsent).map(\.key), on: connection)
        var drafts = RevocationDrafts.drafts(of: changed, entries, names) + granted
        for frozen in frozen {
            guard let transition = changed.first(where: { $0.key == frozen.key }) else { continue }
            drafts.append(EventDraft(frozen, correlationId: transition.correlationId))
        }
        return drafts
    }

    private func taking(_ transition: OrderTransition, by catalogue: Catalogue) -> LedgerStore.Taking? {
        let transaction = transition.transaction
        // Of what is sold no more, as little is taken as of what says nothing.
        let product = catalogue.product(app: transaction.bundleId, id: transaction.productId)
        guard let takeBack = transition.takeBack,
            transition.becameFamilyCopy || takeBack.shareBefore != takeBack.shareAfter
        else { return nil }
        return LedgerStore.Taking(
            key: transition.key, takeBack: takeBack,
            bringsItems: product?.givesItems(to: transaction) ?? !transaction.isPaidByAnother
        ) {
            product?.takeBack(of: $0) ?? .toZero
        }
    }

    /// - Returns: what each account may use no more, or again.
    private func reviseEntitlements(
        of transitions: [OrderTransition], by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> [EntitlementStore.Recipient: [String]] {
        let withheld = Set(
            transitions.filter { transition in
                let transaction = transition.transaction
                let product = catalogue.product(app: transaction.bundleId, id: transaction.productId)
                return !(product?.givesEntitlements(to: transaction) ?? true)
            }.map(\.key))
        let lost = try await EntitlementStore.revoke(
            transitions.compactMap { transition in
                if transition.becameFamilyCopy, withheld.contains(transition.key) {
                    return (transition.key, .familyCopy)
                }
                guard transition.change == .revoked || transition.change == .revokedOtherwise else { return nil }
                return (transition.key, transition.transaction.isFamilyRevoke ? .familyRevoke : .refund)
            }, on: connection)
        try await EntitlementStore.moveEnds(
            transitions.compactMap { transition in transition.movedEnd.map { (transition.key, $0) } }, on: connection)
        let given = try await EntitlementStore.restore(
            transitions.filter { $0.change == .reinstated && !withheld.contains($0.key) }.map(\.key), on: connection)
        return lost.merging(given) { first, _ in first }
    }
}
