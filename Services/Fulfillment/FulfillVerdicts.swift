import Foundation
import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel

/// The use case: a batch of verdicts becomes orders, grants, events and outcomes in one transaction of the database.
///
/// Load what decides, locked; decide, without I/O; write. Whatever two processes do at once, one of them runs again.
struct FulfillVerdicts: Sendable {
    let pool: PostgresPool
    let catalogues: CurrentCatalogue
    let load: LoadBatch
    let write = WriteBatch()
    let consents = RescindConsents()
    let subscriptions: UpdateSubscriptions
    let submissions: SettleSubmissions
    let eventLease: Duration
    let announce: AnnounceOutcomes
    /// Told of orders that are parked for the catalogue's sake.
    let doubtful: DoubtfulProducts
    let calls: QueueAppleCalls
    let notifications: RecordNotifications
    let doubts: AskAboutDoubts
    let values: NoteUnknownValues

    /// Transactions of one commit, unless a single message has more; a batch may hold receipts of hundreds each.
    static let transactionsPerCommit = 2_000
    /// How often a transaction of the database runs that met others.
    static let attemptsMaximum = 8
    /// After how long what is deferred is sent again: a forgotten account has its pseudonym within seconds.
    static let deferral = Duration.seconds(2)

    /// Returns when everything is committed; what was published by then is a hint and a head start.
    ///
    /// - Throws: `PostgresError`, ``LastingConflict``; then some of it may be written, and repeating it changes nothing.
    func fulfill(_ verdicts: [VerdictMessage]) async throws {
        for part in Self.commits(of: verdicts, transactionsMaximum: Self.transactionsPerCommit) {
            let start = ContinuousClock.now
            let catalogue = try await catalogues.current()
            let fulfilled = try await commit(part, by: catalogue)
            doubtful.note(fulfilled.decided, by: catalogue)
            count(fulfilled, verdicts: part.count, since: start)
            notifications.tell(fulfilled.notifications)
            await announce.announce(events: fulfilled.events, settlements: fulfilled.settlements)
        }
    }

    private func commit(_ verdicts: [VerdictMessage], by catalogue: Catalogue) async throws -> Fulfilled {
        let takesUp = verdicts.contains { !$0.rescindedConsents.isEmpty }
        do {
            return try await commit(verdicts, by: catalogue, takesUp: takesUp)
        } catch is RescindConsents.MustTakeUp {
            return try await commit(verdicts, by: catalogue, takesUp: true)
        }
    }

    private func commit(
        _ verdicts: [VerdictMessage], by catalogue: Catalogue, takesUp: Bool
    ) async throws -> Fulfilled {
        do {
            return try await pool.withTransaction(attempts: Self.attemptsMaximum) { connection in
                try await fulfill(verdicts, by: catalogue, takesUp: takesUp, on: connection)
            }
        } catch let error as PostgresError where error.sqlState == LastingConflict.sqlState {
            throw LastingConflict(error: error)
        }
    }

    private typealias Fulfilled = (
        decided: Decided, events: [EventStore.StoredEvent], settlements: [SubmissionStore.Settled],
        notifications: RecordNotifications.Recorded
    )

    // The steps are in the order of locks, which the README of Persistence tells.
    private func fulfill(
        _ verdicts: [VerdictMessage], by catalogue: Catalogue, takesUp: Bool, on connection: PostgresConnection
    ) async throws -> Fulfilled {
        try await ConsentStore.lock(takesUp: takesUp, on: connection)
        let (judged, deferredIds) = try await load.judged(verdicts, on: connection)
        let loaded = try await load.locked(judged, by: catalogue, on: connection)
        let decided = DecideBatch.decide(loaded)
        var drafts = try await write.changes(decided, of: loaded, on: connection)
        drafts += try await consents.rescind(judged, decided, of: loaded, takesUp: takesUp, on: connection)
        drafts += try await subscriptions.update(
            decided.lineages,
            renewals: judged.flatMap { judged in
                judged.verdict.renewals.map {
                    ($0.resolved(by: loaded.members, app: judged.app), judged.verdict.correlationId)
                }
            },
            silent: decided.silentLineages, on: connection)
        drafts += try await RecoveryDrafts.drafts(of: decided, in: judged, on: connection)
        let events = try await EventStore.write(drafts, lease: eventLease, on: connection)
        let recorded = try await notifications.record(judged, decided, on: connection)
        try await calls.queue(decided, on: connection)
        try await doubts.ask(decided, of: loaded, on: connection)
        try await values.note(judged, on: connection)
        // Apple did not know these ids when somebody posted them; now there is an order.
        try await SubmissionStore.reopen(naming: decided.appeared, on: connection)
        let settlements = try await submissions.settle(judged, decided, on: connection)
        try await SubmissionStore.eraseProofs(of: loaded.voided.sorted(), on: connection)
        try await SubmissionStore.sendLater(deferredIds, after: Self.deferral, on: connection)
        return (decided, events, settlements, recorded)
    }

    private func count(_ fulfilled: Fulfilled, verdicts: Int, since start: ContinuousClock.Instant) {
        Counter(label: "countersign_orders_granted_total").increment(by: fulfilled.decided.grantedCount)
        Counter(label: "countersign_orders_granted_elsewhere_total").increment(
            by: fulfilled.decided.grantedElsewhereCount)
        Counter(label: "countersign_orders_claimed_total").increment(by: fulfilled.decided.claimedCount)
        RecoveryDrafts.count(fulfilled.events)
        // Counted by the batch: a counter is looked up by its labels each time.
        let counts = Dictionary(grouping: fulfilled.settlements) { settlement in
            let outcome = settlement.message.outcome
            return [outcome.state.rawValue, outcome.reason?.rawValue ?? ""]
        }
        for (labels, settlements) in counts {
            Counter(
                label: "countersign_submissions_settled_total",
                dimensions: [("state", labels[0]), ("reason", labels[1])]
            ).increment(by: settlements.count)
        }
        Recorder(label: "countersign_fulfillment_batch_size").record(verdicts)
        Metrics.Timer(label: "countersign_fulfillment_batch_seconds").record(duration: ContinuousClock.now - start)
    }
}

/// That a batch met at every attempt what another transaction seemed to have recorded: it may be its own messages that do.
///
/// It is no failure that passes: each message goes on alone, and one that still meets it goes to the dead letters, lest its
/// partition stop.
struct LastingConflict: Error, CustomStringConvertible {
    /// That of a purchase that is there already, and of a lineage that became another.
    static let sqlState = "40001"

    let error: PostgresError

    var description: String { "at \(FulfillVerdicts.attemptsMaximum) attempts: \(error)" }
}

extension FulfillVerdicts {
    /// Cuts a batch into commits, in its order; two accounts that claim the same lineage are never in one.
    ///
    /// Who claims what another has just claimed is a restore: it is decided after the first has been granted, in a commit of its
    /// own, so that it does not matter which verdicts came in one batch.
    static func commits(of verdicts: [VerdictMessage], transactionsMaximum: Int) -> [[VerdictMessage]] {
        var parts: [[VerdictMessage]] = []
        var room = 0
        var claimants: [LineageKey: String] = [:]
        for verdict in verdicts {
            var count = 0
            if case .genuine(let transactions) = verdict.verdict { count = transactions.count }
            let (poster, keys) = (verdict.account, claimedLineages(of: verdict))
            let areFree = keys.allSatisfy { claimants[$0, default: poster].utf8.elementsEqual(poster.utf8) }
            if !areFree || parts.isEmpty || count > room {
                parts.append([])
                room = transactionsMaximum
                claimants = [:]
            }
            for key in keys { claimants[key] = poster }
            parts[parts.count - 1].append(verdict)
            room -= count
        }
        return parts
    }

    private static func claimedLineages(of verdict: VerdictMessage) -> [LineageKey] {
        guard verdict.poster != nil, case .genuine(let transactions) = verdict.verdict else { return [] }
        return transactions.flatMap { transaction -> [LineageKey] in
            guard let environment = transaction.environment, transaction.productType != .consumable,
                verdict.claims.contains(transaction.transactionId)
            else { return [] }
            return [transaction.originalTransactionId, transaction.previousOriginalTransactionId].compactMap(\.self)
                .map { LineageKey(environment: environment, originalTransactionId: $0) }
        }
    }
}
