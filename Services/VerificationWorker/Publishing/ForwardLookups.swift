import EventProcessing
import Messages

/// Hands over what only Apple's servers can settle; returns when the broker has it all.
struct ForwardLookups: Sendable {
    let publisher: EventPublisher

    /// - Parameter received: as they came; a proof that is in the database stays there.
    func forward(_ received: [Received<SubmissionMessage>]) async throws {
        try await publisher.publishOrThrow(
            received.map { received in
                let event = publisher.event(
                    id: received.message.submissionId, type: SubmissionMessage.type,
                    subject: received.message.submissionId, correlationId: received.message.correlationId,
                    key: received.event.key,
                    data: try MessageCoding.encode(received.message))
                return (topic: Topics.lookups, event: event)
            })
    }
}
