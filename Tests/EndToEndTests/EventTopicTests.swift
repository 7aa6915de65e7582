import Foundation
import Kafka
import Logging
import Messages
import Postgres
import Synchronization
import Testing

extension EndToEnd {
    /// The public topic: whoever reads it gets every event, in the account's order.
    @Suite("The topic of events")
    struct EventTopicTests {
        private static let app = "com.example.game"
        private static let gems = ["bundleId": app, "productId": "gems.100", "type": "Consumable"]

        /// A consumer of the studio's own, which drops the ids that it knows.
        private final class Analytics: Sendable {
            private let account: String
            private let ids = Mutex<[String]>([])
            private let more: AsyncStream<Int>
            private let told: AsyncStream<Int>.Continuation

            init(_ account: String) {
                self.account = account
                (more, told) = AsyncStream.makeStream()
            }

            func note(_ records: [KafkaRecord]) {
                let count = ids.withLock { ids in
                    for record in records where record.key == Array(account.utf8) {
                        let id = record.headers.first { $0.name == "ce_id" }?.value.map {
                            String(decoding: $0, as: UTF8.self)
                        }
                        if let id, !ids.contains(id) { ids.append(id) }
                    }
                    return ids.count
                }
                told.yield(count)
            }

            /// The ids in the order in which they came first, when there are so many.
            func read(_ count: Int) async -> [String] {
                for await known in more where known >= count { break }
                return ids.withLock { $0 }
            }
        }

        @Test(
            "fulfillment is killed again and again beside a second one: the topic has every event, in the account's order",
            .timeLimit(.minutes(3)))
        func killed() async throws {
            try await withStack { stack, client, database in
                let account = "analytics-\(UUID().uuidString.prefix(8).lowercased())"
                let analytics = Analytics(account)
                let kafka = KafkaConfiguration(
                    bootstrapServers: try stack.setting("COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS"), clientId: "analytics")
                let reader = try KafkaTailReader(
                    configuration: kafka, topic: Topics.events, logger: Logger(label: "tests")
                ) { analytics.note($0) }
                let running = Task { try await reader.run() }
                await reader.waitUntilReady()
                let (rounds, size) = (6, 8)
                let went = try await FurtherProcess.run(1, of: "fulfillment", stack, client) { _ in
                    for round in 0..<rounds {
                        async let bought: Void = client.buy(
                            Self.gems, count: size, app: Self.app, account: account)
                        // In the middle of its work, and of what it publishes.
                        if round.isMultiple(of: 2) { try await stack.crash("fulfillment") }
                        try await bought
                    }
                }
                #expect(went, "the second fulfillment process leaves by itself")
                let came = await analytics.read(rounds * size)
                let written = try await database.rows(
                    "SELECT id FROM events WHERE account = $1 AND app = $2 ORDER BY sequence",
                    [.text(account), .text(Self.app)]
                ).map { try $0.decode("id", as: String.self) }
                #expect(written.count == rounds * size)
                #expect(came == written)
                await reader.close()
                try await running.value
            }
        }
    }
}
