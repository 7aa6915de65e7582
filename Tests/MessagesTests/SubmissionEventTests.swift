import Foundation
import PurchaseModel
import Testing

@testable import Messages

/// A submission as an event whose data are the proof.
@Suite("A submission's event")
struct SubmissionEventTests {
    private func event(_ message: SubmissionMessage) -> CloudEvent {
        CloudEvent(
            id: message.submissionId, type: SubmissionMessage.type, source: "test",
            time: Date(timeIntervalSince1970: 5), subject: message.submissionId, key: "k",
            contentType: message.contentType, extensions: message.extensions, data: Array(message.proof.utf8))
    }

    /// As it comes out of the topic.
    private func transported(_ event: CloudEvent) throws -> CloudEvent {
        try #require(CloudEvent(headers: event.headers(carryingKey: true), key: "", data: event.data))
    }

    private let plain = SubmissionMessage(
        submissionId: "sub_1", app: "com.example.game", account: "игрок, 5\u{2003}=é", kind: .signedTransaction,
        proof: "eyJ.e30.c2ln", attempt: 0, correlationId: "req_1")

    private let full = SubmissionMessage(
        submissionId: "sub_2", app: "com.example.game", account: "", kind: .receipt, proof: "", attempt: 7,
        correlationId: "00-a-b-01", namedTransactionId: "2", expectedEnvironment: .production, isClaimCheck: true,
        isAwaited: true, notFound: .init(count: 3, seconds: 90.25))
    private let resent = SubmissionMessage(
        submissionId: "sub_3", app: "com.example.game", account: "anna", kind: .signedTransaction,
        proof: "eyJ.e30.c2ln", attempt: 1, correlationId: "req_3",
        receivedAt: Date(timeIntervalSince1970: 1_700_000_000.25))

    @Test func `says everything that the submission says`() throws {
        for message in [plain, full, resent] {
            #expect(try SubmissionMessage.read(try transported(event(message))) == message)
        }
    }

    @Test func `has the proof as its data, byte for byte, and its media type`() throws {
        let event = event(plain)
        #expect(event.data == Array("eyJ.e30.c2ln".utf8))
        #expect(event.headers(carryingKey: false).contains { $0 == (name: "content-type", value: "application/jose") })
        #expect(self.event(full).contentType == "text/plain")
        #expect(try transported(event).contentType == "application/jose")
    }

    @Test func `has attributes that CloudEvents allows`() {
        for attribute in event(full).extensions {
            #expect(attribute.key.count <= 20)
            #expect(attribute.key.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) })
        }
    }

    @Test func `of a later version may say more`() throws {
        var event = event(plain)
        event.extensions["new"] = "x"
        event.extensions["expectedenvironment"] = "xcode"
        #expect(try SubmissionMessage.read(try transported(event)) == plain)
    }

    @Test func `that lacks something or is spoilt is an error`() throws {
        for name in ["app", "account", "kind", "correlationid"] {
            var event = event(full)
            event.extensions[name] = nil
            #expect(throws: DecodingError.self) { try SubmissionMessage.read(event) }
        }
        for name in ["attempt", "notfoundcount", "notfoundseconds"] {
            var event = event(full)
            event.extensions[name] = "many"
            #expect(throws: DecodingError.self) { try SubmissionMessage.read(event) }
        }
        var event = event(full)
        event.subject = nil
        #expect(throws: DecodingError.self) { try SubmissionMessage.read(event) }
        event = self.event(plain)
        event.data = [0x65, 0xFF]
        #expect(throws: DecodingError.self) { try SubmissionMessage.read(event) }
    }
}
