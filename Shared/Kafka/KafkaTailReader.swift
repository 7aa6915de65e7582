import BlockingThreads
public import Logging
public import ServiceLifecycle

/// Reads what is new in a topic, all partitions, without a group and without committing anything.
///
/// Every reader sees every record. It begins at the end, and goes on through outages; when a broker comes back without
/// its data, everything in it counts as new. It promises less than a consumer: what comes while the process is down is
/// not read, and a batch whose handler is cut off by a shutdown does not come again.
public final class KafkaTailReader: Service {
    /// What is called with records; several calls never overlap.
    public typealias Handler = @Sendable (_ records: [KafkaRecord]) async -> Void

    private let hub: ConsumerHub
    private let thread: BlockingThreadHandle
    private let ready: OneShotSignal
    private let ended = OneShotSignal()
    private let settings: KafkaConsumerSettings
    private let handler: Handler

    /// Makes the client; it begins to read when `run()` begins.
    ///
    /// Throws `.configuration` and `.unsupportedLibrary`. A cluster that is down or a topic that does not exist is no
    /// error: the reader goes on trying.
    ///
    /// - Parameter fetchWaitMaximum: see `KafkaConsumerSettings`; its default when nil.
    public init(
        configuration: KafkaConfiguration, topic: String, fetchWaitMaximum: Duration? = nil, logger: Logger,
        handler: @escaping Handler
    ) throws(KafkaError) {
        // librdkafka reads partitions only as a consumer of some group; this one is never joined.
        var settings = KafkaConsumerSettings(groupId: "\(configuration.clientId)-tail", topics: [topic])
        if let fetchWaitMaximum { settings.fetchWaitMaximum = fetchWaitMaximum }
        let closeTimeout = settings.closeTimeout
        try settings.validate()
        let hub = try ConsumerHub(settings: settings)
        let client = try ConsumerClient(
            configuration: configuration, role: settings.properties, separatesRecords: false, wakes: hub.pipe)
        let ready = OneShotSignal()
        let ended = self.ended
        self.hub = hub
        self.ready = ready
        self.settings = settings
        self.handler = handler
        thread = BlockingThread.start(name: "kafka-tail") {
            TailReaderThread(
                client: client, hub: hub, topic: topic, ready: ready, configuration: configuration, logger: logger
            ).run(closeTimeout: closeTimeout)
            // Nobody waits for a reader that ended.
            ready.set()
            ended.set()
        }
    }

    deinit {
        // Nothing blocks here: the reader's own thread ends it.
        hub.stop()
    }

    /// Reads and calls the handler until the graceful shutdown, cancellation or `close()`.
    ///
    /// Throws `.closed` when it was closed or run before.
    public func run() async throws {
        guard hub.begin() else { throw KafkaError.closedClient }
        let hub = self.hub
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                while let batch = await hub.next() {
                    await handler(batch.records)
                    hub.finish(batch)
                }
            } onGracefulShutdown: {
                hub.stop()
            }
        } onCancel: {
            hub.stop()
        }
        await close()
    }

    /// Waits until the reader knows the topic's ends: whatever is sent afterwards will be read.
    ///
    /// Also returns when the reader is closed.
    public func waitUntilReady() async {
        await ready.wait()
    }

    /// Stops reading, waits for the handler up to 10 s, and ends the client.
    ///
    /// Calling it again is fine.
    public func close() async {
        hub.stop()
        await ended.wait(atMost: settings.drainTimeout + settings.closeTimeout + .seconds(2))
    }

    /// What keeps it from reading and does not pass by itself; nil when nothing does.
    public var trouble: KafkaTrouble? { hub.progress.trouble }

    /// The numbers of now, for metrics; commits stay zero.
    public var statistics: KafkaConsumerStatistics { hub.statistics }
}
