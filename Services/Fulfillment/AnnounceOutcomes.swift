import EventProcessing
import Messages
import Persistence

/// Publishes after the commit: events for everyone, and hints for the callers who wait.
struct AnnounceOutcomes: Sendable {
    let publisher: EventPublisher

    /// Publishes; what does not arrive is due in the database (events) or found there (outcomes).
    func announce(
        events: [EventStore.StoredEvent], settlements: [SettlementMessage]
    ) async {
        var messages: [(topic: String, event: CloudEvent)] = settlements.compactMap { settlement in
            guard let data = try? MessageCoding.encode(settlement) else { return nil }
            let event = publisher.event(
                id: settlement.submissionId, type: SettlementMessage.type, subject: settlement.submissionId,
                key: settlement.submissionId, data: data)
            return (Topics.events, event)
        }
        messages += events.map { event in
            (
                Topics.events,
                publisher.event(
                    id: event.id, type: event.type, subject: event.id, key: event.partitionKey,
                    data: Array(event.body.utf8))
            )
        }
        _ = await publisher.publish(messages)
    }
}
