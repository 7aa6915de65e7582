public import Logging
public import ServiceLifecycle

/// Sends messages, idempotent and acknowledged by all in-sync replicas.
///
/// It works as soon as it is made. As a service it waits for the graceful shutdown, and then flushes and closes; list
/// it before the services that send, so that it stops after them. A supervisor replaces the client inside when the
/// broker answers and still acknowledges nothing, as one that came back without its data does.
///
/// Messages of one `send` to one partition keep their order. Sending again what failed may make a duplicate.
public final class KafkaProducer: Service {
    private let supervisor: ProducerSupervisor

    /// Makes the client and its thread; connecting goes on behind.
    ///
    /// Throws `.configuration` and `.unsupportedLibrary`. A cluster that is down is no error.
    public init(
        configuration: KafkaConfiguration, settings: KafkaProducerSettings = KafkaProducerSettings(), logger: Logger
    ) throws(KafkaError) {
        supervisor = try ProducerSupervisor(configuration: configuration, settings: settings, logger: logger)
    }

    deinit {
        // Nothing blocks here: the client's own thread ends it.
        supervisor.beginClose(flushTimeout: .zero)
    }

    /// Sends a message and waits for its acknowledgement, at most about `messageTimeout`.
    ///
    /// Throws `.timedOut`, `.queueFull`, `.closed`, `.abandoned`, `.unknownTopic`, `.messageTooLarge`,
    /// `.invalidMessage`, `.rejected` and others. A cancelled task waits as well: a message that was handed over
    /// cannot be taken back.
    public func send(_ message: KafkaMessage) async throws(KafkaError) -> KafkaDelivery {
        guard let result = await send([message]).first else { throw KafkaError.closedClient }
        return try result.get()
    }

    /// Sends messages and waits once for all of them: the results are in the order of the messages.
    ///
    /// What does not fit into the queue (`queueMessagesMaximum`, `queueKibibytesMaximum`) fails with `.queueFull`.
    public func send(_ messages: [KafkaMessage]) async -> [Result<KafkaDelivery, KafkaError>] {
        guard !messages.isEmpty else { return [] }
        guard messages.count <= DeliveryRegistry.sendMessagesMaximum else {
            let error = KafkaError(.queueFull, "more than \(DeliveryRegistry.sendMessagesMaximum) messages in one send")
            return messages.map { _ in .failure(error) }
        }
        guard let client = supervisor.enter() else {
            return messages.map { _ in .failure(KafkaError.closedClient) }
        }
        return await withCheckedContinuation { continuation in
            client.enqueue(messages, continuation)
            client.leave()
        }
    }

    /// Waits for the graceful shutdown, or for cancellation, and closes.
    public func run() async throws {
        try? await gracefulShutdown()
        await close()
    }

    /// Takes no more messages, waits for the outstanding ones up to `flushTimeout`, and ends the client.
    ///
    /// Returns when it has ended, at the latest after `flushTimeout` and `closeTimeout`. Calling it again is fine.
    public func close() async {
        let settings = supervisor.settings
        let deadline = ContinuousClock.now + settings.flushTimeout + settings.closeTimeout
        for client in supervisor.beginClose(flushTimeout: settings.flushTimeout) {
            await client.ended.wait(atMost: ContinuousClock.now.duration(to: deadline))
        }
    }

    /// How often the supervisor replaced the client.
    public var replacements: Int { supervisor.statistics.replacements }

    /// The worst error that lasts and does not pass by itself: not authorised, not authenticated, no such topic.
    public var trouble: KafkaTrouble? { supervisor.trouble }

    /// The numbers of now, for metrics.
    public var statistics: KafkaProducerStatistics { supervisor.statistics }
}
