import Foundation
import Kafka
import Messages
import PurchaseModel
import Synchronization
import Testing

@testable import CountersignTool

/// What `countersign kafka dump` prints of what stands in the topics.
@Suite("Submissions as lines")
struct SubmissionLinesTests {
    private final class Output: Sendable {
        let bytes = Mutex<[UInt8]>([])
    }

    private let submission = SubmissionMessage(
        submissionId: "sub_1", app: "com.example.game", account: "player", kind: .signedTransaction, proof: "a.b.c",
        attempt: 2, correlationId: "req", namedTransactionId: "7", expectedEnvironment: .sandbox)

    private func record(
        _ type: String, extensions: [String: String], data: [UInt8]
    ) -> KafkaRecord {
        let event = CloudEvent(
            id: "sub_1", type: type, source: "test", time: Date(timeIntervalSince1970: 5), subject: "sub_1", key: "k",
            extensions: extensions, data: data)
        return KafkaRecord(
            topic: Topics.submissions, partition: 0, offset: 0, value: data,
            headers: event.headers(carryingKey: true).map { KafkaHeader(name: $0.name, text: $0.value) })
    }

    @Test func `a submission is a line, and what is none is counted`() throws {
        let output = Output()
        let lines = SubmissionLines { written in output.bytes.withLock { $0 += written } }
        let json = try MessageCoding.encode(submission)
        let proof = Array(submission.proof.utf8)
        lines.add([
            record(SubmissionMessage.type, extensions: submission.extensions, data: proof),
            record("countersign.submission.v2", extensions: [:], data: proof),
            record("countersign.submission.v1", extensions: [:], data: json),
            record("something.else.v1", extensions: [:], data: json),
            KafkaRecord(topic: Topics.submissions, partition: 0, offset: 0, value: nil),
        ])
        // With the time of its message: partitions are read in no order.
        let text = String(decoding: output.bytes.withLock { $0 }, as: UTF8.self)
        let time = #","time":"1970-01-01T00:00:05.000Z""#
        #expect(text.contains(time))
        #expect(text.replacing(time, with: "") == String(decoding: json, as: UTF8.self) + "\n")
        #expect(lines.unreadable == 4)
    }
}
