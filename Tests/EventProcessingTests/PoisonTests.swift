import Foundation
import Logging
import Messages
import Synchronization
import Testing

@testable import EventProcessing
@testable import Kafka

/// What nobody can handle goes to the dead letters, and holds up nobody.
@Suite("Poison")
struct PoisonTests {
    private struct Text: EventMessage, Decodable {
        let text: String
    }

    /// The topic of dead letters, with a limit.
    private final class Letters: Sendable {
        private let bytesMaximum: Int
        private let kept = Mutex<[KafkaMessage]>([])

        var messages: [KafkaMessage] { kept.withLock { $0 } }

        init(bytesMaximum: Int = 10_000) {
            self.bytesMaximum = bytesMaximum
        }

        var deadLetters: DeadLetters {
            DeadLetters(consumer: "g", logger: PoisonTests.quietLogger) { messages in messages.map { self.keep($0) } }
        }

        private func keep(_ message: KafkaMessage) -> Result<KafkaDelivery, KafkaError> {
            let headers = message.headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
            guard (message.value?.count ?? 0) + headers <= bytesMaximum else {
                return .failure(KafkaError(.messageTooLarge, "too large"))
            }
            kept.withLock { $0.append(message) }
            return .success(KafkaDelivery(partition: 0, offset: 0))
        }
    }

    private static let quietLogger: Logger = {
        var logger = Logger(label: "poison")
        logger.logLevel = .critical
        return logger
    }()

    private func record(_ text: String, offset: Int64, headers: [KafkaHeader] = []) -> KafkaRecord {
        let event = CloudEvent(
            id: "\(offset)", type: "text", source: "test", time: Date(), subject: nil, key: "k",
            data: Array("{\"text\":\"\(text)\"}".utf8))
        return KafkaRecord(
            topic: "t", partition: 2, offset: offset, key: Array("k".utf8), value: event.data,
            headers: event.headers(carryingKey: false).map { KafkaHeader(name: $0.name, value: Array($0.value.utf8)) }
                + headers)
    }

    private func step(
        _ letters: Letters, _ handler: @escaping @Sendable ([String]) throws -> Void
    ) -> BatchStep<Text> {
        BatchStep(
            accepts: { $0 == "text" }, deadLetters: letters.deadLetters, logger: Self.quietLogger,
            handler: { try handler($0.map(\.message.text)) })
    }

    private func header(_ name: String, of message: KafkaMessage?) -> String? {
        message?.headers.first { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "goes to the dead letters alone, with the rest of its batch handled",
        arguments: [KafkaError.Code.messageTooLarge, .invalidMessage, .rejected])
    func poisonGoesAlone(code: KafkaError.Code) async throws {
        let letters = Letters()
        let handled = Mutex<[String]>([])
        let step = step(letters) { texts in
            if texts.contains("bad") { throw KafkaError(code, "never") }
            handled.withLock { $0 += texts }
        }
        try await step.handle(["a", "bad", "c"].enumerated().map { record($1, offset: Int64($0)) })
        #expect(handled.withLock { $0 } == ["a", "c"])
        #expect(letters.messages.count == 1)
        #expect(header("dead-letter-offset", of: letters.messages.first) == "1")
        #expect(letters.messages.first?.value == record("bad", offset: 1).value)
    }

    @Test(
        "is not what passes, or what somebody mends",
        arguments: [KafkaError.Code.timedOut, .transport, .authorization, .authentication, .unknownTopic, .abandoned])
    func passingFailuresComeAgain(code: KafkaError.Code) async throws {
        let letters = Letters()
        let step = step(letters) { _ in throw KafkaError(code, "not now") }
        await #expect(throws: KafkaError.self) { try await step.handle([record("a", offset: 0)]) }
        #expect(letters.messages.isEmpty)
        let refusal = KafkaError(.rejected, isRetriable: true, "an election")
        let electing = self.step(letters) { _ in throw refusal }
        await #expect(throws: refusal) { try await electing.handle([record("a", offset: 0)]) }
    }

    @Test("that is itself too large is kept without its value, with its place")
    func shortened() async throws {
        let letters = Letters(bytesMaximum: 1_000)
        let large = String(repeating: "x", count: 2_000)
        let step = step(letters) { _ in throw KafkaError(.messageTooLarge, "a verdict as large as that") }
        try await step.handle([record(large, offset: 41), record("small", offset: 42)])
        #expect(letters.messages.count == 2)
        let short = letters.messages.first { header("dead-letter-offset", of: $0) == "41" }
        #expect(short?.value == nil && short?.key == Array("k".utf8))
        #expect(header("dead-letter-topic", of: short) == "t" && header("dead-letter-partition", of: short) == "2")
        #expect(header("dead-letter-value-bytes", of: short) == "2011")
        #expect(header("dead-letter-reason", of: short)?.contains("a verdict as large as that") == true)
        let whole = letters.messages.first { header("dead-letter-offset", of: $0) == "42" }
        #expect(whole?.value != nil && header("dead-letter-value-bytes", of: whole) == nil)
    }

    @Test("keeps its key where that stands in a header", arguments: [1, 2_000])
    func shortenedWithKeyInHeader(keyBytes: Int) async throws {
        let letters = Letters(bytesMaximum: 1_000)
        let step = step(letters) { _ in throw KafkaError(.messageTooLarge, "too large") }
        var record = record(String(repeating: "x", count: 2_000), offset: 7)
        let key = String(repeating: "9", count: keyBytes)
        record.key = nil
        record.headers.append(KafkaHeader(name: CloudEvent.partitionKeyHeader, text: key))
        try await step.handle([record])
        let letter = try #require(letters.messages.first)
        #expect(letter.value == nil && letter.headers.allSatisfy { $0.name.hasPrefix("dead-letter-") })
        #expect(letter.key == (keyBytes == 1 ? Array(key.utf8) : nil), "a key is kept up to its limit")
    }

    @Test("keeps its batch back when it can be kept in no form")
    func notKept() async {
        let letters = Letters(bytesMaximum: 10)
        let step = step(letters) { _ in throw KafkaError(.messageTooLarge, "too large") }
        await #expect(throws: KafkaError.self) { try await step.handle([record("a", offset: 0)]) }
    }
}
