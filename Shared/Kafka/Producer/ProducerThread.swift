import CLibrdkafka
import Logging

/// The life of a producer's thread: take delivery reports, judge the client, and end it.
struct ProducerThread {
    /// How long the thread sleeps when nothing happens; librdkafka wakes it at once when something does.
    private static let idleTime = Duration.milliseconds(500)
    /// How often a closing client looks whether its last caller has left.
    private static let closingTime = Duration.milliseconds(20)
    /// How long a probe may block the thread.
    private static let probeTime = Duration.milliseconds(500)
    /// How long the reports of purged messages may take.
    private static let purgeTime = Duration.seconds(1)
    /// The most events between two looks at health and closing.
    private static let eventsMaximum = 200

    private let client: ProducerClient
    private let supervisor: ProducerSupervisor
    private var health: ProducerHealth
    private var logs: NativeLogRelay
    private var purgedAt: ContinuousClock.Instant?

    init(client: ProducerClient, supervisor: ProducerSupervisor) {
        self.client = client
        self.supervisor = supervisor
        health = ProducerHealth(
            stallTime: supervisor.settings.stallTime, recoveryGrace: supervisor.settings.recoveryGrace, now: .now)
        logs = NativeLogRelay(logger: supervisor.logger, configuration: supervisor.configuration)
    }

    consuming func run() {
        while true {
            let closing = client.closing
            drain(waiting: closing.by == nil ? Self.idleTime : Self.closingTime)
            if let closeBy = closing.by {
                if mayEnd(closeBy: closeBy, callers: closing.callers) { break }
            } else {
                judge()
            }
        }
        client.destroy()
        supervisor.ended(client)
    }

    /// Handles what is there, and waits for the first event if nothing is.
    private mutating func drain(waiting: Duration) {
        var limit = waiting
        for _ in 0..<Self.eventsMaximum {
            guard let event = client.nextEvent(within: limit) else { return }
            handle(event)
            rd_kafka_event_destroy(event)
            limit = .zero
        }
    }

    private mutating func handle(_ event: OpaquePointer) {
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_DR: deliver(event)
        case RD_KAFKA_EVENT_LOG: logs.relay(log: event)
        case RD_KAFKA_EVENT_ERROR:
            if rd_kafka_event_error_is_fatal(event) != 0 { health.broke() }
            logs.relay(error: event)
            note(event)
        default: break
        }
    }

    private mutating func deliver(_ event: OpaquePointer) {
        let count = rd_kafka_event_message_count(event)
        let messages = UnsafeMutableBufferPointer<UnsafePointer<rd_kafka_message_t>?>.allocate(capacity: count)
        messages.initialize(repeating: nil)
        defer { messages.deallocate() }
        let filled = rd_kafka_event_message_array(event, messages.baseAddress, count)
        var outcomes: [DeliveryRegistry.Outcome] = []
        outcomes.reserveCapacity(filled)
        var delivered = 0
        for message in messages.prefix(filled) {
            guard let message = message?.pointee else { continue }
            let result: Result<KafkaDelivery, KafkaError>
            if message.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                delivered += 1
                result = .success(KafkaDelivery(partition: message.partition, offset: message.offset))
            } else {
                note(message.err)
                let error = KafkaError(native: message.err)
                supervisor.note(error.naming(topic: message.rkt))
                result = .failure(error)
            }
            outcomes.append(DeliveryRegistry.Outcome(token: UInt(bitPattern: message._private), result: result))
        }
        if delivered > 0 { health.delivered(at: .now) }
        supervisor.count(delivered: delivered, failed: outcomes.count - delivered)
        client.registry.complete(outcomes)
    }

    private mutating func note(_ error: rd_kafka_resp_err_t) {
        switch error {
        case RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
            RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
            RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
            // Fenced: a broker that came back empty has given our producer id to somebody else.
            health.broke()
        case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
            health.timedOut()
        default:
            break
        }
    }

    /// Notes what the client tells beside its messages; behind "fatal" is the error that made it so.
    private func note(_ event: OpaquePointer) {
        if let error = KafkaError(event: event, hiding: supervisor.configuration) { return supervisor.note(error) }
        var text = [CChar](repeating: 0, count: 512)
        let cause = client.fatalCause(&text)
        guard cause != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        let detail = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        supervisor.note(KafkaError(native: cause, detail: supervisor.configuration.redacting(detail)))
    }

    private mutating func judge() {
        switch health.verdict(at: .now, waitingSince: client.registry.waiting.since) {
        case .healthy: break
        case .probe: health.probed(isAnswered: client.isAnswered(within: Self.probeTime), at: .now)
        case .replace: supervisor.replace(client)
        }
    }

    /// Whether a closing client has nothing left to wait for; past its time, what it has is given up.
    private mutating func mayEnd(closeBy: ContinuousClock.Instant, callers: Int) -> Bool {
        guard callers == 0 else { return false }
        if client.registry.waiting.count == 0 { return true }
        guard closeBy <= .now else { return false }
        if let purgedAt { return purgedAt.duration(to: .now) > Self.purgeTime }
        client.purge()
        purgedAt = .now
        return false
    }
}

extension KafkaError {
    /// The same error with the topic's name before what it says.
    fileprivate func naming(topic: OpaquePointer?) -> KafkaError {
        guard let name = topic.flatMap({ rd_kafka_topic_name($0) }) else { return self }
        return KafkaError(
            code, nativeName: nativeName, isRetriable: isRetriable, isFatal: isFatal,
            "\(String(cString: name)): \(detail)", remedy: remedy)
    }
}
