import Messages
import Persistence
import Postgres
import PurchaseModel

/// Revises orders that are somebody's by what Apple signed later: refunds, their reversals, other ends of a period.
struct ReviseOrders: Sendable {
    private let recorder = OrderRecorder()

    /// What became of the orders.
    struct Revised: Sendable {
        /// How each order that was changed stands now.
        var standings: [OrderKey: OrderStore.Standing] = [:]
        /// The orders that others may wait for: parked before, and decided anew.
        var changed: [OrderKey] = []
        /// The lineages that one of them belongs to.
        var lineages: Set<LineageKey> = []
        /// To be told, with what was granted.
        var drafts: [EventDraft] = []
        /// How many were granted for the first time.
        var granted = 0
    }

    typealias Decide = (
        StatedTransaction, PurchasedTransaction, _ holder: OrderHolder?, _ tokens: [AppToken: String]
    ) -> OrderDecision

    /// Writes, and records what is granted, in one go: the balances of both are locked together.
    ///
    /// - Parameters:
    ///   - known: what is said of orders that are there already; those that are parked without an account are left alone.
    ///   - granting: orders whose decision was just written; see `OrderRecorder.record`.
    ///   - decide: what would become of a transaction if it were new, given whose it is already and whose the tokens
    ///     are that were known of it; for orders that were never granted.
    /// - Throws: `PostgresError`.
    func revise(
        _ known: [StatedTransaction], by catalogue: Catalogue, granting: [OrderRecorder.Recorded], decide: Decide,
        on connection: PostgresConnection
    ) async throws -> Revised {
        let revisions = try await revisions(of: known, decide: decide, on: connection)
        try await RevisionStore.write(revisions.map(\.written), on: connection)
        let recorded = granting + revisions.compactMap(\.recorded)
        // What is taken comes before what is granted: a refund does not reach for what the same batch brings.
        let entries = try await LedgerStore.takeBack(
            revisions.filter(\.kept.wasGranted).map { taking($0, by: catalogue) },
            alsoLocking: recorder.holdings(of: recorded), on: connection)
        let told = try await recorder.record(recorded, on: connection)
        let names = try await entitlements(of: revisions, on: connection)
        let frozen = try await ConsentStore.freeze(
            revisions.filter(\.movesConsent).map(\.kept.key), on: connection)
        var revised = Revised()
        revised.drafts = drafts(of: revisions, entries, names) + told
        for frozen in frozen {
            guard let revision = revisions.first(where: { $0.kept.key == frozen.key }) else { continue }
            revised.drafts.append(EventDraft(frozen, correlationId: revision.stated.verdict.correlationId))
        }
        for revision in revisions {
            revised.standings[revision.kept.key] = revision.standing
            if revision.changesLineage { revised.lineages.insert(revision.stated.lineage) }
            guard revision.recorded != nil else { continue }
            if revision.kept.state == .parked { revised.changed.append(revision.kept.key) }
            if revision.written.state == .granted { revised.granted += 1 }
        }
        return revised
    }

    /// Those of the orders that change, locked: first they are looked for without a lock, since nearly none does.
    private func revisions(
        of known: [StatedTransaction], decide: Decide, on connection: PostgresConnection
    ) async throws -> [Revision] {
        let stated = Dictionary(known.map { ($0.key, $0) }) { first, _ in first }
        let differing = try await RevisionStore.differing(
            from: known.map { ($0.key, $0.transaction()) }, on: connection)
        let candidates = try await revisions(of: differing, by: stated, decide: decide, on: connection)
        let locked = try await RevisionStore.lock(candidates.map(\.kept.key), on: connection)
        return try await revisions(of: locked, by: stated, decide: decide, on: connection)
    }

    /// What is said now may lack a token that was said before, as a receipt does: it counts all the same.
    private func revisions(
        of kept: [RevisionStore.Kept], by stated: [OrderKey: StatedTransaction], decide: Decide,
        on connection: PostgresConnection
    ) async throws -> [Revision] {
        let known = kept.filter { !$0.wasGranted }.compactMap { kept in
            kept.transaction.appAccountToken.map { (app: kept.transaction.bundleId, token: $0) }
        }
        let tokens = try await AccountTokenStore.accounts(of: known, on: connection)
        return kept.compactMap { kept in
            stated[kept.key].flatMap { stated in
                Revision(of: kept, by: stated) { decide($0, $1, $2, tokens) }
            }
        }
    }

    private func taking(_ revision: Revision, by catalogue: Catalogue) -> LedgerStore.Taking {
        let transaction = revision.transaction
        // Of what is sold no more, as little is taken as of what says nothing.
        let product = catalogue.product(app: transaction.bundleId, id: transaction.productId)
        return LedgerStore.Taking(key: revision.kept.key, takeBack: revision.takeBack) { item in
            product?.takeBack(of: item) ?? .toZero
        }
    }

    /// - Returns: what each account may use no more, or again.
    private func entitlements(
        of revisions: [Revision], on connection: PostgresConnection
    ) async throws -> [EntitlementRevision.Bearer: [String]] {
        let taken = revisions.filter { $0.change == .takenBack || $0.change == .takenBackOtherwise }
        let lost = try await EntitlementRevision.revoke(
            taken.map { ($0.kept.key, $0.isFamilyRevoke ? .familyRevoke : .refund) }, on: connection)
        try await EntitlementRevision.move(
            revisions.compactMap { revision in revision.movedEnd.map { (revision.kept.key, $0) } }, on: connection)
        let given = try await EntitlementRevision.restore(
            revisions.filter { $0.change == .givenBack }.map(\.kept.key), on: connection)
        return lost.merging(given) { first, _ in first }
    }

    /// What is told of each order, to each account that it concerns: whose it is, and who got its items.
    private func drafts(
        of revisions: [Revision], _ entries: [LedgerStore.Entry], _ names: [EntitlementRevision.Bearer: [String]]
    ) -> [EventDraft] {
        let entries = Dictionary(grouping: entries) { $0.cause.order }
        let bearers = Dictionary(grouping: names) { $0.key.key }
        return revisions.flatMap { revision -> [EventDraft] in
            guard let type = revision.eventType else { return [] }
            let entries = entries[revision.kept.key] ?? []
            let bearers = bearers[revision.kept.key] ?? []
            let names = Dictionary(bearers.map { ($0.key.customer, $0.value) }) { first, _ in first }
            let app = revision.transaction.bundleId
            // By customers, not by names: to Swift's == different accounts may be the same.
            var customers = Set(entries.map(\.customer)).union(names.keys)
            if let account = revision.written.account {
                customers.insert(
                    EventStore.Customer(environment: revision.kept.key.environment, app: app, account: account))
            }
            return customers.sorted { $0.account < $1.account }.map { customer in
                EventDraft(
                    type: type, environment: revision.kept.key.environment, app: app, account: customer.account,
                    correlationId: revision.stated.verdict.correlationId,
                    payload: PurchaseEvent.Payload(
                        transaction: revision.transaction, state: revision.written.state,
                        reason: revision.written.reason,
                        entries: entries.filter { $0.customer == customer }.map {
                            Catalogue.ItemGrant(item: $0.item, amount: $0.amount)
                        },
                        entitlements: names[customer] ?? []))
            }
        }
    }
}
