import Foundation
import Messages
import Persistence

/// Publishes after the commit: events for everyone, and hints for the callers who wait.
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
        messages += events.map { event in
            let event = CloudEvent(
                id: event.id, type: event.type, source: Self.source, time: now, subject: event.id,
                traceParent: event.traceParent, key: event.partitionKey, data: Array(event.body.utf8))
            return (Topics.events, event)
        }
        guard !messages.isEmpty else { return }
        await publish(messages)
    }
}
