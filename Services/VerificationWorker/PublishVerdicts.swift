import EventProcessing
import Messages
import PurchaseModel

/// Sends verdicts to fulfillment; returns when the broker has them all, so that offsets may be committed.
struct PublishVerdicts: Sendable {
    let publisher: EventPublisher

    func publish(_ verdicts: [VerdictMessage]) async throws {
        try await publisher.publishOrThrow(
            verdicts.map { verdict in
                let event = publisher.event(
                    id: verdict.submissionId, type: VerdictMessage.type, subject: verdict.submissionId,
                    key: key(of: verdict), data: try MessageCoding.encode(verdict))
                return (topic: Topics.verdicts, event: event)
            })
    }

    /// The lineage, so that everything about one subscription is settled by one process after another.
    private func key(of verdict: VerdictMessage) -> String {
        if case .genuine(let transactions) = verdict.verdict, let first = transactions.first {
            return first.originalTransactionId
        }
        return verdict.submissionId
    }
}
