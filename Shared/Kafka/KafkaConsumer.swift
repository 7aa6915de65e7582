import BlockingThreads
public import Logging
public import ServiceLifecycle

/// Reads topics as a member of a group, and commits a record only after the handler returned for it.
///
/// One call of the handler at a time gets what has come meanwhile, up to `batchRecordsMaximum` records, each
/// partition's in order. When it returns, everything in it must be durable: its offsets are committed. When it throws,
/// the same batch comes again after a while, as long as its partitions are ours; it is never skipped. With a
/// `batchesMaximum` above 1 so many calls may overlap.
///
/// A record can come more than once: after a crash, a rebalance that did not wait long enough, a broker that lost data.
public final class KafkaConsumer: Service {
    /// What is called with records; several calls overlap only with a `batchesMaximum` above 1.
    public typealias Handler = @Sendable (_ records: [KafkaRecord]) async throws -> Void

    private let hub: ConsumerHub
    private let thread: BlockingThreadHandle
    private let ended = OneShotSignal()
    private let settings: KafkaConsumerSettings
    private let logger: Logger
    private let handler: Handler

    /// Makes the client; it joins the group when `run()` begins.
    ///
    /// Throws `.configuration` and `.unsupportedLibrary`. A cluster that is down or a topic that does not exist is no
    /// error: the consumer goes on trying.
    public init(
        configuration: KafkaConfiguration, settings: KafkaConsumerSettings, logger: Logger,
        handler: @escaping Handler
    ) throws(KafkaError) {
        try settings.validate()
        let hub = try ConsumerHub(settings: settings)
        let client = try ConsumerClient(
            configuration: configuration, role: settings.properties, separatesRecords: true, wakes: hub.pipe)
        let ended = self.ended
        self.hub = hub
        self.settings = settings
        self.logger = logger
        self.handler = handler
        thread = BlockingThread.start(name: "kafka-consumer") {
            ConsumerThread(
                client: client, hub: hub, settings: settings, configuration: configuration, logger: logger
            ).run()
            ended.set()
        }
    }

    deinit {
        // Nothing blocks here: the consumer's own thread ends it.
        hub.stop()
    }

    /// Joins the group and calls the handler until the graceful shutdown, cancellation or `close()`, then leaves it.
    ///
    /// Throws `.closed` when it was closed or run before, and `.fatal` when the broker will not have this client again.
    public func run() async throws {
        guard hub.begin() else { throw KafkaError.closedClient }
        let hub = self.hub
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await withDiscardingTaskGroup { group in
                    for _ in 1..<settings.batchesMaximum { group.addTask { await self.handleBatches() } }
                    await handleBatches()
                }
            } onGracefulShutdown: {
                hub.stop()
            }
        } onCancel: {
            hub.stop()
        }
        await close()
        if let failure = hub.failure { throw failure }
    }

    private func handleBatches() async {
        while let batch = await hub.next() {
            do {
                try await handler(batch.records)
                hub.finish(batch)
            } catch {
                logger.debug(
                    "the handler failed and gets its batch again",
                    metadata: [
                        "kafka_records": "\(batch.records.count)", "kafka_failures": "\(batch.failures + 1)",
                    ])
                hub.fail(batch)
            }
        }
    }

    /// Stops taking records, waits for the handler up to `drainTimeout`, commits, and leaves the group.
    ///
    /// Returns when the client has ended, at the latest after `drainTimeout`, `commitTimeout` and `closeTimeout`. A
    /// handler that lasts longer goes on, and nothing of its batch is committed. Calling it again is fine.
    public func close() async {
        hub.stop()
        await ended.wait(
            atMost: settings.drainTimeout + settings.commitTimeout + settings.closeTimeout + .seconds(1))
    }

    /// Hands no more batches to the handler until `resume()`; the batch in hand is finished and committed as always.
    ///
    /// For times when a handler could only fail. The member stays in its group: heartbeats, rebalances and commits go on,
    /// and partitions that come meanwhile are paused, too. Up to `bufferRecordsMaximum` records and librdkafka's prefetch
    /// wait here, the rest at the broker, and nothing is lost or changes its order. Stopping and closing end a pause.
    /// It may be called before `run()`, and again; once `resume()` was called it is over, however often it was asked for.
    public func pause() { hub.pause() }

    /// Goes on after a pause with the record after the last one that was handed over; no effect without a pause.
    public func resume() { hub.resume() }

    /// Whether `pause()` was called and `resume()` not yet.
    public var isPaused: Bool { hub.isPaused }

    /// Whether the group has given us our partitions, which may be none when it has more members than partitions.
    public var isAssigned: Bool { hub.isAssigned }

    /// How far it is and what it is doing, for whoever judges whether it goes on.
    public var progress: KafkaConsumerProgress { hub.progress }

    /// Ends the client inside and makes another, which joins the group anew; for a client that is past help.
    ///
    /// Returns at once. The batch in hand is waited for up to `drainTimeout`, and what is handled is committed as before
    /// any revocation; whatever is finished later comes again. Leaving the group takes `closeTimeout` at most. Without
    /// `run()`, or while a replacement is under way, it has no effect.
    ///
    /// - Returns: whether a replacement began.
    @discardableResult
    public func replaceClient() -> Bool { hub.askForReplacement() }

    /// The numbers of now, for metrics.
    public var statistics: KafkaConsumerStatistics { hub.statistics }
}

extension KafkaConsumerSettings {
    /// Throws `.configuration` for limits that could not work.
    func validate() throws(KafkaError) {
        guard !groupId.isEmpty, !topics.isEmpty, !topics.contains("") else {
            throw KafkaError(.configuration, "a consumer needs a group and at least one topic")
        }
        guard batchesMaximum > 0 else { throw KafkaError(.configuration, "batchesMaximum must be > 0") }
        guard batchRecordsMaximum > 0, bufferRecordsMaximum >= batchRecordsMaximum else {
            throw KafkaError(.configuration, "bufferRecordsMaximum must be at least batchRecordsMaximum, which is > 0")
        }
    }

    /// Every property that a promise rests on is set, whatever its default is.
    var properties: [(String, String)] {
        [
            ("log.queue", "true"),
            ("group.id", groupId),
            // Offsets are committed by the library, after the handler.
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
            ("auto.offset.reset", "earliest"),
            // One strategy in the whole group: a mixture is refused by brokers. An eager one, so that a revocation
            // always means all partitions.
            ("partition.assignment.strategy", "range"),
            ("session.timeout.ms", sessionTimeout.milliseconds),
            // A member hears of a rebalance by its next heartbeat, so this is most of what a restart costs the others.
            ("heartbeat.interval.ms", min(sessionTimeout / 4, .milliseconds(500)).milliseconds),
            // librdkafka demands at least the session's; ours is watched by the consumer's thread, which polls on.
            ("max.poll.interval.ms", max(maxPollInterval, sessionTimeout).milliseconds),
            ("queued.min.messages", String(bufferRecordsMaximum)),
            ("queued.max.messages.kbytes", String(prefetchKibibytesMaximum)),
            // The next fetch must not wait a whole second (the default) because the prefetch was full.
            ("fetch.queue.backoff.ms", "20"),
            ("fetch.wait.max.ms", fetchWaitMaximum.milliseconds),
            ("topic.metadata.refresh.interval.ms", metadataRefreshInterval.milliseconds),
        ]
    }
}
