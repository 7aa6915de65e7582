import Foundation
import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel

/// Decides parked orders anew whose doubt may be over: what `ReleaseRequested` and `ReleaseByCatalogue` have found.
struct ReleaseOrders: Sendable {
    let pool: PostgresPool
    let catalogues: CurrentCatalogue
    /// Told of orders that are parked for the catalogue's sake still.
    let doubtful: DoubtfulProducts
    var now: @Sendable () -> Date = { Date() }
    let write = WriteBatch()
    let subscriptions: UpdateSubscriptions
    let submissions: SettleSubmissions
    let announce: AnnounceOutcomes
    let eventLease: Duration
    let calls: QueueAppleCalls

    /// What came of candidates.
    struct Released: Sendable {
        /// How many were looked at.
        var count = 0
        /// Candidates that somebody else holds locked, or that are candidates no more.
        var blocked: Set<OrderKey> = []
        fileprivate var decided = Decided()
        fileprivate var catalogue: Catalogue?
        fileprivate var events: [EventStore.StoredEvent] = []
        fileprivate var settlements: [SubmissionStore.Settled] = []
    }

    /// Decides candidates in the caller's transaction, which has locked claims and requests before everything else; then as
    /// everywhere, consents, lineages and orders.
    ///
    /// - Throws: `PostgresError`; then they stay parked, and come again.
    func release(
        _ candidates: [OrderStore.Candidate], _ claims: [OperatorClaimStore.Due] = [], by catalogue: Catalogue,
        on connection: PostgresConnection
    ) async throws -> Released {
        guard !candidates.isEmpty || !claims.isEmpty else { return Released() }
        try await ConsentStore.lock(takesUp: false, on: connection)
        let loaded = try await LoadDueOrders(now: now).load(candidates, claims, by: catalogue, on: connection)
        try await OperatorClaimStore.settle(Self.settledClaims(claims, loaded), on: connection)
        try await LineageStore.append(Self.claimsWithoutLineage(loaded), on: connection)
        let decided = DecideBatch.decide(loaded)
        var drafts = try await write.changes(decided, of: loaded, on: connection)
        drafts += try await subscriptions.update(
            decided.lineages, renewals: [], silent: decided.silentLineages, on: connection)
        let events = try await EventStore.write(drafts, lease: eventLease, on: connection)
        try await calls.queue(decided, on: connection)
        let settlements = try await SubmissionStore.settle(
            try await submissions.announce(changed: decided.changed, on: connection), on: connection)
        return Released(
            count: loaded.orders.values.count {
                loaded.candidates.contains($0.key) && ($0.state == .parked || $0.isNobodysRefund)
            },
            blocked: loaded.candidates.subtracting(loaded.orders.keys), decided: decided, catalogue: catalogue,
            events: events, settlements: settlements)
    }

    /// Tells of what is committed.
    func announce(_ released: Released) async {
        doubtful.note(released.decided, by: released.catalogue)
        Counter(label: "countersign_parked_orders_released_total").increment(by: released.decided.transitions.count)
        await announce.announce(events: released.events, settlements: released.settlements)
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
