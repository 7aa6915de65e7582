import Foundation
import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel

/// The use case: a batch of verdicts becomes orders, grants, events and outcomes in one database transaction.
struct SettleVerdicts: Sendable {
    let pool: PostgresPool
    let catalogue: Catalogue
    let recorder: OrderRecorder
    let backOff: BackOff
    let announce: AnnounceOutcomes

    /// Returns when everything is committed; what was published by then is a hint and a head start.
    ///
    /// - Throws: `PostgresError`; then nothing is written, or all of it is and repeating it changes nothing.
    func settle(_ verdicts: [VerdictMessage]) async throws {
        let start = ContinuousClock.now
        let result = try await pool.withTransaction { connection in
            try await write(verdicts, on: connection)
        }
        count(result, verdicts: verdicts.count, since: start)
        await announce.announce(events: result.events, settlements: result.settlements)
    }

    private struct Written: Sendable {
        var events: [EventStore.StoredEvent]
        var settlements: [SettlementMessage]
        var granted: Int
    }

    private func write(_ verdicts: [VerdictMessage], on connection: PostgresConnection) async throws -> Written {
        let candidates = try await candidates(verdicts, on: connection)
        let new = try await OrderStore.insert(candidates, on: connection)
        let fresh = candidates.filter { new.contains($0.key) }
        let events = try await recorder.record(
            fresh.map {
                OrderRecorder.Recorded(
                    key: $0.key, transaction: $0.transaction, decision: $0.decision, correlationId: $0.correlationId)
            }, on: connection)
        var standings = try await OrderStore.standings(
            of: candidates.map(\.key).filter { !new.contains($0) }, on: connection)
        for order in fresh {
            standings[order.key] = OrderStore.Standing(
                state: order.decision.state, reason: order.decision.reason, account: order.decision.account)
        }
        let settlements = outcomes(of: verdicts, standings: standings)
        try await SubmissionStore.settle(settlements.map { ($0.submissionId, $0.outcome) }, on: connection)
        try await OrderStore.link(parkedLinks(settlements), on: connection)
        try await SubmissionStore.putOff(delays(verdicts), on: connection)
        return Written(
            events: events, settlements: settlements,
            granted: fresh.count { $0.decision.state == .granted })
    }

    /// An order for each transaction of the batch, decided; the first submission of a transaction is its claim.
    private func candidates(
        _ verdicts: [VerdictMessage], on connection: PostgresConnection
    ) async throws -> [OrderStore.NewOrder] {
        let tokens = verdicts.flatMap { verdict -> [(app: String, token: UUID)] in
            guard case .genuine(let transactions) = verdict.verdict else { return [] }
            return transactions.compactMap { transaction in
                transaction.appAccountToken.map { (app: transaction.bundleId, token: $0) }
            }
        }
        let owners = try await AccountTokenStore.accounts(of: tokens, on: connection)
        var seen: Set<OrderKey> = []
        var orders: [OrderStore.NewOrder] = []
        for verdict in verdicts {
            guard case .genuine(let transactions) = verdict.verdict else { continue }
            for transaction in transactions {
                guard let environment = transaction.environment else { continue }
                let key = OrderKey(environment: environment, transactionId: transaction.transactionId)
                guard seen.insert(key).inserted else { continue }
                let decision = OrderDecision.decide(
                    transaction, poster: verdict.account, tokenOwner: TokenOwner(transaction, owners: owners),
                    product: catalogue.product(app: transaction.bundleId, id: transaction.productId))
                orders.append(
                    OrderStore.NewOrder(
                        environment: environment, transaction: transaction, decision: decision,
                        submissionId: verdict.submissionId, correlationId: verdict.correlationId))
            }
        }
        return orders
    }

    private func outcomes(
        of verdicts: [VerdictMessage], standings: [OrderKey: OrderStore.Standing]
    ) -> [SettlementMessage] {
        var settled: Set<String> = []
        return verdicts.compactMap { verdict in
            let outcome: SubmissionOutcome
            switch verdict.verdict {
            case .genuine(let transactions):
                outcome = SubmissionOutcomes.genuine(transactions, standings: standings, poster: verdict.account)
            case .rejected(let reason, let detail):
                outcome = SubmissionOutcome(state: .rejected, finish: false, reason: reason, detail: detail)
            case .unknown:
                return nil
            }
            guard settled.insert(verdict.submissionId).inserted else { return nil }
            return SettlementMessage(submissionId: verdict.submissionId, outcome: outcome)
        }
    }

    /// Parked submissions are tied to their orders, so that they hear of a later grant.
    private func parkedLinks(_ settlements: [SettlementMessage]) -> [(key: OrderKey, submissionId: String)] {
        settlements.filter { $0.outcome.state == .parked }.flatMap { settlement in
            settlement.outcome.transactions.compactMap { transaction in
                transaction.environment.map {
                    (OrderKey(environment: $0, transactionId: transaction.transactionId), settlement.submissionId)
                }
            }
        }
    }

    private func delays(_ verdicts: [VerdictMessage]) -> [(id: String, reason: ReasonCode, delay: Duration)] {
        var generator = SystemRandomNumberGenerator()
        return verdicts.compactMap { verdict in
            guard case .unknown(let reason, let retryAfter) = verdict.verdict else { return nil }
            let delay = backOff.delay(
                retryAfterSeconds: retryAfter, attempt: verdict.attempt, using: &generator)
            return (verdict.submissionId, reason, delay)
        }
    }

    private func count(_ written: Written, verdicts: Int, since start: ContinuousClock.Instant) {
        Counter(label: "countersign_orders_granted_total").increment(by: written.granted)
        for settlement in written.settlements {
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

extension TokenOwner {
    /// Whose a transaction is by its token, from the tokens that are registered.
    init(_ transaction: PurchasedTransaction, owners: [AppToken: String]) {
        guard let token = transaction.appAccountToken else {
            self = .noToken
            return
        }
        if let account = owners[AppToken(app: transaction.bundleId, token: token)] {
            self = .account(account)
        } else {
            self = .unknown
        }
    }
}
