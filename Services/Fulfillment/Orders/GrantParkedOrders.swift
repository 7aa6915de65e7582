import Foundation
import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel

/// The use case: a parked order is granted once the catalogue knows its product, or somebody its token.
struct GrantParkedOrders: Sendable {
    let pool: PostgresPool
    let catalogues: CurrentCatalogue
    let recorder: OrderRecorder
    let subscriptions: SettleSubscriptions
    let submissions: SettleSubmissions
    let announce: AnnounceOutcomes
    let eventLease: Duration

    /// Looks for parked orders whose doubt is over, and decides them again.
    ///
    /// - Returns: how many were looked at, `limit` at the most.
    /// - Throws: `PostgresError`; then they stay parked, and come again.
    func grant(limit: Int) async throws -> Int {
        let catalogue = try await catalogues.current()
        let result = try await pool.withTransaction { connection in
            try await release(limit: limit, by: catalogue, on: connection)
        }
        Counter(label: "countersign_parked_orders_released_total").increment(by: result.count)
        await announce.announce(events: result.events, settlements: result.settlements)
        return result.count
    }

    private struct Released: Sendable {
        var count = 0
        var events: [EventStore.StoredEvent] = []
        var settlements: [SettlementMessage] = []
    }

    private func release(
        limit: Int, by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> Released {
        let parked = try await ParkedOrderStore.claim(
            products: catalogue.knownProducts, limit: limit, on: connection)
        guard !parked.isEmpty else { return Released() }
        let tokens = parked.compactMap { order in
            order.transaction.appAccountToken.map { (app: order.transaction.bundleId, token: $0) }
        }
        let owners = try await AccountTokenStore.accounts(of: tokens, on: connection)
        let decided = parked.map { order in
            OrderRecorder.Recorded(
                key: order.key, transaction: order.transaction,
                decision: OrderDecision.decide(
                    order.transaction, poster: order.account,
                    tokenOwner: TokenOwner(order.transaction, owners: owners),
                    product: catalogue.product(app: order.transaction.bundleId, id: order.transaction.productId),
                    catalogueVersion: catalogue.version),
                correlationId: order.correlationId)
        }
        let changed = try await ParkedOrderStore.resolve(decided.map { ($0.key, $0.decision) }, on: connection)
        // Each is decided as it was not before: granted, or held for the next doubt and then not taken up again.
        let released = decided.filter { changed.contains($0.key) }
        var drafts = try await recorder.record(released, on: connection)
        drafts += try await subscriptions.settle(
            Dictionary(released.map { ($0.lineage, $0.correlationId) }) { first, _ in first }, renewals: [],
            on: connection)
        let events = try await EventStore.write(drafts, lease: eventLease, on: connection)
        let settlements = try await submissions.hear(of: released.map(\.key), on: connection)
        try await SubmissionStore.settle(settlements.map { ($0.submissionId, $0.outcome) }, on: connection)
        return Released(count: parked.count, events: events, settlements: settlements)
    }
}
