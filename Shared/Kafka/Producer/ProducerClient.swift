import BlockingThreads
import CLibrdkafka
import Foundation
import Logging
import Synchronization

/// One librdkafka producer and its thread.
///
/// A supervisor owns it, and replaces it when it is past help.
///
/// Callers hand messages over on their own threads, which only copies them; the client's thread waits for delivery
/// reports, judges its health, and in its last lines closes everything in the one right order.
final class ProducerClient: Sendable {
    /// Who calls at the moment, and whether more may.
    private struct Gate {
        var callers = 0
        var closeBy: ContinuousClock.Instant?
        var isGone = false
    }

    /// For the moment until what is handed over is flushed.
    private static let lingerTime = Duration.milliseconds(5)

    let registry = DeliveryRegistry()
    let ended = OneShotSignal()
    private let client: ThreadSafeHandle
    private let queue: ThreadSafeHandle
    private let gate = Mutex(Gate())
    private let flusher: ProducerFlusher
    private let sends = Mutex(GatheredSends())

    init(configuration: KafkaConfiguration, settings: KafkaProducerSettings) throws(KafkaError) {
        let native = try NativeConfiguration.make(configuration, role: Self.properties(settings))
        native.enable(events: RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG)
        client = try native.makeClient(RD_KAFKA_PRODUCER, hiding: configuration)
        queue = ThreadSafeHandle(pointer: rd_kafka_queue_get_main(client.pointer))
        rd_kafka_set_log_queue(client.pointer, nil)
        flusher = ProducerFlusher(client: client, timeLimit: settings.gatherTime)
    }

    /// Every property that a promise rests on is set, whatever its default is.
    private static func properties(_ settings: KafkaProducerSettings) -> [(String, String)] {
        [
            ("log.queue", "true"),
            // A retry never makes a duplicate or changes the order within a partition.
            ("enable.idempotence", "true"),
            ("acks", "all"),
            ("message.timeout.ms", settings.messageTimeout.milliseconds),
            ("linger.ms", lingerTime.milliseconds),
            ("queue.buffering.max.messages", String(settings.queueMessagesMaximum)),
            ("queue.buffering.max.kbytes", String(settings.queueKibibytesMaximum)),
            ("message.max.bytes", String(settings.messageBytesMaximum)),
            ("compression.type", settings.compression),
            ("sticky.partitioning.linger.ms", settings.stickyTime.milliseconds),
            // As Java's clients do it, so that everybody puts a key into the same partition. `_random` is for no key at all,
            // and such messages are spread by the line above.
            ("partitioner", "murmur2_random"),
            // An unknown topic is told before the client is suspected of stalling.
            ("topic.metadata.propagation.max.ms", (settings.stallTime * 3 / 5).milliseconds),
            ("topic.metadata.refresh.interval.ms", settings.metadataRefreshInterval.milliseconds),
        ]
    }

    /// Starts the thread, which runs until the client was closed and destroyed.
    func start(_ supervisor: ProducerSupervisor) {
        flusher.start { self.handOverNext() }
        _ = BlockingThread.start(name: "kafka-producer") {
            ProducerThread(client: self, supervisor: supervisor).run()
        }
    }

    /// Announces a caller, and so keeps the client alive until `leave()`; false when it is closing.
    func enter() -> Bool {
        gate.withLock { gate in
            guard gate.closeBy == nil else { return false }
            gate.callers += 1
            return true
        }
    }

    func leave() {
        gate.withLock { gate in
            gate.callers -= 1
            if gate.closeBy != nil { wakeLocked(gate) }
        }
    }

    /// Takes no more messages, and ends when all have an outcome, which is at the latest after `flushTimeout`.
    func close(flushTimeout: Duration) {
        gate.withLock { gate in
            let closeBy = ContinuousClock.now + flushTimeout
            gate.closeBy = min(gate.closeBy ?? closeBy, closeBy)
            wakeLocked(gate)
        }
    }

    /// Hands the messages over, at once or after what is on its way; only between `enter()` and `leave()`.
    ///
    /// Their outcomes resume `continuation`.
    func enqueue(_ messages: [KafkaMessage], _ continuation: CheckedContinuation<DeliveryRegistry.Results, Never>) {
        // Registered first, since an outcome may come before the call returns.
        let first = registry.register(count: messages.count, continuation)
        let send = GatheredSends.Send(messages: messages, firstToken: first)
        guard sends.withLock({ $0.begins(send) }) else { return }
        handOver(send)
        // After all of them, so that what is sent together stays together.
        flusher.flush()
    }

    /// Hands over what has come while other messages were on their way; false when that is nothing.
    private func handOverNext() -> Bool {
        let next = sends.withLock { $0.next() }
        for send in next { handOver(send) }
        return !next.isEmpty
    }

    private func handOver(_ send: GatheredSends.Send) {
        var refused: [DeliveryRegistry.Outcome] = []
        for (index, message) in send.messages.enumerated() {
            let token = send.firstToken + UInt(index)
            if let error = message.produce(client, token: token) {
                refused.append(DeliveryRegistry.Outcome(token: token, result: .failure(error)))
            }
        }
        if !refused.isEmpty { registry.complete(refused) }
    }

    private func wakeLocked(_ gate: Gate) {
        if !gate.isGone { rd_kafka_queue_yield(queue.pointer) }
    }
}

extension ProducerClient {
    /// When the client must be closed by, and how many callers it has.
    var closing: (by: ContinuousClock.Instant?, callers: Int) { gate.withLock { ($0.closeBy, $0.callers) } }

    /// Waits for the next event, which the caller destroys.
    func nextEvent(within limit: Duration) -> OpaquePointer? {
        rd_kafka_queue_poll(queue.pointer, limit.wholeMilliseconds)
    }

    /// Whether the broker answers a request for metadata; blocks for `limit` at most.
    func isAnswered(within limit: Duration) -> Bool {
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let error = rd_kafka_metadata(client.pointer, 0, nil, &metadata, limit.wholeMilliseconds)
        rd_kafka_metadata_destroy(metadata)
        return error == RD_KAFKA_RESP_ERR_NO_ERROR
    }

    /// Why the client cannot go on, with librdkafka's words; "no error" when it can.
    func fatalCause(_ text: inout [CChar]) -> rd_kafka_resp_err_t {
        rd_kafka_fatal_error(client.pointer, &text, text.count)
    }

    /// Gives up everything that waits or is in flight; the reports come as events.
    func purge() {
        // What was held is handed over for its report alone.
        for send in sends.withLock({ $0.takeHeld() }) { handOver(send) }
        rd_kafka_purge(client.pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
    }

    /// The last thing the thread does: flusher, queue, then client, then whoever still waits.
    func destroy() {
        gate.withLock { $0.isGone = true }
        flusher.stop()
        rd_kafka_queue_destroy(queue.pointer)
        rd_kafka_destroy(client.pointer)
        registry.abandonAll()
        ended.set()
    }
}

extension KafkaMessage {
    /// What stands for empty bytes: librdkafka takes a null pointer for "no bytes at all", a tombstone.
    private static let emptyBytes: StaticString = ""

    /// Copies the message into the client's queue; the error when it was refused.
    fileprivate func produce(_ client: ThreadSafeHandle, token: UInt) -> KafkaError? {
        guard key?.count ?? 0 < Int(Int32.max), value?.count ?? 0 < Int(Int32.max), !topic.isEmpty else {
            return KafkaError(.invalidMessage, "the topic is empty, or key or value exceed 2 GiB")
        }
        let nativeHeaders = headers.isEmpty ? nil : makeNativeHeaders()
        let error = Self.withPointer(key) { key, keySize in
            Self.withPointer(value) { value, valueSize in
                countersign_rdkafka_produce(
                    client.pointer, topic, key, keySize, value, valueSize, nativeHeaders,
                    UnsafeMutableRawPointer(bitPattern: token))
            }
        }
        guard error != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        // The headers are ours as long as the message was not taken.
        if let nativeHeaders { rd_kafka_headers_destroy(nativeHeaders) }
        return KafkaError(native: error)
    }

    private func makeNativeHeaders() -> OpaquePointer? {
        let list = rd_kafka_headers_new(headers.count)
        for header in headers {
            _ = Self.withPointer(header.value) { value, size in
                rd_kafka_header_add(list, header.name, -1, value, size)
            }
        }
        return list
    }

    private static func withPointer<R>(_ bytes: [UInt8]?, _ body: (UnsafeRawPointer?, Int) -> R) -> R {
        guard let bytes else { return body(nil, 0) }
        guard !bytes.isEmpty else { return body(UnsafeRawPointer(emptyBytes.utf8Start), 0) }
        return bytes.withUnsafeBytes { body($0.baseAddress, $0.count) }
    }
}
