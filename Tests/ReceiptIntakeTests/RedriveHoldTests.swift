import Configuration
import EventProcessing
import Foundation
import Kafka
import Logging
import Messages
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Synchronization
import Testing

@testable import ReceiptIntake

/// Sending again must not make the congestion worse that it comes from.
@Suite("Redriving while the consumers lag")
struct RedriveHoldTests {
    private static let broker = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_KAFKA"]
    private static let lease = Duration.seconds(1)

    @Test func `it is held while the lag is above the lease, and only while the lag is known`() {
        let state = LagState()
        let hold = RedriveHold(lease: .seconds(30)) { state.lag }
        for (seconds, isHeld) in [(nil, false), (5, false), (30, false), (31, true), (900, true), (3, false)]
            as [(Int?, Bool)]
        {
            state.lag = seconds.map { .seconds($0) }
            #expect(hold.isHeld() == isHeld)
        }
        state.lag = RedriveHold.lagMinimum
        #expect(!RedriveHold(lease: .seconds(1)) { state.lag }.isHeld(), "looks are seconds apart")
    }

    @Test func `what is held claims nothing`() async throws {
        struct Claimed: Error {}
        let redrive = SubmissionRedrive(
            claim: { _ in throw Claimed() }, publish: { _ in 0 }, isHeld: { true })
        let round = try await redrive(limit: 500)
        #expect(round.count == 0 && !round.isMoreDue)
    }

    @Test(
        "with a broker: what waits in Kafka is not sent again, and what was lost is, once the consumers are back",
        .enabled(
            if: broker != nil && TestDatabase.serverURL != nil,
            "SKIPPED: COUNTERSIGN_TEST_KAFKA or COUNTERSIGN_TEST_POSTGRES is not set"), .timeLimit(.minutes(3)))
    func congestion() async throws {
        try await TestDatabase.with { database in
            let topic = try await LaggingTopic(database, broker: Self.broker ?? "")
            let store = SubmissionStore(pool: database.pool)
            let redrive = SubmissionRedrive(
                claim: { try await store.claimDue(limit: $0, lease: Self.lease, leaseMaximum: .seconds(2)) },
                publish: { await topic.publish($0) },
                isHeld: {
                    // The looks of this test are a tenth of a second apart, and so is what they tell.
                    topic.watch.lag.map { $0 > Self.lease } ?? false
                })
            // Consumers that keep pace: nothing is held.
            let first = try await topic.startConsumer()
            try await topic.accept("a", count: 20, store, lease: Self.lease)
            #expect(try await topic.eventually { try await topic.unsettled() == 0 })
            #expect(try await topic.eventually { topic.watch.lag.map { $0 < Self.lease } ?? false })
            await first.close()
            // None: what was sent waits, and one row was never sent at all.
            try await topic.accept("b", count: 40, store, lease: Self.lease)
            _ = try await store.accept([LaggingTopic.submission("lost")], lease: Self.lease)
            #expect(try await topic.eventually { topic.watch.lag.map { $0 > Self.lease } ?? false })
            #expect(try await topic.eventually { try await topic.due() == 41 })
            let sent = topic.sent
            for _ in 0..<20 {
                await topic.watch.look()
                #expect(try await redrive(limit: 500).count == 0)
            }
            #expect(topic.sent == sent && sent == 60)
            // They are back.
            let second = try await topic.startConsumer()
            #expect(try await topic.eventually { try await topic.unsettled() == 1 })
            #expect(try await topic.eventually { topic.watch.lag.map { $0 < Self.lease } ?? false })
            #expect(try await redrive(limit: 500).count == 1, "of all only what was lost is sent again")
            #expect(try await topic.eventually { try await topic.unsettled() == 0 })
            #expect(topic.sent == 61)
            await second.close()
        }
    }
}

/// A lag that a test sets.
private final class LagState: Sendable {
    private let value = Mutex<Duration?>(nil)
    var lag: Duration? {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}

/// A topic of a test's own, with a group that settles what it reads.
private final class LaggingTopic: Sendable {
    private static let partitions = 2
    private static let patience = Duration.seconds(60)

    let watch: GroupLagWatch
    private let database: TestDatabase
    private let kafka: KafkaConfiguration
    private let group: TopicUse.Group
    private let producer: KafkaProducer
    private let count = Mutex(0)

    /// Messages that were sent.
    var sent: Int { count.withLock { $0 } }

    init(_ database: TestDatabase, broker: String) async throws {
        let name = "test-redrive-\(UUID().uuidString.lowercased())"
        let logger = Logger(label: "redrive") { _ in SwiftLogNoOpLogHandler() }
        self.database = database
        kafka = KafkaConfiguration(bootstrapServers: broker, clientId: "redrive-tests", properties: [:])
        group = TopicUse.Group(name: name, topic: name, service: "test")
        let admin = try KafkaAdmin(configuration: kafka, logger: logger)
        _ = try await admin.createTopics(
            [KafkaTopicSpecification(name: name, partitions: Self.partitions)], timeout: .seconds(20))
        await admin.close()
        producer = try KafkaProducer(configuration: kafka, logger: logger)
        let context = ServiceContext(
            identity: ServiceIdentity(name: "test", version: "1.0", adminPort: 0),
            configuration: ConfigReader(provider: InMemoryProvider(values: [:])), logger: logger)
        watch = GroupLagWatch([group], monitor: try KafkaMonitor(kafka: kafka, context: context), logger: logger)
    }

    static func submission(_ id: String) -> SubmissionStore.NewSubmission {
        SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: id, app: "app", account: "account", kind: .signedTransaction, proof: "a.b.c", attempt: 0,
                correlationId: "req"), partitionKey: id)
    }

    /// Accepts submissions and sends them.
    func accept(_ name: String, count: Int, _ store: SubmissionStore, lease: Duration) async throws {
        let submissions = (0..<count).map { Self.submission("\(name)\($0)") }
        _ = try await store.accept(submissions, lease: lease)
        #expect(await publish(submissions) == 0)
    }

    /// Sends to all partitions in turn; returns how many did not arrive.
    func publish(_ submissions: [SubmissionStore.NewSubmission]) async -> Int {
        var failures = 0
        for submission in submissions {
            let id = submission.message.submissionId
            do {
                _ = try await producer.send(
                    KafkaMessage(topic: group.topic, key: Array(id.utf8), value: Array(id.utf8)))
                count.withLock { $0 += 1 }
            } catch {
                failures += 1
            }
        }
        return failures
    }

    /// Reads and settles, until it is closed.
    func startConsumer() async throws -> Reader {
        let pool = database.pool
        let consumer = try KafkaConsumer(
            configuration: kafka, settings: KafkaConsumerSettings(groupId: group.name, topics: [group.topic]),
            logger: Logger(label: "redrive") { _ in SwiftLogNoOpLogHandler() }
        ) { records in
            let ids = records.compactMap { $0.value.map { String(decoding: $0, as: UTF8.self) } }
            _ = try await pool.query(
                """
                UPDATE submissions SET state = 'fulfilled', outcome = '{}', due_at = NULL, settled_at = now()
                WHERE id = ANY($1) AND state = 'received'
                """, [.textArray(ids)])
        }
        return Reader(consumer: consumer, run: Task { try await consumer.run() })
    }

    struct Reader {
        let consumer: KafkaConsumer
        let run: Task<Void, any Error>

        func close() async {
            await consumer.close()
            _ = try? await run.value
        }
    }

    func unsettled() async throws -> Int64 { try await number("due_at IS NOT NULL") }

    func due() async throws -> Int64 { try await number("due_at <= now()") }

    private func number(_ condition: String) async throws -> Int64 {
        let result = try await database.pool.query(
            "SELECT count(*) AS n FROM submissions WHERE \(unescaped: condition)")
        return try result.rows[0].decode("n")
    }

    /// Looks at the group until a condition holds, or for a minute.
    func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + Self.patience
        while ContinuousClock.now < end {
            await watch.look()
            if try await condition() { return true }
            // The cluster tells nobody when a group has come further.
            try await Task.sleep(for: .milliseconds(100))
        }
        return false
    }
}
