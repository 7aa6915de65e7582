import Foundation
import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel

/// The use case: a parked order is granted once the catalogue knows its product, or knows it better, somebody its token, or
/// an operator says whose it is.
struct ReleaseOrders: Sendable {
    let pool: PostgresPool
    let catalogues: CurrentCatalogue
    var now: @Sendable () -> Date = { Date() }
    let write = WriteBatch()
    let subscriptions: SettleSubscriptions
    let submissions: SettleSubmissions
    let announce: AnnounceOutcomes
    let eventLease: Duration

    /// Looks for parked orders whose doubt is over, and decides them again.
    ///
    /// - Returns: how many were looked at, `limit` of each cause at the most.
    /// - Throws: `PostgresError`; then they stay parked, and come again.
    func release(limit: Int) async throws -> Int {
        let catalogue = try await catalogues.current()
        let released = try await pool.withTransaction { connection in
            try await release(limit: limit, by: catalogue, on: connection)
        }
        Counter(label: "countersign_parked_orders_released_total").increment(by: released.decidedCount)
        await announce.announce(events: released.events, settlements: released.settlements)
        return released.count
    }

    private struct Released: Sendable {
        /// How many were looked at.
        var count = 0
        /// How many were decided as they were not before.
        var decidedCount = 0
        var events: [EventStore.StoredEvent] = []
        var settlements: [SubmissionStore.Settled] = []
    }

    // Claims are locked before everything else; then as everywhere, consents, lineages and orders.
    private func release(
        limit: Int, by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> Released {
        let claims = try await OperatorClaimStore.due(limit: limit, on: connection)
        let candidates = try await OrderStore.candidates(
            products: catalogue.allProducts, claimed: claims.map(\.key), limit: limit, on: connection)
        guard !candidates.isEmpty || !claims.isEmpty else { return Released() }
        try await ConsentStore.lock(takesUp: false, on: connection)
        let loaded = try await LoadDueOrders(now: now).load(candidates, claims, by: catalogue, on: connection)
        try await OperatorClaimStore.settle(Self.settledClaims(claims, loaded), on: connection)
        try await LineageStore.append(Self.claimsWithoutLineage(loaded), on: connection)
        let decided = DecideBatch.decide(loaded)
        var drafts = try await write.write(decided, of: loaded, on: connection)
        drafts += try await subscriptions.settle(decided.lineages, renewals: [], on: connection)
        let events = try await EventStore.write(drafts, lease: eventLease, on: connection)
        let settlements = try await SubmissionStore.settle(
            try await submissions.announce(changed: decided.changed, on: connection), on: connection)
        return Released(
            count: loaded.orders.values.count {
                loaded.candidates.contains($0.key) && ($0.state == .parked || $0.isNobodysRefund)
            },
            decidedCount: decided.transitions.count, events: events, settlements: settlements)
    }

    /// The claims that are done with: their orders were locked, or are not to be claimed any more.
    ///
    /// An order that somebody else holds locked is looked for again.
    private static func settledClaims(_ claims: [OperatorClaimStore.Due], _ loaded: Loaded) -> [Int64] {
        claims.filter { !loaded.candidates.contains($0.key) || loaded.orders[$0.key] != nil }.map(\.auditId)
    }

    /// What operators said of orders without a lineage, such as consumables; the order's own id stands for it.
    private static func claimsWithoutLineage(_ loaded: Loaded) -> [LineageStore.Binding] {
        loaded.orders.values.sorted { $0.key < $1.key }.compactMap { order in
            guard let claim = loaded.operatorClaims[order.key], order.isUnclaimed,
                order.productType == .consumable || loaded.lineages[order.lineage] == nil
            else { return nil }
            return LineageStore.Binding(
                lineage: LineageKey(
                    environment: order.key.environment, originalTransactionId: order.key.transactionId),
                app: order.app, change: BindingChange(from: nil, to: claim.account, cause: .operator),
                submissionId: nil, auditId: claim.auditId)
        }
    }
}
