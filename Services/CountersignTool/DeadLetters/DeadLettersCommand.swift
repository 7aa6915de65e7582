import ArgumentParser
import EventProcessing
import Foundation
import Kafka
import Persistence

/// `countersign dead-letters`: messages that nobody could handle.
struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Lists messages that no service could process, and sends them again.",
        subcommands: [List.self, Send.self])

    /// `countersign dead-letters list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists the messages of countersign.dead-letters, the oldest first.",
            discussion: "It reads the topic without a group and changes nothing. It never prints a message's value.")

        @OptionGroup var choice: DeadLetterChoice
        @OptionGroup var printing: PrintingOptions

        func run() async throws {
            try await failingPlainly {
                let (filter, limit) = (try choice.filter(), choice.limit)
                let found = try await ToolSettings.load().withKafka { admin in
                    try await FoundDeadLetters.read(filter, limit: limit, admin)
                }
                let report = DeadLetterReport(found)
                try printing.answer(report, report.text)
            }
        }
    }

    /// `countersign dead-letters send`.
    struct Send: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "send",
            abstract: "Sends dead letters again to the topics they came from, and records who asked for it and why.",
            discussion: """
                Use it after the cause is gone: an upgrade that was finished, or taken back. Each message goes with its \
                own key, headers and value. Without --yes it only lists them. Every service takes a message that comes \
                twice as one, so sending again what was sent is harmless. A letter stays in countersign.dead-letters \
                until that topic's retention is over. It needs the Kafka user countersign-operator.
                """)

        @OptionGroup var choice: DeadLetterChoice
        @OptionGroup var act: ConfirmedOptions
        @OptionGroup var printing: PrintingOptions

        /// What was found, and done, for programs.
        struct Report: Encodable, Sendable {
            let found: DeadLetterReport
            /// Places of those that a broker took; nil where nobody said --yes.
            let sent: [String]?
            /// Places of those that no broker took, and why.
            let failed: [String: String]
            /// Places of those that are not whole, or of no topic that is read.
            let leftAlone: [String]
            /// Of the places that were named.
            let unknown: [String]
        }

        func run() async throws {
            try await failingPlainly {
                let (filter, limit) = (try choice.filter(), choice.limit)
                let settings = try await ToolSettings.load()
                let found = try await settings.withKafka { try await FoundDeadLetters.read(filter, limit: limit, $0) }
                let whole = found.letters.filter { $0.message != nil }
                var failed: [String: String] = [:]
                if act.yes, let reason = act.reason, !whole.isEmpty {
                    let sender = DeadLetterSender(settings: settings, reason: reason, actor: act.who)
                    failed = try await sender.send(whole)
                }
                let report = Report(
                    found: DeadLetterReport(found),
                    sent: act.yes ? whole.map(\.place).filter { failed[$0] == nil } : nil, failed: failed,
                    leftAlone: found.letters.filter { $0.message == nil }.map(\.place),
                    unknown: filter.places.subtracting(found.letters.map(\.place)).sorted())
                try printing.answer(report, Self.text(report))
                try Self.check(report)
            }
        }

        private static func text(_ report: Report) -> String {
            var lines = [report.found.text]
            if !report.leftAlone.isEmpty {
                lines.append(
                    "left alone: \(report.leftAlone.joined(separator: " ")): kept without the value, or of no topic that is read"
                )
            }
            if let sent = report.sent {
                lines.append("sent: \(sent.count)\(sent.isEmpty ? "" : ": ")\(sent.joined(separator: " "))")
            } else {
                lines.append("nothing was sent: --yes does it")
            }
            return lines.joined(separator: "\n")
        }

        private static func check(_ report: Report) throws {
            if let (place, error) = report.failed.min(by: { $0.key < $1.key }) {
                throw ToolFailure("\(report.failed.count) were not sent; \(place): \(error)")
            }
            guard report.unknown.isEmpty else {
                throw ToolFailure("not among the dead letters: \(report.unknown.joined(separator: " "))")
            }
        }
    }
}

/// Sends letters again, each with its line in the audit log.
struct DeadLetterSender: Sendable {
    let settings: ToolSettings
    let reason: String
    let actor: String

    /// Sends them in their order.
    ///
    /// - Returns: why not, by place, for those that no broker took.
    /// - Throws: `KafkaError`, `SettingError`; `ToolFailure` where the database takes no line, and then nothing is sent.
    func send(_ letters: [DeadLetter]) async throws -> [String: String] {
        let configuration = try KafkaSettings.read(settings.reader, clientId: "countersign-operator")
        let (names, actor, reason) = (letters.map { "dead letter \($0.place)" }, actor, reason)
        _ = try await settings.withDatabase { pool in
            try await DeadLetterActs(pool: pool).write(names, actor: actor, reason: reason)
        }
        let producer = try KafkaProducer(configuration: configuration, logger: settings.logger)
        let results = await producer.send(letters.compactMap(\.message))
        // Without a right to write, librdkafka says no more of a message than that it was given up.
        let trouble = producer.trouble
        await producer.close()
        var failed: [String: String] = [:]
        for (letter, result) in zip(letters, results) {
            guard case .failure(let error) = result else { continue }
            let cause = trouble?.description ?? "\(error)"
            failed[letter.place] = "\(cause); the Kafka user countersign-operator may send"
        }
        return failed
    }
}
