package import Kafka
import Logging
import Messages
import ServiceLifecycle
package import ServiceRuntime
import Synchronization

/// Sees whether the process's consumers and its producer go on: readiness, an error line, metrics, a new client.
///
/// One in each process, with one admin client. Every few seconds it asks the cluster where the groups are, of all
/// partitions, whoever holds them; between that it looks only at what the clients know themselves. What the cluster
/// refuses to tell is done without.
package final class KafkaMonitor: Service {
    /// The time between two questions to the cluster.
    private static let askInterval = Duration.seconds(5)
    /// How long each of the four questions may take.
    private static let askTimeout = Duration.seconds(2)
    /// The time between two looks at the clients.
    private static let lookInterval = Duration.seconds(1)
    /// The same while a consumer waits for its partitions, so that the process is ready as soon as it is.
    private static let lookIntervalWaiting = Duration.milliseconds(200)

    private struct State {
        var consumers: [WatchedConsumer] = []
        var clients: [WatchedClient] = []
        /// The last reason why the cluster told less than was asked.
        var refusal: KafkaError?
    }

    private let admin: KafkaAdmin
    private let limits: ConsumerHealth.Limits
    private let context: ServiceContext
    private let state = Mutex(State())

    /// Makes a monitor; list it after the producers and before the consumers that it watches.
    ///
    /// - Throws: `KafkaError`, for a configuration that librdkafka refuses.
    package convenience init(kafka: KafkaConfiguration, context: ServiceContext) throws(KafkaError) {
        try self.init(kafka: kafka, limits: ConsumerHealth.Limits(), context: context)
    }

    /// The same with other times, for tests.
    init(kafka: KafkaConfiguration, limits: ConsumerHealth.Limits, context: ServiceContext) throws(KafkaError) {
        admin = try KafkaAdmin(configuration: kafka, logger: context.logger)
        self.limits = limits
        self.context = context
    }

    /// Makes a producer's lasting errors a condition of readiness.
    package func watch(_ producer: KafkaProducer) {
        let words = WatchedClient.Words(
            fine: "sending", fails: "the producer cannot send", goesOn: "the producer sends again")
        watch("producer", words: words, stopsReadiness: true) { producer.trouble }
    }

    /// Tells a tail reader's lasting errors; readiness stays, since whoever reads a tail only hears of things earlier.
    package func watch(_ reader: KafkaTailReader, topic: String) {
        let words = WatchedClient.Words(
            fine: "reading", fails: "the tail reader cannot read", goesOn: "the tail reader reads again")
        watch("tail \(topic)", words: words, stopsReadiness: false) { reader.trouble }
    }

    private func watch(
        _ name: String, words: WatchedClient.Words, stopsReadiness: Bool,
        trouble: @escaping @Sendable () -> KafkaTrouble?
    ) {
        let watched = WatchedClient(
            name, words: words, stopsReadiness: stopsReadiness, context: context, trouble: trouble)
        state.withLock { $0.clients.append(watched) }
    }

    /// Makes a consumer's progress a condition of readiness.
    func watch(_ consumer: KafkaConsumer, settings: KafkaConsumerSettings, topic: String) -> WatchedConsumer {
        var limits = limits
        limits.maxPollInterval = settings.maxPollInterval
        let watched = WatchedConsumer(
            consumer, group: settings.groupId, topic: topic, limits: limits,
            check: context.health.register("consumer \(topic)"), logger: context.logger)
        state.withLock { $0.consumers.append(watched) }
        return watched
    }

    /// How many partitions every topic has that we may see.
    ///
    /// - Throws: `KafkaError`, when the cluster does not answer.
    package func partitionCounts() async throws(KafkaError) -> [String: Int] {
        try await admin.partitionCounts()
    }

    /// Watches until graceful shutdown.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.askAgainAndAgain() }
                group.addTask { await self.lookAgainAndAgain() }
            }
        }
        await admin.close()
    }

    private func lookAgainAndAgain() async {
        while !Task.isCancelled {
            let (consumers, clients) = state.withLock { ($0.consumers, $0.clients) }
            for client in clients { client.look() }
            for consumer in consumers { consumer.look() }
            let isWaiting = consumers.contains { !$0.standing.isReady }
            try? await Task.sleep(for: isWaiting ? Self.lookIntervalWaiting : Self.lookInterval)
        }
    }

    private func askAgainAndAgain() async {
        while !Task.isCancelled {
            let consumers = state.withLock { $0.consumers }
            if !consumers.isEmpty { await ask(about: consumers) }
            try? await Task.sleep(for: Self.askInterval)
        }
    }

    private func ask(about consumers: [WatchedConsumer]) async {
        let counts: [String: Int]
        do throws(KafkaError) {
            counts = try await admin.partitionCounts(timeout: Self.askTimeout)
        } catch {
            // An outage, which whoever sends or commits tells.
            for consumer in consumers { consumer.see(GroupView(isAnswered: false)) }
            return
        }
        var refusal: KafkaError?
        var groups: [KafkaGroup] = []
        do throws(KafkaError) {
            groups = try await admin.groups(consumers.map(\.group), timeout: Self.askTimeout)
        } catch {
            refusal = error
        }
        for consumer in consumers {
            var view = GroupView(partitionCount: counts[consumer.topic])
            view.group = groups.first { $0.id == consumer.group }
            do throws(KafkaError) {
                view.places = try await places(
                    of: consumer.group, topic: consumer.topic, partitions: view.partitionCount ?? 0)
            } catch {
                refusal = refusal ?? error
            }
            consumer.see(view)
        }
        note(refusal: refusal)
    }

    /// Where a group is that this process need not be a member of; empty where there is no such topic that we may see.
    ///
    /// Throws `.authorization`, and what the questions throw.
    func places(of group: TopicUse.Group) async throws(KafkaError) -> [KafkaPartition: GroupView.Place] {
        let count = try await admin.partitionCounts(timeout: Self.askTimeout)[group.topic]
        return try await places(of: group.name, topic: group.topic, partitions: count ?? 0)
    }

    private func places(
        of group: String, topic: String, partitions count: Int
    ) async throws(KafkaError) -> [KafkaPartition: GroupView.Place] {
        guard count > 0 else { return [:] }
        let partitions = (0..<Int32(count)).map { KafkaPartition(topic: topic, partition: $0) }
        // Commits first: asked the other way round, a group that is quick would seem to be past the end.
        let committed = try await admin.committedOffsets(
            of: group, partitions: partitions, timeout: Self.askTimeout)
        let offsets = try await admin.offsets(of: partitions, timeout: Self.askTimeout)
        return offsets.reduce(into: [:]) { places, entry in
            places[entry.key] = GroupView.Place(
                committed: committed[entry.key], earliest: entry.value.earliest, end: entry.value.end)
        }
    }

    private func note(refusal: KafkaError?) {
        let isNew = state.withLock { state in
            defer { state.refusal = refusal }
            return refusal != nil && state.refusal?.code != refusal?.code
        }
        guard isNew, let refusal else { return }
        context.logger.info(
            "the cluster does not tell all about the consumer groups; lag and stalls are judged by what is known",
            metadata: ["error": "\(refusal)"])
    }
}
