import Foundation
import Kafka
import KafkaTesting
import Testing

/// What is sent while a broker has not acknowledged what was sent before; librdkafka's mock has answers come late.
struct SlowAcknowledgementTests {
    private static let produceRequest: Int16 = 0
    private static let answerMilliseconds: Int32 = 1_500
    /// Of threads that sleep; one that asks without a pause uses all of the wait.
    private static let processorSecondsMaximum = 0.4

    @Test(.enabled(if: ProcessorTime.isKnown, "SKIPPED: no /proc, the processor time of a thread is not known"))
    func whatComesMeanwhileSharesRequestsAndNoThreadSpins() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 2)
        var settings = KafkaProducerSettings()
        settings.gatherTime = .seconds(20)
        let producer = try KafkaProducer(configuration: cluster.configuration, settings: settings, logger: quietLogger)
        // One key for each partition, and the connection is there.
        let keys = try await keysOfPartitions(producer)
        cluster.answer(after: Self.answerMilliseconds)
        let before = (requests: cluster.requests(Self.produceRequest), used: ProcessorTime.ofBrokerThreads())
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            // More messages than librdkafka has in flight for a partition at once.
            group.addTask { try await deliver(10, to: keys[0], producer) }
            _ = await eventually { cluster.requests(Self.produceRequest) > before.requests }
            for number in 0..<20 { group.addTask { try await deliver(1, to: keys[number % 2], producer) } }
            return try await group.reduce(0, +)
        }
        #expect(count == 30)
        #expect(cluster.requests(Self.produceRequest) - before.requests <= 3, "the first, and one for each partition")
        #expect(ProcessorTime.ofBrokerThreads() - before.used < Self.processorSecondsMaximum)
        cluster.answer(after: 0)
        await producer.close()
    }

    /// Keys whose messages go to the partitions 0 and 1.
    private func keysOfPartitions(_ producer: KafkaProducer) async throws -> [String] {
        var keys: [Int32: String] = [:]
        for number in 0..<100 where keys.count < 2 {
            keys[try await producer.send(.text("x", topic: "t", key: "\(number)")).partition] = "\(number)"
        }
        return try [#require(keys[0]), #require(keys[1])]
    }
}

/// Sends so many messages together, and says how many were delivered.
private func deliver(_ count: Int, to key: String, _ producer: KafkaProducer) async throws -> Int {
    try await producer.send((0..<count).map { .text("\($0)", topic: "t", key: key) }).map { try $0.get() }.count
}

/// Of this process, by the system's own count.
private enum ProcessorTime {
    private static let tasks = "/proc/self/task"

    static var isKnown: Bool { FileManager.default.fileExists(atPath: tasks) }

    /// Seconds that the threads have used which talk to brokers.
    static func ofBrokerThreads() -> Double {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
        return names.reduce(0) { total, id in
            func file(_ name: String) -> String {
                (try? String(contentsOfFile: "\(tasks)/\(id)/\(name)", encoding: .utf8)) ?? ""
            }
            guard file("comm").hasPrefix("rdk:broker") else { return total }
            // The first number of schedstat is nanoseconds on a processor.
            return total + (file("schedstat").split(separator: " ").first.flatMap { Double($0) } ?? 0) / 1e9
        }
    }
}
