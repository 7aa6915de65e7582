import Foundation
import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel

/// The use case: a batch of verdicts becomes orders, grants, events and outcomes in one database transaction.
struct SettleVerdicts: Sendable {
    let pool: PostgresPool
    let catalogues: CurrentCatalogue
    let orders: SettleOrders
    let consents: SettleConsents
    let subscriptions: SettleSubscriptions
    let submissions: SettleSubmissions
    let eventLease: Duration
    let announce: AnnounceOutcomes

    enum Limit {
        /// Transactions of one commit, unless a single message has more; a batch may hold receipts of hundreds each.
        static let transactionsPerCommit = 2_000
    }

    /// Returns when everything is committed; what was published by then is a hint and a head start.
    ///
    /// - Throws: `PostgresError`; then some of it may be written, and repeating it changes nothing.
    func settle(_ verdicts: [VerdictMessage]) async throws {
        for part in Self.cut(verdicts, transactionsMaximum: Limit.transactionsPerCommit) { try await commit(part) }
    }

    /// Cuts a batch into commits, in its order; two accounts that claim the same lineage are never in one.
    static func cut(_ verdicts: [VerdictMessage], transactionsMaximum: Int) -> [[VerdictMessage]] {
        var parts: [[VerdictMessage]] = []
        var room = 0
        var claimed = ClaimedLineages()
        for verdict in verdicts {
            var count = 0
            if case .genuine(let transactions) = verdict.verdict { count = transactions.count }
            if !claimed.admit(verdict) || parts.isEmpty || count > room {
                parts.append([])
                room = transactionsMaximum
                claimed = ClaimedLineages(of: verdict)
            }
            parts[parts.count - 1].append(verdict)
            room -= count
        }
        return parts
    }

    private struct Written: Sendable {
        let orders: SettleOrders.Settled
        let events: [EventStore.StoredEvent]
        let settlements: [SettlementMessage]
    }

    private func commit(_ verdicts: [VerdictMessage]) async throws {
        let start = ContinuousClock.now
        let catalogue = try await catalogues.current()
        let written = try await pool.withTransaction { connection in
            try await write(verdicts, by: catalogue, on: connection)
        }
        count(written.orders, written.settlements, verdicts: verdicts.count, since: start)
        await announce.announce(events: written.events, settlements: written.settlements)
    }

    // Locks are taken in one order everywhere, so that batches cannot dead-lock: consents; lineages; orders by key, new ones
    // before old ones; balances; subscriptions; sequences by account; submissions by id.
    private func write(
        _ verdicts: [VerdictMessage], by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> Written {
        try await ConsentStore.lock(
            takesUp: verdicts.contains { !$0.rescindedConsents.isEmpty }, on: connection)
        let settled = try await orders.settle(verdicts, by: catalogue, on: connection)
        var drafts = settled.drafts
        drafts += try await consents.settle(
            verdicts.flatMap { verdict in verdict.rescindedConsents.map { ($0, verdict.correlationId) } },
            on: connection)
        drafts += try await subscriptions.settle(
            settled.lineages,
            renewals: verdicts.flatMap { verdict in verdict.renewals.map { ($0, verdict.correlationId) } },
            on: connection)
        let events = try await EventStore.write(drafts, lease: eventLease, on: connection)
        let settlements = try await submissions.settle(
            verdicts, standings: settled.standings, known: settled.known, changed: settled.changed, on: connection)
        return Written(orders: settled, events: events, settlements: settlements)
    }

    private func count(
        _ orders: SettleOrders.Settled, _ settlements: [SettlementMessage], verdicts: Int,
        since start: ContinuousClock.Instant
    ) {
        Counter(label: "countersign_orders_granted_total").increment(by: orders.granted)
        Counter(label: "countersign_orders_claimed_total").increment(by: orders.claimed)
        for settlement in settlements {
            let outcome = settlement.outcome
            Counter(
                label: "countersign_submissions_settled_total",
                dimensions: [("state", outcome.state.rawValue), ("reason", outcome.reason?.rawValue ?? "")]
            ).increment()
        }
        Recorder(label: "countersign_fulfillment_batch_size").record(verdicts)
        let elapsed = ContinuousClock.now - start
        Metrics.Timer(label: "countersign_fulfillment_batch_seconds").recordNanoseconds(
            elapsed.components.seconds * 1_000_000_000 + elapsed.components.attoseconds / 1_000_000_000)
    }
}
