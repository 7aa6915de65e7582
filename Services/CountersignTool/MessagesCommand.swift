import ArgumentParser
import EventProcessing
import Foundation
import Kafka
import Messages
import Synchronization

/// `countersign messages`: what Kafka still has of submissions, for `deploy/postgres/repost`.
struct MessagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages",
        abstract: "Prints the submissions that Kafka still has, a JSON object a line.",
        discussion: """
            It reads countersign.submissions and countersign.lookups from their beginning in a consumer group of its own, and \
            ends when nothing has come for a while. Proofs are among what it prints: keep it as safe as the topics. What cannot \
            be read is counted, and the command then ends with 1.
            """)

    private static let patienceMaximum = 600

    @Option(help: "Seconds without a message after which all is read.")
    var patience = 10

    func validate() throws {
        guard (1...Self.patienceMaximum).contains(patience) else {
            throw ValidationError("--patience is from 1 to \(Self.patienceMaximum)")
        }
    }

    func run() async throws {
        try await failingPlainly {
            let settings = try await ToolSettings.load()
            let configuration = try KafkaSettings.read(settings.reader, clientId: "countersign-tool")
            // A group of its own each time, so that it always begins with the beginning.
            var consumption = KafkaConsumerSettings(
                groupId: "countersign-tool-\(UUID().uuidString)", topics: [Topics.submissions, Topics.lookups])
            consumption.fetchWaitMaximum = try KafkaSettings.fetchWait(settings.reader)
            let printer = SubmissionPrinter()
            let consumer = try KafkaConsumer(
                configuration: configuration, settings: consumption, logger: settings.logger
            ) { printer.print($0) }
            async let running: Void = consumer.run()
            while !(consumer.isAssigned && printer.isQuiet(for: .seconds(patience))) {
                if let trouble = consumer.progress.trouble {
                    await consumer.close()
                    throw ToolFailure("\(trouble) (brokers: \(configuration.bootstrapServers))")
                }
                try await Task.sleep(for: .milliseconds(200))
            }
            await consumer.close()
            try await running
            guard printer.unreadable == 0 else {
                throw ToolFailure("\(printer.unreadable) messages could not be read")
            }
        }
    }
}

/// Writes submissions to the standard output as they come.
private final class SubmissionPrinter: Sendable {
    private struct State {
        var last = ContinuousClock.now
        var unreadable = 0
    }

    private let state = Mutex(State())

    /// Messages that were no submissions.
    var unreadable: Int { state.withLock { $0.unreadable } }

    /// Whether nothing has come for so long.
    func isQuiet(for time: Duration) -> Bool { state.withLock { $0.last + time <= .now } }

    func print(_ records: [KafkaRecord]) {
        var output: [UInt8] = []
        var unreadable = 0
        for record in records {
            guard let event = CloudEvent(record), SubmissionMessage.isOne(event.type),
                let submission = try? SubmissionMessage.read(event), let line = try? MessageCoding.encode(submission)
            else {
                unreadable += 1
                continue
            }
            output += line + [UInt8(ascii: "\n")]
        }
        FileHandle.standardOutput.write(Data(output))
        state.withLock { state in
            state.last = .now
            state.unreadable += unreadable
        }
    }
}
