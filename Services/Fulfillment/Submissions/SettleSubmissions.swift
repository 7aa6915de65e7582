import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Gives submissions their outcomes, puts off those that have none, and tells those that wait for an order.
struct SettleSubmissions: Sendable {
    let backOff: BackOff

    /// Writes, after the orders were written in the same transaction of the database.
    ///
    /// - Returns: what is to be told after the commit.
    /// - Throws: `PostgresError`.
    func settle(
        _ verdicts: [Judged], _ decided: Decided, on connection: PostgresConnection
    ) async throws -> [SubmissionStore.Settled] {
        let parts = try await parkedParts(of: verdicts, decided.summaries, on: connection)
        let (settlements, links) = outcomes(of: verdicts, decided.summaries, parts.now)
        let delays = delays(verdicts.map(\.verdict))
        let own = Set(settlements.map(\.submissionId))
        let others = try await announce(
            changed: decided.changed, besides: own, locking: own.union(delays.map(\.id)), on: connection)
        let settled = try await SubmissionStore.settle(settlements + others, on: connection)
        try await WaitingSubmissionStore.link(links + namings(of: decided, in: verdicts), on: connection)
        try await SubmissionStore.note(parkedParts: parts.new, on: connection)
        try await SubmissionStore.putOff(delays, on: connection)
        return settled
    }

    /// What parts of receipts leave parked: of this batch, and of what came before the last parts that are in it, as it stands
    /// now.
    private func parkedParts(
        of verdicts: [Judged], _ summaries: [OrderKey: OrderSummary], on connection: PostgresConnection
    ) async throws -> (new: [String: [TransactionOutcome]], now: [String: [TransactionOutcome]]) {
        var new: [String: [TransactionOutcome]] = [:]
        for judged in verdicts where judged.verdict.isPartial {
            new[judged.verdict.submissionId, default: []] += SubmissionOutcomes.parked(judged, summaries)
        }
        let waiting = verdicts.filter { !$0.verdict.isPartial && !$0.parkedParts.isEmpty }.compactMap { judged in
            judged.poster.map { poster in
                WaitingSubmissionStore.Waiting(
                    id: judged.verdict.submissionId, account: poster,
                    outcome: SubmissionOutcome(state: .parked, finish: true, transactions: judged.parkedParts))
            }
        }
        let orders = try await WaitingSubmissionStore.orders(of: waiting, changed: [], on: connection)
        var now = new
        for submission in waiting {
            now[submission.id, default: []] += SubmissionOutcomes.stillParked(
                submission, orders: orders[submission.id] ?? [])
        }
        return (new, now)
    }

    /// The submissions that wait for these orders, with what they are told now.
    ///
    /// - Parameters:
    ///   - own: submissions that have their outcome already.
    ///   - ids: what the caller is going to write; locked together with the others, in one order.
    /// - Throws: `PostgresError`.
    func announce(
        changed: [OrderKey], besides own: Set<String> = [], locking ids: Set<String> = [],
        on connection: PostgresConnection
    ) async throws -> [SettlementMessage] {
        let waiting = try await WaitingSubmissionStore.ids(waitingFor: changed, on: connection).subtracting(own)
        guard !waiting.isEmpty else { return [] }
        let locked = try await WaitingSubmissionStore.lock(ids, waiting: waiting, on: connection)
        guard !locked.isEmpty else { return [] }
        // Read after the lock: whoever decided one of these orders meanwhile has committed, or waits for us.
        let orders = try await WaitingSubmissionStore.orders(of: locked, changed: changed, on: connection)
        return locked.compactMap { submission in
            let outcome = SubmissionOutcomes.again(submission, orders: orders[submission.id] ?? [])
            guard outcome != submission.outcome else { return nil }
            return SettlementMessage(submissionId: submission.id, outcome: outcome)
        }
    }

    /// The outcomes, and which orders the parked ones wait for; parts that are not the last settle nothing.
    private func outcomes(
        of verdicts: [Judged], _ summaries: [OrderKey: OrderSummary], _ parts: [String: [TransactionOutcome]]
    ) -> (settlements: [SettlementMessage], links: [(key: OrderKey, submissionId: String)]) {
        var settlements: [SettlementMessage] = []
        var links: [(key: OrderKey, submissionId: String)] = []
        var settled: Set<String> = []
        for judged in verdicts where !judged.verdict.isPartial {
            let verdict = judged.verdict
            let outcome: SubmissionOutcome
            switch verdict.verdict {
            case .genuine(let transactions):
                outcome = SubmissionOutcomes.whole(
                    SubmissionOutcomes.genuine(transactions, of: judged, summaries),
                    parked: parts[verdict.submissionId] ?? [])
            case .rejected(let reason, let detail):
                outcome = SubmissionOutcome(state: .rejected, finish: false, reason: reason, detail: detail)
            case .unknown:
                continue
            }
            guard settled.insert(verdict.submissionId).inserted else { continue }
            settlements.append(SettlementMessage(submissionId: verdict.submissionId, outcome: outcome))
            guard outcome.state == .parked else { continue }
            links += SubmissionOutcomes.awaited(outcome, of: judged, summaries).map { ($0, verdict.submissionId) }
        }
        // Those of parts are awaited from then on, since the last part may be settled by another process.
        for judged in verdicts where judged.verdict.isPartial {
            let parked = SubmissionOutcomes.parked(judged, summaries)
            links += parked.compactMap { summaries[$0.key]?.key }.map { ($0, judged.verdict.submissionId) }
        }
        return (settlements, links)
    }

    /// Which verdicts claim orders that were there before, or are Apple's own statements of them: a refund, another end.
    private func namings(of decided: Decided, in verdicts: [Judged]) -> [(key: OrderKey, submissionId: String)] {
        guard !decided.known.isEmpty else { return [] }
        return verdicts.flatMap { judged -> [(key: OrderKey, submissionId: String)] in
            // Apple claims nothing, and means all that its notification holds.
            let verdict = judged.verdict
            let claims = verdict.notification == nil ? verdict.claims : .all
            return judged.transactions.compactMap { transaction in
                guard claims.contains(transaction.transactionId),
                    let order = decided.summaries[transaction.orderKey]?.key, decided.known.contains(order)
                else { return nil }
                return (order, verdict.submissionId)
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

/// How long a submission of unknown verdict is put off.
///
/// Most reasons double from the verifier's word, since nobody knows when the trouble ends. Where Apple says when to come
/// back, or a breaker probes whether it is there again, doubling would only add waiting: those come back at that time,
/// a little later by chance, and never before.
struct BackOff: Sendable {
    /// Where doubling ends.
    let delayMaximum: Duration

    /// Reasons whose time is Apple's word, or the breaker's.
    static let pacedReasons: Set<ReasonCode> = [.rateLimited, .appStoreUnavailable]

    /// A doubled delay is drawn from this share to all of it, so that what failed together comes back apart.
    private static let jitterShare = 0.5
    /// A paced delay grows by at most this share of itself, and by a second where that is more.
    private static let pacedJitterShare = 0.2
    private static let pacedJitterSeconds = 1.0
    /// Beyond it doubling would overflow long after the maximum was reached.
    private static let doublingsMaximum = 20
    /// The longest word that is believed: a week.
    private static let retryAfterSecondsMaximum = 604_800.0

    /// The delay before the next attempt.
    ///
    /// - Parameters:
    ///   - reason: why nothing is known.
    ///   - retryAfterSeconds: the verifier's word, the least that the delay may be.
    ///   - attempt: attempts made before, from 0.
    ///   - generator: where the chance comes from.
    func delay(
        for reason: ReasonCode, retryAfterSeconds: Double, attempt: Int,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        // In this order nonsense (NaN) becomes a second.
        let base = min(max(1, retryAfterSeconds), Self.retryAfterSecondsMaximum)
        let delay =
            Self.pacedReasons.contains(reason)
            ? paced(base, using: &generator) : doubled(base, attempt: attempt, using: &generator)
        // Rounded up, so that the word is kept to the millisecond.
        return .milliseconds(Int64((delay * 1000).rounded(.up)))
    }

    private func paced(_ base: Double, using generator: inout some RandomNumberGenerator) -> Double {
        let jitter = max(Self.pacedJitterSeconds, base * Self.pacedJitterShare)
        return base + Double.random(in: 0...jitter, using: &generator)
    }

    private func doubled(_ base: Double, attempt: Int, using generator: inout some RandomNumberGenerator) -> Double {
        var doubled = base
        for _ in 0..<min(max(0, attempt), Self.doublingsMaximum) { doubled *= 2 }
        let delay = min(doubled, max(Double(delayMaximum.components.seconds), base))
        return max(base, delay * Double.random(in: Self.jitterShare...1, using: &generator))
    }
}

/// Publishes after the commit: events for notification, and hints for the callers who wait.
struct AnnounceOutcomes: Sendable {
    /// Sends to topics; what does not arrive is due in the database (events), or found there (outcomes).
    let publish: @Sendable (_ messages: [(topic: String, event: CloudEvent)]) async -> Void

    private static let source = "fulfillment"

    func announce(events: [EventStore.StoredEvent], settlements: [SubmissionStore.Settled]) async {
        let now = Date()
        var messages: [(topic: String, event: CloudEvent)] = settlements.map { settled in
            let id = settled.message.submissionId
            let event = CloudEvent(
                id: id, type: SettlementMessage.type, source: Self.source, time: now, subject: id, key: id,
                data: Array(settled.body.utf8))
            return (Topics.settlements, event)
        }
        messages += events.map { (Topics.deliveries, Self.message($0, at: now)) }
        guard !messages.isEmpty else { return }
        await publish(messages)
    }

    /// An event as it is published at a time.
    static func message(_ event: EventStore.StoredEvent, at time: Date) -> CloudEvent {
        CloudEvent(
            id: event.id, type: event.type, source: source, time: time, subject: event.id,
            traceParent: event.traceParent, key: event.partitionKey, data: Array(event.body.utf8))
    }
}
