import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Gives submissions their outcomes, puts off those that have none, and tells those that wait for an order.
struct SettleSubmissions: Sendable {
    let backOff: BackOff

    /// Writes, after the orders were written in the same transaction.
    ///
    /// - Parameters:
    ///   - standings: how every order of the verdicts stands; none of them changes until the transaction's end.
    ///   - known: the orders of the verdicts that were there before: their story names these submissions, too.
    ///   - changed: orders that other submissions may have waited for.
    /// - Returns: what is to be told after the commit.
    /// - Throws: `PostgresError`.
    func settle(
        _ verdicts: [VerdictMessage], standings: [OrderKey: OrderStore.Standing], known: Set<OrderKey> = [],
        changed: [OrderKey], on connection: PostgresConnection
    ) async throws -> [SettlementMessage] {
        let (settlements, links) = outcomes(of: verdicts, standings: standings)
        let delays = delays(verdicts)
        let own = Set(settlements.map(\.submissionId))
        let others = try await hear(
            of: changed, besides: own, locking: own.union(delays.map(\.id)), on: connection)
        let all = settlements + others
        try await SubmissionStore.settle(all.map { ($0.submissionId, $0.outcome) }, on: connection)
        try await OrderStore.link(links + namings(of: known, in: verdicts), on: connection)
        try await SubmissionStore.putOff(delays, on: connection)
        return all
    }

    /// The submissions that wait for these orders, with what they are told now.
    ///
    /// - Parameters:
    ///   - own: submissions that have their outcome already.
    ///   - ids: what the caller is going to write; locked together with the others, in one order.
    /// - Throws: `PostgresError`.
    func hear(
        of changed: [OrderKey], besides own: Set<String> = [], locking ids: Set<String> = [],
        on connection: PostgresConnection
    ) async throws -> [SettlementMessage] {
        let waiting = try await WaitingSubmissionStore.ids(waitingFor: changed, on: connection).subtracting(own)
        let locked = try await WaitingSubmissionStore.lock(ids, waiting: waiting, on: connection)
        guard !locked.isEmpty else { return [] }
        let awaited = try await WaitingSubmissionStore.awaited(by: locked, on: connection)
        // Read after the lock: whoever decided one of these orders meanwhile has committed, or waits for us.
        let standings = try await OrderStore.standings(
            of: Array(Set(locked.flatMap { $0.outcome.transactions.compactMap(\.key) })), on: connection)
        return locked.compactMap { submission in
            let outcome = SubmissionOutcomes.again(
                submission, awaited: awaited[submission.id] ?? [], standings: standings)
            guard outcome != submission.outcome else { return nil }
            return SettlementMessage(submissionId: submission.id, outcome: outcome)
        }
    }

    /// The outcomes, and which orders the parked ones wait for; parts that are not the last settle nothing.
    private func outcomes(
        of verdicts: [VerdictMessage], standings: [OrderKey: OrderStore.Standing]
    ) -> (settlements: [SettlementMessage], links: [(key: OrderKey, submissionId: String)]) {
        var settlements: [SettlementMessage] = []
        var links: [(key: OrderKey, submissionId: String)] = []
        var settled: Set<String> = []
        for verdict in verdicts where !verdict.isPartial {
            let outcome: SubmissionOutcome
            switch verdict.verdict {
            case .genuine(let transactions):
                outcome = SubmissionOutcomes.genuine(transactions, of: verdict, standings: standings)
            case .rejected(let reason, let detail):
                outcome = SubmissionOutcome(state: .rejected, finish: false, reason: reason, detail: detail)
            case .unknown:
                continue
            }
            guard settled.insert(verdict.submissionId).inserted else { continue }
            settlements.append(SettlementMessage(submissionId: verdict.submissionId, outcome: outcome))
            links += SubmissionOutcomes.awaited(outcome, of: verdict).map { ($0, verdict.submissionId) }
        }
        return (settlements, links)
    }

    /// Which verdicts claim orders that were there before, or are Apple's own word of them: a refund, another end.
    private func namings(
        of known: Set<OrderKey>, in verdicts: [VerdictMessage]
    ) -> [(key: OrderKey, submissionId: String)] {
        guard !known.isEmpty else { return [] }
        return verdicts.flatMap { verdict -> [(key: OrderKey, submissionId: String)] in
            guard case .genuine(let transactions) = verdict.verdict else { return [] }
            // Apple claims nothing, and means all that its notification holds.
            let claims = verdict.notification == nil ? verdict.claims.map { Set($0) } : nil
            return transactions.compactMap { transaction in
                guard let environment = transaction.environment, claims?.contains(transaction.transactionId) ?? true
                else { return nil }
                let key = OrderKey(environment: environment, transactionId: transaction.transactionId)
                return known.contains(key) ? (key, verdict.submissionId) : nil
            }
        }
    }

    private func delays(_ verdicts: [VerdictMessage]) -> [(id: String, reason: ReasonCode, delay: Duration)] {
        var generator = SystemRandomNumberGenerator()
        var seen: Set<String> = []
        return verdicts.compactMap { verdict in
            guard case .unknown(let reason, let retryAfter) = verdict.verdict, !verdict.isPartial,
                seen.insert(verdict.submissionId).inserted
            else { return nil }
            let delay = backOff.delay(
                for: reason, retryAfterSeconds: retryAfter, attempt: verdict.attempt, using: &generator)
            return (verdict.submissionId, reason, delay)
        }
    }
}
