import ArgumentParser
import EventProcessing
import Foundation
import Kafka
import Messages
import Persistence
import Synchronization

/// Which dead letters, by options.
struct DeadLetterChoice: ParsableArguments {
    /// How many letters one call lists or sends; each has up to a megabyte.
    static let limits = 1...1_000
    private static let topics = TopicUse.groups.map(\.topic)

    @Argument(help: "Places such as 0/42, as `list` prints them; any without them.") var places: [String] = []
    @Option(
        help: "The topic that the message came from, such as countersign.verdicts.",
        completion: .list(Self.topics))
    var topic: String?
    @Option(help: "Dead since this time or later: 2026-11-21, or 2026-11-21T10:00:00Z.") var since: String?
    @Option(help: "Dead before this time.") var until: String?
    @Option(help: "The maximum number, the oldest first.") var limit = 100

    func validate() throws {
        guard Self.limits.contains(limit) else {
            throw ValidationError("--limit is from \(Self.limits.lowerBound) to \(Self.limits.upperBound)")
        }
        if let topic, !Self.topics.contains(topic) {
            throw ValidationError("--topic is one of \(Self.topics.joined(separator: ", "))")
        }
        _ = try filter()
    }

    /// What the options ask for.
    func filter() throws -> DeadLetterFilter {
        for place in places where place.wholeMatch(of: /[0-9]{1,9}\/[0-9]{1,18}/) == nil {
            throw ValidationError("\(place) is no place: PARTITION/OFFSET, such as 0/42")
        }
        return DeadLetterFilter(
            places: Set(places), topic: topic, since: try since.map { try Self.instant($0, "--since") },
            until: try until.map { try Self.instant($0, "--until") })
    }

    private static func instant(_ text: String, _ option: String) throws -> Date {
        guard let date = WebhookSelection.time(text) else {
            throw ValidationError("\(option) is a day or a time: 2026-11-21, 2026-11-21T10:00:00Z")
        }
        return date
    }
}

/// Which dead letters.
struct DeadLetterFilter: Sendable {
    var places: Set<String> = []
    var topic: String?
    var since: Date?
    var until: Date?

    func takes(_ letter: DeadLetter) -> Bool {
        if !places.isEmpty, !places.contains(letter.place) { return false }
        if let topic, letter.topic != topic { return false }
        guard since != nil || until != nil else { return true }
        guard let time = letter.time else { return false }
        return since.map { time >= $0 } ?? true && until.map { time < $0 } ?? true
    }
}

extension DeadLetter {
    /// Its name for a person: `0/42`.
    var place: String { "\(partition)/\(offset)" }
}

/// The dead letters that were asked for, of all that Kafka still has.
struct FoundDeadLetters: Sendable {
    /// The oldest that fit, at most as many as the limit.
    private(set) var letters: [DeadLetter] = []
    /// How many fit, by the topic that they came from.
    private(set) var counts: [String: Int] = [:]
    private let limit: Int
    private let filter: DeadLetterFilter

    init(_ filter: DeadLetterFilter, limit: Int) {
        (self.filter, self.limit) = (filter, limit)
    }

    var count: Int { counts.values.reduce(0, +) }

    mutating func add(_ letter: DeadLetter) {
        guard filter.takes(letter) else { return }
        counts[letter.topic ?? "an unknown topic", default: 0] += 1
        letters.append(letter)
        // Partitions come mixed; what is over the limit need not be kept until the end.
        if letters.count >= 2 * limit { shorten() }
    }

    mutating func shorten() {
        letters.sort {
            ($0.time ?? .distantPast, $0.partition, $0.offset) < ($1.time ?? .distantPast, $1.partition, $1.offset)
        }
        letters = Array(letters.prefix(limit))
    }

    /// Reads what the topic has now.
    ///
    /// - Throws: `KafkaError`; `ToolFailure` where there is no such topic.
    static func read(_ filter: DeadLetterFilter, limit: Int, _ admin: KafkaAdmin) async throws -> FoundDeadLetters {
        guard let count = try await admin.partitionCounts()[Topics.deadLetters] else {
            throw ToolFailure("there is no topic \(Topics.deadLetters), or this user may not see it")
        }
        let partitions = (0..<count).map { KafkaPartition(topic: Topics.deadLetters, partition: Int32($0)) }
        let found = Mutex(FoundDeadLetters(filter, limit: limit))
        try await admin.read(try await admin.offsets(of: partitions)) { record in
            found.withLock { $0.add(DeadLetter(record)) }
        }
        return found.withLock { found in
            found.shorten()
            return found
        }
    }
}
