import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel

/// What is told of orders that nobody had told us of, and that the sweep found at Apple.
enum RecoveryDrafts {
    /// One event for each order that is new, or that Apple took back or gave back; beside those that tell what came of it.
    ///
    /// - Throws: `PostgresError`.
    static func drafts(
        of decided: Decided, in verdicts: [Judged], on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        // Nobody posts what is recovered: a batch of players' purchases asks nothing.
        let posted = verdicts.filter { $0.poster == nil }.map(\.verdict.submissionId)
        let sources = try await RecoveryStore.sources(of: Array(Set(posted)), on: connection)
        guard !sources.isEmpty else { return [] }
        return decided.transitions.compactMap { transition in
            // What an older system granted, or took back, is no news to the studio.
            guard !transition.isSilent, isNews(transition), let source = sources[transition.submissionId] else {
                return nil
            }
            return EventDraft(
                type: PurchaseEvent.recovered, environment: transition.key.environment,
                app: transition.transaction.bundleId, account: transition.account,
                correlationId: transition.correlationId,
                payload: PurchaseEvent.Payload(
                    transaction: transition.transaction, state: transition.state, reason: transition.reason,
                    isGrantedElsewhere: transition.isGrantedElsewhere, recoveredBy: source))
        }
    }

    /// Counts what is committed.
    static func count(_ events: [EventStore.StoredEvent]) {
        let recovered = events.count { $0.type == PurchaseEvent.recovered }
        if recovered > 0 { Counter(label: "countersign_purchases_recovered_total").increment(by: recovered) }
    }

    private static func isNews(_ transition: OrderTransition) -> Bool {
        guard transition.before != nil else { return true }
        switch transition.change {
        case .decided: return transition.isDecidedAnew
        case .revoked, .revokedOtherwise, .reinstated: return true
        case .restated: return transition.movedEnd != nil
        }
    }
}
