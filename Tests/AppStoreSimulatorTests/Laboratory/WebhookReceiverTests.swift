import Foundation
import HTTPTypes
import Testing
import WebhookSigning

@testable import AppStoreSimulator

/// The receiver accepts what is signed, and writes down every acceptance.
@Suite final class WebhookReceiverTests {
    private let secret = WebhookSecret.generate()
    private let file = FileManager.default.temporaryDirectory.appending(path: "hooks-\(UUID().uuidString).jsonl")
    private let body = Array(
        #"""
        {"id":"evt_1","type":"iap.transaction.fulfilled","customer":{"id":"player-1","sequence":3},
         "data":{"transaction":{"transaction_id":"2000"}}}
        """#.utf8)

    deinit {
        try? FileManager.default.removeItem(at: file)
    }

    private func receiver(failShare: Double = 0) throws -> WebhookReceiver {
        WebhookReceiver(
            verifier: WebhookVerifier(secrets: [secret]), log: try WebhookLog(path: file.path), failShare: failShare)
    }

    private func headers(signedBy secret: WebhookSecret, at date: Date) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in WebhookSigner(secrets: [secret]).headers(id: "evt_1", timestamp: date, body: body) {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return fields
    }

    private func lines() throws -> [ReceivedWebhook] {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .map { try decoder.decode(ReceivedWebhook.self, from: Data($0.utf8)) }
    }

    @Test func everyAcceptanceIsALineDuplicatesToo() async throws {
        let receiver = try receiver()
        let now = Date()
        for _ in 0..<2 {
            let status = await receiver.receive(headers(signedBy: secret, at: now), body: body, now: now)
            #expect(status == .noContent)
        }
        let lines = try lines()
        #expect(lines.count == 2)
        let first = try #require(lines.first)
        #expect(first.eventId == "evt_1" && first.type == "iap.transaction.fulfilled")
        #expect(first.transactionId == "2000" && first.account == "player-1" && first.sequence == 3)
        let counts = await receiver.log.snapshot()
        #expect(counts.accepted == 2 && counts.distinctEventIds == 1 && counts.badSignatures == 0)
    }

    @Test func anotherSecretAnOldTimeAndNoHeadersAreTurnedAway() async throws {
        let receiver = try receiver()
        let now = Date()
        let hostile = [
            headers(signedBy: .generate(), at: now), headers(signedBy: secret, at: now - 3600), HTTPFields(),
        ]
        for fields in hostile {
            #expect(await receiver.receive(fields, body: body, now: now) == .unauthorized)
        }
        #expect(try lines().isEmpty)
        #expect(await receiver.log.snapshot().badSignatures == 3)
    }

    @Test func aFailureOnPurposeIsNotWrittenDown() async throws {
        let receiver = try receiver(failShare: 1)
        let now = Date()
        let status = await receiver.receive(headers(signedBy: secret, at: now), body: body, now: now)
        #expect(status == .internalServerError)
        #expect(try lines().isEmpty)
        #expect(await receiver.log.snapshot().failedOnPurpose == 1)
    }

    @Test func aRestartedReceiverAppends() async throws {
        let now = Date()
        for _ in 0..<2 {
            _ = await (try receiver()).receive(headers(signedBy: secret, at: now), body: body, now: now)
        }
        #expect(try lines().count == 2)
    }
}
