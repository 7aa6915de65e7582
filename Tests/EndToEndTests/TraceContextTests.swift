import Foundation
import Kafka
import Logging
import Messages
import NIOHTTP1
import Postgres
import Synchronization
import Testing

extension EndToEnd {
    /// W3C trace context: a request's `traceparent` goes with all that follows from it.
    @Suite("Trace context")
    struct TraceContextTests {
        private static let app = "com.example.game"
        private static let traceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        private static let topics = [
            Topics.submissions, Topics.lookups, Topics.verdicts, Topics.deliveries, Topics.events,
        ]

        /// The types of messages that carried the header, by topic.
        private final class Seen: Sendable {
            private let types = Mutex<[String: Set<String>]>([:])
            private let (topics, topic) = AsyncStream.makeStream(of: String.self)

            func note(_ records: [KafkaRecord]) {
                types.withLock { types in
                    for record in records {
                        func header(_ name: String) -> String? {
                            record.headers.first { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
                        }
                        guard header("traceparent") == traceParent, let type = header("ce_type") else { continue }
                        types[record.topic, default: []].insert(type)
                        topic.yield(record.topic)
                    }
                }
            }

            var all: [String: Set<String>] { types.withLock { $0 } }

            /// Waits for a message with the header in a topic.
            func wait(for topic: String) async {
                for await seen in topics where seen == topic { break }
            }
        }

        @Test(
            "a request's traceparent is on every message and on the webhook that follow from it",
            .timeLimit(.minutes(3)))
        func isHandedOn() async throws {
            try await withStack { stack, client, database in
                let seen = Seen()
                let kafka = KafkaConfiguration(
                    bootstrapServers: try stack.setting("COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS"), clientId: "trace-tests")
                let readers = try Self.topics.map { topic in
                    try KafkaTailReader(configuration: kafka, topic: topic, logger: Logger(label: "tests")) {
                        seen.note($0)
                    }
                }
                let running = readers.map { reader in Task { try await reader.run() } }
                for reader in readers { await reader.waitUntilReady() }
                let sales = try await client.sell(
                    ["bundleId": Self.app, "productId": "gems.100", "type": "Consumable"], count: 2)
                let proofs = [
                    ["signed_transaction": try #require(sales.first).signedTransaction],
                    ["transaction_id": try #require(sales.last).transactionId],
                ]
                for proof in proofs { try await post(proof, client) }
                let ids = sales.map(\.transactionId)
                let undelivered = try await database.wait(
                    for: 0, within: .seconds(60),
                    """
                    SELECT 2 - count(*) AS n FROM events e JOIN webhook_deliveries d ON d.event_id = e.id
                    WHERE e.transaction_id = ANY($1) AND e.type = 'iap.transaction.fulfilled' AND d.state = 'delivered'
                    """, [.textArray(ids)])
                #expect(undelivered == 0)
                // Published within a moment of its position, which notification does not wait for.
                await seen.wait(for: Topics.events)
                for reader in readers { await reader.close() }
                for run in running { try await run.value }
                #expect(
                    seen.all == [
                        Topics.submissions: [SubmissionMessage.type], Topics.lookups: [SubmissionMessage.type],
                        Topics.verdicts: [VerdictMessage.type], Topics.deliveries: ["iap.transaction.fulfilled"],
                        Topics.events: ["iap.transaction.fulfilled"],
                    ])
                #expect(try webhooks(of: Set(ids), stack) == [Self.traceParent, Self.traceParent])
            }
        }

        private func post(_ proof: [String: String], _ client: IntakeClient) async throws {
            let fields = proof.merging(["app": Self.app, "account": "traced"]) { $1 }
            let headers = client.jsonHeaders.merging(["traceparent": Self.traceParent]) { $1 }
            let answer = try await client.send(
                .POST, "\(client.intake)/v1/purchases?wait=25", headers: headers, body: try MessageCoding.encode(fields)
            )
            #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        }

        /// What the receiver was sent as `traceparent`, for these transactions; a repeated delivery counts once.
        private func webhooks(of ids: Set<String>, _ stack: Stack) throws -> [String?] {
            let file = URL(filePath: try stack.setting("COUNTERSIGN_WEBHOOK_RECEIVER_OUTPUT"))
            let lines = String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n")
            let webhooks = try lines.map { try JSONDecoder().decode(Webhook.self, from: Data($0.utf8)) }
            let wanted = webhooks.filter { webhook in webhook.transactionId.map { ids.contains($0) } ?? false }
            return Dictionary(wanted.map { ($0.eventId, $0.traceParent) }) { first, _ in first }.map(\.value)
        }

        private struct Webhook: Decodable {
            let eventId: String
            let transactionId: String?
            let traceParent: String?

            enum CodingKeys: String, CodingKey {
                case eventId = "event_id"
                case transactionId = "transaction_id"
                case traceParent = "traceparent"
            }
        }
    }
}
