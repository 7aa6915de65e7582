import EventProcessing
import Messages

/// Hands over what only Apple's servers can settle; returns when the broker has it all.
struct ForwardLookups: Sendable {
    let publisher: EventPublisher

    /// - Parameter received: as they came; a proof that is in the database stays there.
    func forward(_ received: [Received<SubmissionMessage>]) async throws {
        try await publisher.publishOrThrow(
            received.map { received in
                (topic: Topics.lookups, event: publisher.event(received.message, key: received.event.key))
            })
    }
}
