import Foundation
import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel

/// The use case: a parked order is granted once the catalogue knows its product, or knows it better, somebody its token, or
/// an operator says whose it is.
struct GrantParkedOrders: Sendable {
    let pool: PostgresPool
    let catalogues: CurrentCatalogue
    let recorder: OrderRecorder
    var owners = SettleOwners()
    let subscriptions: SettleSubscriptions
    let submissions: SettleSubmissions
    let announce: AnnounceOutcomes
    let eventLease: Duration

    /// Looks for parked orders whose doubt is over, and decides them again.
    ///
    /// - Returns: how many were looked at, `limit` of each cause at the most.
    /// - Throws: `PostgresError`; then they stay parked, and come again.
    func grant(limit: Int) async throws -> Int {
        let catalogue = try await catalogues.current()
        let result = try await pool.withTransaction { connection in
            try await release(limit: limit, by: catalogue, on: connection)
        }
        Counter(label: "countersign_parked_orders_released_total").increment(by: result.released)
        await announce.announce(events: result.events, settlements: result.settlements)
        return result.count
    }

    private struct Released: Sendable {
        /// How many were looked at.
        var count = 0
        /// How many were decided as they were not before.
        var released = 0
        var events: [EventStore.StoredEvent] = []
        var settlements: [SettlementMessage] = []
    }

    // Claims are locked before everything else; then as everywhere, consents, lineages and orders.
    private func release(
        limit: Int, by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> Released {
        let claims = try await OperatorClaimStore.due(limit: limit, on: connection)
        let candidates = try await ParkedOrderStore.candidates(
            products: catalogue.allProducts, claimed: claims.map(\.key), limit: limit, on: connection)
        guard !candidates.isEmpty || !claims.isEmpty else { return Released() }
        try await ConsentStore.lock(takesUp: false, on: connection)
        let due = try await load(candidates, claims, by: catalogue, on: connection)
        try await OperatorClaimStore.settle(due.settledClaims, on: connection)
        try await BindingHistoryStore.write(due.claimsWithoutLineage, on: connection)
        let moved = try await owners.move(due.book, held: due.held, on: connection)
        let decided = due.decided(by: catalogue)
        let changed = try await ParkedOrderStore.resolve(decided.map { ($0.key, $0.decision) }, on: connection)
        // Each is decided as it was not before: granted, or held for the next doubt and then not taken up again.
        let released = decided.filter { changed.contains($0.key) }
        var drafts = moved + (try await recorder.record(released, on: connection))
        drafts += try await subscriptions.settle(
            due.book.correlations.merging(
                released.filter { due.book[$0.lineage] != nil }.map { ($0.lineage, $0.correlationId) }
            ) { first, _ in first },
            renewals: [], on: connection)
        let events = try await EventStore.write(drafts, lease: eventLease, on: connection)
        let settlements = try await submissions.hear(
            of: released.map(\.key) + due.book.waitedFor(in: due.held), on: connection)
        try await SubmissionStore.settle(settlements.map { ($0.submissionId, $0.outcome) }, on: connection)
        return Released(count: due.count, released: released.count, events: events, settlements: settlements)
    }

    /// Locks the lineages of the candidates with all their orders, and the candidates that have none.
    private func load(
        _ candidates: [ParkedOrderStore.Candidate], _ claims: [OperatorClaimStore.Due], by catalogue: Catalogue,
        on connection: PostgresConnection
    ) async throws -> DueOrders {
        let known = try await LineageStore.known(
            Set(candidates.filter { $0.productType == .unstated }.map(\.lineage)), on: connection)
        let bound = candidates.filter { candidate in
            let product = catalogue.product(app: candidate.app, id: candidate.productId)
            return candidate.productType.hasLineage(orElse: product?.type)
                || product == nil && known.contains(candidate.lineage)
        }
        let locked = try await owners.lock(
            Dictionary(bound.map { ($0.lineage, $0.app) }) { first, _ in first }, on: connection)
        let hanging = Set(bound.map(\.key))
        var held = try await ParkedOrderStore.lock([], lineages: Array(locked.lineages.keys), on: connection)
        held += try await ParkedOrderStore.lockFree(
            candidates.map(\.key).filter { !hanging.contains($0) }, on: connection)
        let tokens = try await AccountTokenStore.accounts(
            of: held.compactMap { order in
                order.transaction.flatMap { transaction in
                    transaction.appAccountToken.map { (app: transaction.bundleId, token: $0) }
                }
            }, on: connection)
        var due = DueOrders(
            candidates: Set(candidates.map(\.key)), claims: claims, held: held, tokens: tokens, book: locked)
        due.book = try await owners.hear(due.words, in: locked, tokens: tokens, by: catalogue, on: connection)
        return due
    }
}
