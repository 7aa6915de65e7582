import Foundation
import Kafka
import KafkaTesting
import Logging
import ProcessTesting
import Synchronization
import Testing

/// The brokers that tests need, from the environment; what is unset is skipped, loudly.
enum TestBroker {
    /// `host:port` of a broker that all tests share.
    static let address = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_KAFKA"]
    /// The path of a broker's program, for tests that kill one.
    static let program = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_TANSU"]

    static let isThere = address != nil
    static let isProgramThere = program != nil
    static let skipped: Comment = "SKIPPED: COUNTERSIGN_TEST_KAFKA is not set, nothing was tested against a broker"
    static let programSkipped: Comment = "SKIPPED: COUNTERSIGN_TEST_TANSU is not set, no broker was killed"

    static func configuration(_ servers: String? = address, properties: [String: String] = [:]) -> KafkaConfiguration {
        KafkaConfiguration(bootstrapServers: servers ?? "", clientId: "kafka-tests", properties: properties)
    }

    /// Makes a topic that no other test uses.
    static func makeTopic(partitions: Int = 1, on servers: String? = address) async throws -> String {
        let name = "test-\(UUID().uuidString.lowercased())"
        try await create(name, partitions: partitions, on: servers)
        return name
    }

    static func create(_ name: String, partitions: Int = 1, on servers: String? = address) async throws {
        let admin = try KafkaAdmin(configuration: configuration(servers), logger: quietLogger)
        let specification = KafkaTopicSpecification(name: name, partitions: partitions)
        _ = try await admin.createTopics([specification], timeout: .seconds(20))
        await admin.close()
    }
}

/// A logger for tests; `LOG_KAFKA_TESTS=1` shows what librdkafka says.
let quietLogger: Logger = {
    var logger = Logger(label: "kafka-tests")
    logger.logLevel = ProcessInfo.processInfo.environment["LOG_KAFKA_TESTS"] == nil ? .critical : .debug
    return logger
}()

/// A broker of one test's own, which may be killed and started again on the same port.
///
/// It keeps nothing.
final class PrivateBroker: Sendable {
    let address: String
    private let port: Int
    private let process = Mutex<RunningProgram?>(nil)

    init() throws {
        port = try freePort()
        address = "127.0.0.1:\(port)"
        try start()
    }

    func start() throws {
        let program = try #require(TestBroker.program)
        let process = try Program(
            path: program,
            arguments: [
                "broker", "--listener-url", "tcp://\(address)", "--advertised-listener-url", "tcp://\(address)",
            ]
        ).start()
        self.process.withLock { $0 = process }
    }

    /// kill -9, and waits until the process is gone.
    func kill() async throws {
        guard let process = process.withLock({ $0.take() }) else { return }
        process.kill()
        _ = try await process.ended()
    }
}

/// Collects what handlers get, and lets a test wait for it.
final class Inbox: Sendable {
    typealias Condition = @Sendable ([KafkaRecord]) -> Bool

    private struct State {
        var records: [KafkaRecord] = []
        var nextId = 0
        var waiters: [Int: (Condition, CheckedContinuation<Bool, Never>)] = [:]
    }

    private let state = Mutex(State())

    var records: [KafkaRecord] { state.withLock { $0.records } }
    var texts: [String] { records.map(\.text) }

    func add(_ records: [KafkaRecord]) {
        let satisfied = state.withLock { state in
            state.records += records
            let ids = state.waiters.filter { $0.value.0(state.records) }.keys
            return ids.compactMap { state.waiters.removeValue(forKey: $0)?.1 }
        }
        for waiter in satisfied { waiter.resume(returning: true) }
    }

    /// Waits for the condition; false when it did not come in time.
    func wait(within limit: Duration = .seconds(30), for condition: @escaping Condition) async -> Bool {
        await withCheckedContinuation { continuation in
            let id = state.withLock { state -> Int? in
                guard !condition(state.records) else { return nil }
                state.nextId += 1
                state.waiters[state.nextId] = (condition, continuation)
                return state.nextId
            }
            guard let id else { return continuation.resume(returning: true) }
            Task {
                // The time-out, for what never comes.
                try? await Task.sleep(for: limit)
                self.state.withLock { $0.waiters.removeValue(forKey: id)?.1 }?.resume(returning: false)
            }
        }
    }

    /// Waits until every one of these texts has come at least once.
    func wait(within limit: Duration = .seconds(30), forAll texts: Set<String>) async -> Bool {
        await wait(within: limit) { records in
            records.count >= texts.count && texts.isSubset(of: records.map(\.text))
        }
    }
}

extension KafkaRecord {
    var text: String { value.map { String(decoding: $0, as: UTF8.self) } ?? "<tombstone>" }
}

extension KafkaMessage {
    static func text(_ text: String, topic: String, key: String? = nil) -> KafkaMessage {
        KafkaMessage(topic: topic, key: key.map { Array($0.utf8) }, value: Array(text.utf8))
    }
}

/// Sends texts, and fails the test when one of them is not acknowledged.
func sendAll(_ texts: some Collection<String>, to topic: String, with producer: KafkaProducer) async throws {
    // Each its own key, so that they spread over the partitions.
    for result in await producer.send(texts.map { .text($0, topic: topic, key: $0) }) { _ = try result.get() }
}
