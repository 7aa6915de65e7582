import CLibrdkafka
import Foundation
import Logging

/// The life of a consumer's thread: take records and events, commit what is handled, and end the client.
///
/// It never waits for the handler. A rebalance that has to is kept until the handler is done or its time is over,
/// and events go on meanwhile.
struct ConsumerThread {
    /// How long the thread sleeps when nothing happens; it is woken at once when something does.
    private static let idleTime = Duration.seconds(1)
    /// How long a commit that failed waits before the next one.
    private static let commitRetryTime = Duration.milliseconds(500)
    /// The most records taken between two looks at the events.
    private static let recordsMaximum = 500

    private var client: ConsumerClient
    private let hub: ConsumerHub
    private let settings: KafkaConsumerSettings
    private let configuration: KafkaConfiguration
    private let logger: Logger
    private var logs: NativeLogRelay
    private var decoder = RecordDecoder()
    private var isSubscribed = false
    /// Whether we left the group because the handler lasts too long.
    private var isStuck = false
    /// Until when a revocation waits for the handler.
    private var revokeBy: ContinuousClock.Instant?
    private var isCommitSent = false
    private var commitNotBefore = ContinuousClock.now
    private var lagNotBefore = ContinuousClock.now

    init(
        client: ConsumerClient, hub: ConsumerHub, settings: KafkaConsumerSettings,
        configuration: KafkaConfiguration, logger: Logger
    ) {
        self.client = client
        self.hub = hub
        self.settings = settings
        self.configuration = configuration
        self.logger = logger
        logs = NativeLogRelay(logger: logger, configuration: configuration)
    }

    consuming func run() {
        var hasMore = false
        while true {
            hub.pipe.sleep(atMost: hasMore ? .zero : timeToNextDeadline())
            subscribeIfDue()
            handleEvents()
            hasMore = takeRecords()
            commitIfDue()
            finishRevokeIfDue()
            leaveIfStuck()
            replaceIfAsked()
            noteLagIfDue()
            if mayEnd() { break }
        }
        endClient()
        hub.pipe.close()
    }

    /// Commits what is handled, gives everything back, and leaves the group.
    private func endClient() {
        // What was lost belongs to somebody else already.
        if rd_kafka_assignment_lost(client.client.pointer) == 0 { commitBeforeLeaving() }
        hub.withLedger { $0.revoke() }
        // A revocation that still waited for the handler must be answered, or leaving the group waits for it.
        if revokeBy != nil { client.unassign() }
        client.close(within: settings.closeTimeout)
    }

    /// Puts a new client in the place of this one as soon as the handler is done or its time is over.
    ///
    /// What the handler has in hand beyond that is never committed, and comes again from the new client.
    private mutating func replaceIfAsked() {
        guard let by = hub.replaceBy, hub.stopBy == nil else { return }
        guard by <= .now || hub.withLedger({ $0.inFlightSince == nil }) else { return }
        defer { hub.endReplacement(isDraining: revokeBy != nil) }
        let successor: ConsumerClient
        do throws(KafkaError) {
            successor = try ConsumerClient(
                configuration: configuration, role: settings.properties, separatesRecords: true, wakes: hub.pipe)
        } catch {
            logger.debug("no new consumer client: \(error)")
            return
        }
        endClient()
        client = successor
        isSubscribed = false
        isCommitSent = false
        revokeBy = nil
        commitNotBefore = .now
        hub.withLedger { $0.noteReplacement() }
        logger.debug("the consumer's client was replaced")
        hub.pipe.wake()
    }

    /// How long nothing is due; events, records and the handler end the sleep.
    private func timeToNextDeadline() -> Duration {
        let now = ContinuousClock.now
        var deadlines = [now + Self.idleTime]
        if let revokeBy { deadlines.append(revokeBy) }
        if let stopBy = hub.stopBy { deadlines.append(stopBy) }
        if let replaceBy = hub.replaceBy { deadlines.append(replaceBy) }
        hub.withLedger { ledger in
            if let dueAt = ledger.dueAt { deadlines.append(dueAt) }
            if !isCommitSent, !ledger.uncommitted(includingSent: false).isEmpty { deadlines.append(commitNotBefore) }
        }
        return max(.zero, now.duration(to: deadlines.min() ?? now))
    }

    private mutating func subscribeIfDue() {
        guard hub.isRunning, hub.stopBy == nil, !isSubscribed, !isStuck else { return }
        do throws(KafkaError) {
            try client.subscribe(settings.topics)
            isSubscribed = true
        } catch {
            hub.fail(with: error)
        }
    }

    /// Takes what fits into the buffer; true when there may be more at once.
    private mutating func takeRecords() -> Bool {
        let limit = min(hub.withLedger { $0.room() }, Self.recordsMaximum)
        guard limit > 0, isSubscribed else { return false }
        var records: [KafkaRecord] = []
        let count = client.takeMessages(limit) { message in
            switch decoder.decode(message) {
            case .success(let record): records.append(record)
            case .failure(let error):
                logger.debug("the consumer was told: \(error)")
                hub.note(error)
            }
        }
        if !records.isEmpty {
            hub.withLedger { $0.append(records) }
            hub.works()
        }
        return count == limit
    }

    // MARK: Events

    private mutating func handleEvents() {
        // librdkafka writes to the pipe once for all that is there, so everything must be taken.
        while let event = client.nextEvent() {
            handle(event)
            rd_kafka_event_destroy(event)
        }
    }

    private mutating func handle(_ event: OpaquePointer) {
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_REBALANCE: rebalance(event)
        case RD_KAFKA_EVENT_OFFSET_COMMIT: committed(event)
        case RD_KAFKA_EVENT_LOG: logs.relay(log: event)
        case RD_KAFKA_EVENT_FETCH:
            // Records have a queue of their own; should one come here all the same, it must not be lost.
            let records = decoder.decode(event: event)
            hub.withLedger { $0.append(records) }
        case RD_KAFKA_EVENT_ERROR:
            logs.relay(error: event)
            if let error = KafkaError(event: event, hiding: configuration) { hub.note(error) }
            if rd_kafka_event_error_is_fatal(event) != 0 {
                hub.fail(with: KafkaError(.fatal, isFatal: true, String(cString: rd_kafka_event_error_string(event))))
            }
        default: break
        }
    }

    private mutating func rebalance(_ event: OpaquePointer) {
        let places = NativePartitionList.entries(of: rd_kafka_event_topic_partition_list(event)).map(\.place)
        guard rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS else {
            // Partitions that were lost belong to somebody else already: nothing can be committed for them.
            let isLost = rd_kafka_assignment_lost(client.client.pointer) != 0
            revokeBy = isLost ? .now : .now + settings.drainTimeout
            hub.withLedger { $0.isDraining = true }
            return
        }
        hub.withLedger { $0.assign(places) }
        hub.forgetErrors()
        do throws(KafkaError) {
            // -1001 is "from the committed offset": its macro does not import as the type that is needed.
            try client.assign(places.map { ($0, -1001) })
        } catch {
            hub.fail(with: error)
        }
    }

    // MARK: Commits

    private mutating func commitIfDue() {
        guard !isCommitSent, commitNotBefore <= .now else { return }
        let offsets = hub.withLedger { $0.uncommitted(includingSent: false) }
        guard !offsets.isEmpty else { return }
        isCommitSent = client.commit(offsets)
        commitNotBefore = .now + (isCommitSent ? settings.commitInterval : Self.commitRetryTime)
        if isCommitSent { hub.withLedger { $0.sent(offsets) } }
    }

    private mutating func committed(_ event: OpaquePointer) {
        isCommitSent = false
        let whole = rd_kafka_event_error(event)
        var succeeded: [(TopicPartition, Int64)] = []
        var failed: [(TopicPartition, Int64)] = []
        for (place, offset, error) in NativePartitionList.entries(of: rd_kafka_event_topic_partition_list(event)) {
            if whole == RD_KAFKA_RESP_ERR_NO_ERROR && error == RD_KAFKA_RESP_ERR_NO_ERROR {
                succeeded.append((place, offset))
            } else {
                failed.append((place, offset))
                hub.note(KafkaError(native: whole == RD_KAFKA_RESP_ERR_NO_ERROR ? error : whole))
            }
        }
        if failed.isEmpty { hub.works() }
        hub.withLedger { $0.committed(succeeded, failed: failed) }
        if !failed.isEmpty { commitNotBefore = .now + Self.commitRetryTime }
    }

    /// The commit before partitions are given away: also what is on its way, since its answer may never come.
    private func commitBeforeLeaving() {
        let offsets = hub.withLedger { $0.uncommitted(includingSent: true) }
        guard !offsets.isEmpty else { return }
        let isCommitted = client.commit(offsets, within: settings.commitTimeout)
        hub.withLedger { $0.committed(isCommitted ? offsets : [], failed: isCommitted ? [] : offsets) }
    }

    // MARK: Giving partitions back

    private mutating func finishRevokeIfDue() {
        guard let revokeBy, revokeBy <= .now || hub.withLedger({ $0.inFlightSince == nil }) else { return }
        self.revokeBy = nil
        if rd_kafka_assignment_lost(client.client.pointer) == 0 { commitBeforeLeaving() }
        hub.withLedger { $0.revoke() }
        client.unassign()
    }

    /// Leaves the group while the handler lasts too long, so that another member gets the partitions.
    private mutating func leaveIfStuck() {
        guard hub.isRunning, hub.stopBy == nil else { return }
        let since = hub.withLedger { $0.inFlightSince }
        if isStuck {
            // Subscribed again by the loop's next round.
            isStuck = since != nil
            if !isStuck { hub.pipe.wake() }
        } else if let since, isSubscribed, since.duration(to: .now) > settings.maxPollInterval {
            isStuck = true
            isSubscribed = false
            hub.withLedger { $0.noteStuckHandler() }
            client.unsubscribe()
        }
    }

    private mutating func noteLagIfDue() {
        guard lagNotBefore <= .now else { return }
        lagNotBefore = .now + Self.idleTime
        hub.withLedger { $0.noteLag { client.newestOffset($0) } }
    }

    /// Whether the consumer is stopped, and the handler done or its time over.
    private func mayEnd() -> Bool {
        guard let stopBy = hub.stopBy else { return false }
        return stopBy <= .now || hub.withLedger { $0.inFlightSince == nil }
    }
}
