import Foundation
import Kafka
import Logging
import Messages
import ProcessTesting
import Testing

extension EndToEnd {
    /// On three brokers with TLS, passwords and ACLs: what one broker's death costs, who may do what, and what is said
    /// when the way in is wrong.
    @Suite("A secured cluster", .enabled(if: Cluster.isAvailable, Comment(rawValue: Cluster.skipped)))
    struct ClusterTests {
        /// How many orders are granted between two steps, so that the pipeline is seen to move.
        private static let progress: Int64 = 30

        @Test(
            "kill -9 of each broker in turn under load: every accepted proof is fulfilled, once",
            .timeLimit(.minutes(12)))
        func everyBrokerDies() async throws {
            try await withStack { stack, _, database in
                let began = Date.now
                async let report = Load(stack).run([
                    "--count", "3600", "--rate", "20", "--duplicates", "0.2", "--concurrency", "64",
                    "--settle-timeout", "240", "--proofs", "signed_transaction,receipt,transaction_id",
                ])
                for broker in Cluster.brokers {
                    #expect(try await database.grantsMore(Self.progress), "\(broker) dies at work")
                    try await Cluster.command(["kill", broker])
                    #expect(try await database.grantsMore(Self.progress), "the others go on without \(broker)")
                    try await Cluster.command(["start", broker])
                    // Two brokers of three must always be there: the next one dies when this one has what it missed.
                    try await Cluster.command(["in-sync"])
                }
                let finished = try await report
                #expect(finished.purchases.count == 3600)
                try await Ledger(database, stack).expectExactlyOnce(finished)
                try await Ledger(database, stack).expectNothingDue(since: began)
            }
        }

        /// Who may not write what: above all nobody but the worker says what is genuine.
        @Test(
            "a service cannot write what is not its own",
            arguments: [
                ("receipt-intake", Topics.verdicts), ("receipt-intake", Topics.deliveries),
                ("receipt-intake", Topics.settlements), ("verification-worker", Topics.settlements),
                ("fulfillment", Topics.verdicts), ("fulfillment", Topics.submissions),
                ("notification", Topics.verdicts), ("notification", Topics.events),
                ("notification", Topics.deliveries), ("countersign-operator", Topics.events),
                ("verification-worker", Topics.submissions), ("verification-worker", Topics.deliveries),
                ("countersign-operator", Topics.settlements), ("countersign-operator", Topics.deadLetters),
            ])
        func foreignTopics(user: String, topic: String) async throws {
            let error = await #expect(throws: KafkaError.self) { try await Self.send(as: user, to: topic) }
            #expect(error?.code == .authorization)
            #expect(error?.nativeName == "TOPIC_AUTHORIZATION_FAILED")
        }

        /// Which error comes first depends: they may not even get the number that an idempotent producer needs.
        @Test("the operator's tool and strangers write nothing", arguments: ["countersign-tool", "stranger"])
        func noProducers(user: String) async throws {
            await #expect(throws: KafkaError.self) { try await Self.send(as: user, to: Topics.verdicts) }
        }

        @Test("a service can write what is its own, which IdempotentWrite belongs to")
        func ownTopics() async throws {
            // Dead letters are read by people, and a submission without headers becomes one.
            try await Self.send(as: "fulfillment", to: Topics.deadLetters)
            try await Self.send(as: "receipt-intake", to: Topics.submissions)
        }

        private static func send(as user: String, to topic: String) async throws {
            let cluster = try await Cluster()
            let producer = try KafkaProducer(
                configuration: KafkaConfiguration(
                    bootstrapServers: try cluster.setting("COUNTERSIGN_KAFKA"), clientId: "cluster-tests",
                    properties: try cluster.properties(user)),
                logger: Logger(label: "tests"))
            do {
                _ = try await producer.send(KafkaMessage(topic: topic, key: nil, value: Array("test".utf8)))
                await producer.close()
            } catch {
                await producer.close()
                throw error
            }
        }

        @Test("the operator's tool reads every group, and finds nothing wrong with the broker")
        func doctorIsWell() async throws {
            try await withStack { stack, _, _ in
                let doctor = try await stack.built("countersign", ["doctor"]).run()
                #expect(doctor.output.contains("countersign.fulfillment"), "\(doctor.output)")
                #expect(!doctor.output.localizedCaseInsensitiveContains("authorization"), "\(doctor.output)")
                #expect(!doctor.output.contains("WRONG   Kafka"), "\(doctor.output)")
            }
        }

        @Test("doctor says in a sentence what is wrong with the way in", arguments: Cluster.Trouble.allCases)
        func doctorSees(_ trouble: Cluster.Trouble) async throws {
            try await withStack { stack, _, _ in
                let environment = try await Cluster().environment(trouble)
                let doctor = try await stack.built("countersign", ["doctor"], environment).run()
                // 2 is "somebody has to see what was found"; a crash ends by a signal.
                #expect(doctor.status == 2)
                #expect(doctor.output.contains(trouble.diagnosis), "\(doctor.output)")
            }
        }

        /// A worker that consumes and produces, and intake, which only produces and reads the tail.
        @Test(
            "a service with a wrong way in is not ready, says why, and neither ends nor fills its log",
            .timeLimit(.minutes(5)), arguments: Cluster.Trouble.allCases, ["verification-worker-2", "receipt-intake"])
        func serviceSays(_ trouble: Cluster.Trouble, _ service: String) async throws {
            let folder = try #require(Stack.sharedFolder)
            // Longer than the test looks on: its start must not be given up meanwhile.
            let patience = try await Stack(folder: folder, environment: ["COUNTERSIGN_STACK_START_TIMEOUT": "150"])
            try await using(patience) { stack, client, _ in
                let patient = Patient(stack: stack, service: service, admin: try AdminPort(client, stack, service))
                defer { patient.heal() }
                try await stack.command(["stop", service])
                try patient.write(try await Cluster().environment(trouble))
                let start = patient.logBytes
                // It returns when the service is ready, which it is not to be, or has ended.
                async let starting = stack.program(["start", service]).run()
                try await patient.waitUntilItSays(trouble.complaint)
                #expect(patient.problems(since: start).contains { $0.contains(trouble.complaint) }, "in its log")
                let told = patient.problems(since: start).count
                // The time is what is measured: what is said in it, when nothing changes.
                try await Task.sleep(for: Patient.window)
                let (isReady, text) = await patient.admin.readiness()
                #expect(!isReady && text.contains(trouble.complaint), "\(text)")
                let further = patient.problems(since: start).count - told
                #expect(further <= Patient.linesMaximum, "\(further) lines in \(Patient.window)")
                // It exits 1 when the process had to be killed.
                try await stack.command(["stop", service])
                _ = try await starting
                patient.heal()
                try await stack.command(["start", service])
            }
        }
    }
}

/// A service that is started with a wrong way in.
private struct Patient {
    let stack: Stack
    let service: String
    let admin: AdminPort

    /// How long its log is watched.
    static let window = Duration.seconds(20)
    /// The most lines of a level above info in that time: a few a minute are a reminder, more are noise.
    static let linesMaximum = 4

    private var file: URL { stack.configuration("\(service).env") }
    private var log: URL { stack.folder.appending(path: "logs/\(service).log") }

    /// How long its log is now.
    var logBytes: Int { (try? Data(contentsOf: log).count) ?? 0 }

    /// Has the next start run with further variables.
    func write(_ environment: [String: String]) throws {
        let lines = environment.sorted { $0.key < $1.key }.map { "\($0.key)='\($0.value)'\n" }
        try Data(lines.joined().utf8).write(to: file)
    }

    /// Has the next start run without them.
    func heal() {
        try? FileManager.default.removeItem(at: file)
    }

    /// The lines of its log above info.
    func problems(since start: Int) -> [String] {
        guard let data = try? Data(contentsOf: log), data.count > start else { return [] }
        return String(decoding: data[start...], as: UTF8.self).split(separator: "\n").map(String.init).filter {
            !$0.contains(#""level":"info""#)
        }
    }

    /// Waits until its admin port says that it is not ready, with these words.
    func waitUntilItSays(_ words: String) async throws {
        let deadline = ContinuousClock.now + .seconds(50)
        while true {
            let (isReady, text) = await admin.readiness()
            if !isReady, text.contains(words) { return }
            guard ContinuousClock.now < deadline else {
                throw StackFailure("\(service) does not say “\(words)” but: \(text)")
            }
            // Nothing signals what another process finds out.
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}
