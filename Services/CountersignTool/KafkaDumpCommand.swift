import ArgumentParser
import EventProcessing
import Foundation
import Kafka
import Messages
import Synchronization

/// `countersign kafka dump`: what Kafka still has of submissions, for `deploy/postgres/repost`.
struct KafkaDumpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Prints the submissions that Kafka still has, one JSON object a line.",
        discussion: """
            It reads countersign.submissions and countersign.lookups in its own consumer group, from the beginning to \
            the end at the time of the start. Each object has the fields of the message and `time`, when it was \
            published; the order is none. The output contains proofs: protect it as you protect the topics. It exits \
            with 1 if it could not read all.
            """)

    /// Seconds.
    private static let patiences = 1...600
    private static let topics = [Topics.submissions, Topics.lookups]
    /// How often it looks how far it is.
    private static let lookInterval = Duration.milliseconds(100)

    @Option(help: "Seconds without a message, before all is read, after which it gives up.")
    var patience = 60

    @Flag(help: "Has no effect: the output is always JSON, one object a line.") var json = false

    func validate() throws {
        guard Self.patiences.contains(patience) else {
            throw ValidationError("--patience is from \(Self.patiences.lowerBound) to \(Self.patiences.upperBound)")
        }
    }

    func run() async throws {
        try await failingPlainly {
            let settings = try await ToolSettings.load()
            let ends = try await settings.withKafka { try await Self.ends($0) }
            guard !ends.isEmpty else { return }
            let configuration = try KafkaSettings.read(settings.reader, clientId: "countersign-tool")
            // A group of its own each time, so that it always begins with the beginning.
            var consumption = KafkaConsumerSettings(
                groupId: "countersign-tool-\(UUID().uuidString)", topics: Self.topics)
            consumption.fetchWaitMaximum = try KafkaSettings.fetchWait(settings.reader)
            let lines = SubmissionLines { FileHandle.standardOutput.write(Data($0)) }
            let consumer = try KafkaConsumer(
                configuration: configuration, settings: consumption, logger: settings.logger
            ) { lines.add($0) }
            async let running: Void = consumer.run()
            let problem = try await wait(for: consumer, until: ends, lines)
            await consumer.close()
            try await running
            if let problem { throw ToolFailure("\(problem) (brokers: \(configuration.bootstrapServers))") }
            guard lines.unreadable == 0 else { throw ToolFailure("\(lines.unreadable) messages are no submissions") }
        }
    }

    /// Where the partitions end that have something.
    private static func ends(_ admin: KafkaAdmin) async throws -> [KafkaPartition: Int64] {
        let counts = try await admin.partitionCounts()
        let partitions = try topics.flatMap { topic in
            guard let count = counts[topic] else { throw ToolFailure("there is no topic \(topic)") }
            return (0..<count).map { KafkaPartition(topic: topic, partition: Int32($0)) }
        }
        return try await admin.offsets(of: partitions).filter { $0.value.earliest < $0.value.end }.mapValues(\.end)
    }

    /// Waits until all is read.
    ///
    /// - Returns: why it is not; nil when it is.
    private func wait(
        for consumer: KafkaConsumer, until ends: [KafkaPartition: Int64], _ lines: SubmissionLines
    ) async throws -> String? {
        while true {
            let progress = consumer.progress
            let missing = ends.filter { progress.positions[$0.key, default: 0] < $0.value }
            if missing.isEmpty { return nil }
            if let trouble = progress.trouble { return "\(trouble)" }
            if lines.isQuiet(for: .seconds(patience)) {
                return "nothing came for \(patience) s, and \(missing.count) of \(ends.count) partitions are not read"
            }
            try await Task.sleep(for: Self.lookInterval)
        }
    }
}

/// Submissions as lines of JSON, written as they come.
final class SubmissionLines: Sendable {
    private struct State {
        var last = ContinuousClock.now
        var unreadable = 0
    }

    private let write: @Sendable ([UInt8]) -> Void
    private let state = Mutex(State())

    init(write: @escaping @Sendable ([UInt8]) -> Void) {
        self.write = write
    }

    /// Messages that were no submissions.
    var unreadable: Int { state.withLock { $0.unreadable } }

    /// Whether nothing has come for so long.
    func isQuiet(for time: Duration) -> Bool { state.withLock { $0.last + time <= .now } }

    func add(_ records: [KafkaRecord]) {
        let lines = records.compactMap(Self.line)
        write(Array(lines.joined()))
        state.withLock { state in
            state.last = .now
            state.unreadable += records.count - lines.count
        }
    }

    /// The line of a record, with its end; nil for one that is no submission.
    private static func line(_ record: KafkaRecord) -> [UInt8]? {
        guard let event = CloudEvent(record), event.type == SubmissionMessage.type,
            let submission = try? SubmissionMessage.read(event),
            let json = try? MessageCoding.encode(Line(submission: submission, time: event.time))
        else { return nil }
        return json + [UInt8(ascii: "\n")]
    }

    /// A submission, and when its message was published: partitions are read in no order.
    private struct Line: Encodable {
        let submission: SubmissionMessage
        let time: Date

        private enum CodingKeys: String, CodingKey { case time }

        func encode(to encoder: any Encoder) throws {
            try submission.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(time, forKey: .time)
        }
    }
}
