import BlockingThreads
import CLibrdkafka
import Foundation
import Logging

/// librdkafka's admin calls, which block, on a thread of their own.
///
/// The calls themselves are in the files beside this one; all go through `call`.
actor AdminClient {
    let configuration: KafkaConfiguration
    let logger: Logger
    private let executor = ThreadExecutor(name: "kafka-admin")
    private let handle: ThreadSafeHandle
    private let connections: ConnectionWatch
    private var isClosed = false
    /// How long a call that may be repeated waits for one answer.
    private static let attemptTimeout: Duration = .seconds(5)
    private static let pauseBetweenAttempts: Duration = .milliseconds(100)
    /// Clients that only ask how far a group is, by the group's name.
    private var groupReaders: [String: GroupReader] = [:]
    var coordinators = CoordinatorDirectory()

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(configuration: KafkaConfiguration, logger: Logger) throws(KafkaError) {
        let native = try NativeConfiguration.make(configuration, role: [])
        // Nobody polls between calls, so lines would pile up; errors come seldom, and say why a call gets no answer.
        native.disableLogging()
        native.enable(events: RD_KAFKA_EVENT_ERROR)
        connections = ConnectionWatch(configuration: configuration)
        native.watchCertificates(with: connections)
        handle = try native.makeClient(RD_KAFKA_PRODUCER, hiding: configuration)
        self.configuration = configuration
        self.logger = logger
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        for reader in groupReaders.values { reader.close() }
        rd_kafka_destroy(handle.pointer)
        executor.stop()
    }

    /// Runs a blocking call; where it gets no answer, the error says what keeps us from the brokers, if that is known.
    func call<Result>(
        _ body: (_ client: OpaquePointer) throws(KafkaError) -> Result
    ) throws(KafkaError) -> Result {
        guard !isClosed else { throw KafkaError.closedClient }
        do throws(KafkaError) {
            let result = try body(handle.pointer)
            connections.forget(handle.pointer)
            return result
        } catch {
            connections.update(handle.pointer)
            throw connections.explain(error)
        }
    }

    /// Sends an admin request and reads its answer, which is gone afterwards.
    ///
    /// - Parameters:
    ///   - what: what did not happen when no answer came, such as "topics were not created".
    ///   - send: sends the request, with options that carry the time limit, for an answer to the queue.
    ///   - read: copies what is needed out of the event.
    func call<Result>(
        _ operation: rd_kafka_admin_op_t, within timeout: Duration, _ what: String,
        send: (_ client: OpaquePointer, _ options: OpaquePointer?, _ answers: OpaquePointer?) -> Void,
        read: (_ event: OpaquePointer) throws(KafkaError) -> Result
    ) throws(KafkaError) -> Result {
        try call { client throws(KafkaError) in
            let options = rd_kafka_AdminOptions_new(client, operation)
            defer { rd_kafka_AdminOptions_destroy(options) }
            rd_kafka_AdminOptions_set_request_timeout(options, timeout.wholeMilliseconds, nil, 0)
            // Only what changes topics has one; librdkafka refuses it for the others, which is no matter.
            rd_kafka_AdminOptions_set_operation_timeout(options, timeout.wholeMilliseconds, nil, 0)
            let answers = rd_kafka_queue_new(client)
            defer { rd_kafka_queue_destroy(answers) }
            send(client, options, answers)
            guard let event = rd_kafka_queue_poll(answers, timeout.wholeMilliseconds) else {
                throw KafkaError(.timedOut, isRetriable: true, "\(what) in time")
            }
            defer { rd_kafka_event_destroy(event) }
            return try checked(event, read)
        }
    }

    /// Makes a call that is harmless to repeat, in attempts of a few seconds, until one is answered or the time is over.
    ///
    /// librdkafka waits for the cluster's controller, but asks who that is every five minutes only. A client that met a
    /// cluster without one, which is so for seconds after a start or an election, would wait for nothing.
    func repeating<Result>(
        within timeout: Duration, _ attempt: (_ timeout: Duration) throws(KafkaError) -> Result
    ) throws(KafkaError) -> Result {
        let deadline = ContinuousClock.now + timeout
        while true {
            do throws(KafkaError) {
                return try attempt(min(Self.attemptTimeout, ContinuousClock.now.duration(to: deadline)))
            } catch {
                guard error.isRetriable,
                    ContinuousClock.now + Self.pauseBetweenAttempts < deadline
                else { throw error }
            }
            pause()
            // Its answer names the controller.
            _ = try? brokers(timeout: min(Self.attemptTimeout, ContinuousClock.now.duration(to: deadline)))
        }
    }

    /// Lets `pauseBetweenAttempts` pass on this thread of ours: nothing comes to a queue that nobody knows.
    private func pause() {
        let nothing = rd_kafka_queue_new(handle.pointer)
        defer { rd_kafka_queue_destroy(nothing) }
        if let event = rd_kafka_queue_poll(nothing, Self.pauseBetweenAttempts.wholeMilliseconds) {
            rd_kafka_event_destroy(event)
        }
    }

    /// Asks several brokers the same, and returns the first answer that says something.
    ///
    /// Where none does, the error is that of the last broker that is not just the wrong one.
    ///
    /// - Parameter send: as above; once for each broker.
    func callAny<Result>(
        of brokers: [Int32], _ operation: rd_kafka_admin_op_t, until deadline: ContinuousClock.Instant, _ what: String,
        send: (_ client: OpaquePointer, _ options: OpaquePointer?, _ answers: OpaquePointer?) -> Void,
        read: (_ event: OpaquePointer) throws(KafkaError) -> Result
    ) throws(KafkaError) -> Result {
        try call { client throws(KafkaError) in
            let answers = rd_kafka_queue_new(client)
            defer { rd_kafka_queue_destroy(answers) }
            for broker in brokers {
                let options = rd_kafka_AdminOptions_new(client, operation)
                defer { rd_kafka_AdminOptions_destroy(options) }
                rd_kafka_AdminOptions_set_request_timeout(options, deadline.millisecondsLeft, nil, 0)
                rd_kafka_AdminOptions_set_broker(options, broker, nil, 0)
                send(client, options, answers)
            }
            var refusal = KafkaError(.timedOut, isRetriable: true, "\(what) in time")
            for _ in brokers {
                guard let event = rd_kafka_queue_poll(answers, deadline.millisecondsLeft) else { break }
                defer { rd_kafka_event_destroy(event) }
                do throws(KafkaError) {
                    return try checked(event, read)
                } catch {
                    // One that does not pass says more than a broker that is away.
                    if !error.isFromTheWrongBroker, refusal.isRetriable { refusal = error }
                }
            }
            throw refusal
        }
    }

    private func checked<Result>(
        _ event: OpaquePointer, _ read: (_ event: OpaquePointer) throws(KafkaError) -> Result
    ) throws(KafkaError) -> Result {
        let error = rd_kafka_event_error(event)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
            let detail = rd_kafka_event_error_string(event).map { String(cString: $0) }
            throw KafkaError(native: error, detail: detail.map(configuration.redacting))
        }
        return try read(event)
    }

    /// The client that tells how far a group is; it lives as long as this one.
    func groupReader(for group: String) throws(KafkaError) -> GroupReader {
        if let reader = groupReaders[group] { return reader }
        let reader = try GroupReader(group, configuration: configuration)
        groupReaders[group] = reader
        return reader
    }
}

extension ContinuousClock.Instant {
    /// Whole milliseconds from now, at least 0, as librdkafka takes them.
    var millisecondsLeft: Int32 { ContinuousClock.now.duration(to: self).wholeMilliseconds }
}

extension KafkaError {
    /// The error in an object of librdkafka's; nil where there is none.
    init?(_ error: OpaquePointer?) {
        guard let error else { return nil }
        let code = rd_kafka_error_code(error)
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        self.init(native: code, detail: rd_kafka_error_string(error).map { String(cString: $0) })
    }

    static let wrongAnswer = KafkaError(.native, "the answer is not the one that was asked for")
}

/// A C array of objects that librdkafka owns, as a Swift one.
func nativeArray(_ pointer: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int) -> [OpaquePointer] {
    guard let pointer else { return [] }
    return UnsafeBufferPointer(start: pointer, count: count).compactMap { $0 }
}
