import EventProcessing
import Foundation
import Kafka
import Logging
import Messages
import PersistenceTesting
import Postgres
import Synchronization
import Testing

@testable import CountersignTool

/// `countersign dead-letters`, as a process, with a broker.
@Suite(
    .enabled(
        if: ToolProcess.isReady && ToolProcess.broker != nil,
        "SKIPPED: COUNTERSIGN_BIN_DIR, COUNTERSIGN_TEST_POSTGRES or COUNTERSIGN_TEST_KAFKA is not set"))
struct DeadLettersCommandTests {
    private let kafka = KafkaConfiguration(bootstrapServers: ToolProcess.broker ?? "", clientId: "tool-tests")
    private let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    /// Every other test's letters and messages have another subject.
    private let subject = "subject-\(UUID().uuidString.lowercased())"

    /// A message with whatever a record may have; no service reads its type.
    private var original: KafkaMessage {
        KafkaMessage(
            topic: Topics.deliveries, key: Array("alice".utf8), value: [0, 1, 255] + Array("{}".utf8),
            headers: [
                KafkaHeader(name: "ce_id", text: subject), KafkaHeader(name: "ce_type", text: "countersign.test.v1"),
                KafkaHeader(name: "ce_subject", text: subject), KafkaHeader(name: "x", value: nil),
                KafkaHeader(name: "x", value: [0, 200]),
            ])
    }

    /// Makes the message a dead letter as a consumer does, `count` times.
    private func die(_ count: Int = 1, topic: String = Topics.deliveries, value: [UInt8]? = nil) async throws {
        let producer = try KafkaProducer(configuration: kafka, logger: logger)
        let letters = (0..<count).map { number in
            KafkaRecord(
                topic: topic, partition: 3, offset: Int64(number), key: original.key, value: value ?? original.value,
                headers: original.headers)
        }
        do {
            try await DeadLetters(producer: producer, consumer: "countersign.notification", logger: logger)
                .keep(letters.map { ($0, "the data is not \u{1B}[31m a countersign.test.v1") })
            await producer.close()
        } catch {
            await producer.close()
            throw error
        }
    }

    private func withAdmin<Result: Sendable>(_ body: (KafkaAdmin) async throws -> Result) async throws -> Result {
        let admin = try KafkaAdmin(configuration: kafka, logger: logger)
        do {
            let result = try await body(admin)
            await admin.close()
            return result
        } catch {
            await admin.close()
            throw error
        }
    }

    /// The messages of this test in the topic of deliveries.
    private func received() async throws -> [KafkaMessage] {
        try await withAdmin { admin in
            let count = try #require(try await admin.partitionCounts()[Topics.deliveries])
            let places = (0..<count).map { KafkaPartition(topic: Topics.deliveries, partition: Int32($0)) }
            let found = Mutex<[KafkaMessage]>([])
            let mine = KafkaHeader(name: "ce_subject", text: subject)
            try await admin.read(try await admin.offsets(of: places)) { record in
                guard record.headers.contains(mine) else { return }
                found.withLock {
                    $0.append(
                        KafkaMessage(topic: record.topic, key: record.key, value: record.value, headers: record.headers)
                    )
                }
            }
            return found.withLock { $0 }
        }
    }

    /// The lines of this test's letters in a list.
    private func mine(_ list: [String: Any]) throws -> [[String: Any]] {
        let letters = try #require(list["letters"] as? [[String: Any]])
        return letters.filter { $0["subject"] as? String == subject }
    }

    private func prepared(_ pool: PostgresPool) async throws -> @Sendable (String...) async throws -> ToolProcess.Ended
    {
        _ = try await withAdmin { admin in
            try await admin.createTopics(
                Topics.partitionsByDefault.map { KafkaTopicSpecification(name: $0.name, partitions: $0.partitions) })
        }
        let tool = try await ToolProcess(pool)
        let variables = ["COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrapServers]
        return { (arguments: String...) in try await tool.run(["dead-letters"] + arguments, variables: variables) }
    }

    @Test("lists a letter, sends it only with --yes, as it was, and notes who wanted it; twice sent is the same twice")
    func sends() async throws {
        let since = Date.now.addingTimeInterval(-60).formatted(.iso8601)
        try await TestDatabase.with { pool in
            let tool = try await prepared(pool)
            try await die()
            let listed = try await tool("list", "--since", since, "--json")
            #expect(listed.status == 0, "\(listed.errors)")
            let line = try #require(try mine(listed.json()).first)
            #expect(line["topic"] as? String == Topics.deliveries && line["origin"] as? String == "3/0")
            #expect(line["consumer"] as? String == "countersign.notification")
            #expect(line["can_be_sent"] as? Bool == true && line["value_bytes"] as? Int == 5)
            let place = try #require(line["place"] as? String)
            let text = try await tool("list", place)
            #expect(text.output.contains("countersign.deliveries 3/0") && !text.output.contains("\u{1B}"))
            #expect(text.lines.last == "dead letters: 1 of countersign.deliveries")

            let looked = try await tool("send", place)
            #expect(looked.status == 0, "\(looked.errors)")
            #expect(looked.lines.last == "nothing was sent: --yes does it")
            #expect(try await received().isEmpty)
            #expect(try await tool("send", place, "--yes").status == 64, "no reason, no message")

            for count in 1...2 {
                let sent = try await tool("send", place, "--yes", "--reason", "the upgrade is over", "--actor", "anna")
                #expect(sent.status == 0, "\(sent.errors)")
                #expect(sent.lines.last == "sent: 1: \(place)")
                #expect(try await received() == Array(repeating: original, count: count))
            }
            let acts = try await pool.query("SELECT actor, action, subject, reason FROM audit_log ORDER BY id").rows
            #expect(
                try acts.map { try $0.decode("subject", as: String.self) }
                    == Array(repeating: "dead letter \(place)", count: 2))
            #expect(try acts.allSatisfy { try $0.decode("actor", as: String.self) == "anna" })
            #expect(try acts.allSatisfy { try $0.decode("action", as: String.self) == "send_dead_letter" })
        }
    }

    @Test("time, topic, place and number choose; what is not whole is left alone, and what is not there is an error")
    func chooses() async throws {
        let since = Date.now.addingTimeInterval(-60).formatted(.iso8601)
        try await TestDatabase.with { pool in
            let tool = try await prepared(pool)
            try await die(3)
            try await die(topic: "another")
            let all = try mine(try await tool("list", "--since", since, "--json").json())
            #expect(all.count == 4)
            let places = all.compactMap { $0["place"] as? String }
            #expect(try mine(try await tool("list", "--until", since, "--json").json()).isEmpty)
            #expect(try mine(try await tool("list", "--topic", Topics.verdicts, "--json").json()).isEmpty)
            let limited = try await tool("list", places[0], places[1], "--limit", "1", "--json").json()
            #expect((limited["letters"] as? [Any])?.count == 1)
            #expect((limited["counts"] as? [String: Int])?.values.reduce(0, +) == 2)

            let foreign = try #require(all.first { $0["topic"] as? String == "another" }?["place"] as? String)
            let left = try await tool("send", foreign, "--yes", "--reason", "try", "--json")
            #expect(left.status == 0, "\(left.errors)")
            #expect(try left.json()["left_alone"] as? [String] == [foreign])
            #expect(try left.json()["sent"] as? [String] == [])
            let acts = try await pool.query("SELECT count(*) AS n FROM audit_log").rows[0]
            #expect(try acts.decode("n", as: Int64.self) == 0)

            let unknown = try await tool("send", "2/999999999999")
            #expect(unknown.status == 1)
            #expect(unknown.errors.contains("not among the dead letters: 2/999999999999"))
            #expect(try await tool("list", "nowhere").status == 64)
            #expect(try await tool("list", "--topic", "submissions").status == 64)
            #expect(try await tool("list", "--limit", "1001").status == 64)
        }
    }

    @Test("a letter that was kept without its value cannot be sent")
    func shortened() {
        let headers = ["reason": "too large", "topic": Topics.verdicts, "value-bytes": "2000000"]
        let letter = DeadLetter(
            KafkaRecord(
                topic: Topics.deadLetters, partition: 1, offset: 7, key: [1], value: nil,
                headers: headers.map { KafkaHeader(name: "dead-letter-\($0.key)", text: $0.value) }))
        #expect(letter.message == nil && letter.isShortened && letter.valueBytes == 2_000_000)
        #expect(letter.topic == Topics.verdicts && letter.place == "1/7")
    }
}
