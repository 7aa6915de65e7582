import Foundation
import ProcessTesting
import ServerTesting
import Testing
import WebhookSigning

@testable import Notification

/// The official Python package `standardwebhooks` verifies what this service really posts: `Tests/Receivers`.
@Suite(
    "Standard Webhooks' own package",
    .enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)), .timeLimit(.minutes(5)))
struct StandardWebhooksTests: DeliverySuite {
    let secret = WebhookSecret.generate()

    /// What `run` says when the package cannot be installed here.
    private static let skipped: Int32 = 77

    private struct Delivery: Encodable {
        let secret: String
        let headers: [String: String]
        let body: String
    }

    /// The verdicts on deliveries, one each; nil where the package cannot be had.
    private func verdicts(_ deliveries: [Delivery]) async throws -> [String]? {
        var input = Data()
        for delivery in deliveries { input += try JSONEncoder().encode(delivery) + Data("\n".utf8) }
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Receivers/run")
        let ended = try await Program(
            path: script.path, arguments: ["verify"], input: input, output: .errorsShown
        ).run()
        if ended.status == Self.skipped { return nil }
        #expect(ended.isGood)
        return ended.output.split(separator: "\n").map(String.init)
    }

    @Test func realDeliveriesAreGoodAndChangedOnesAreNot() async throws {
        let request = try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port)]
                let loop = loop(database, endpoints, settings())
                try await running([loop]) {
                    try await takeOver(database, ["evt_1"], endpoints, by: loop)
                    await receiver.waitForRequests(1)
                }
                return try #require(receiver.requests.first)
            }
        }
        let headers = request.headers
        func delivery(_ secret: WebhookSecret, _ headers: [String: String], _ body: [UInt8]) -> Delivery {
            Delivery(secret: secret.reveal(), headers: headers, body: Data(body).base64EncodedString())
        }
        var old = headers
        old["webhook-timestamp"] = "1700000000"
        let given = [
            delivery(secret, headers, request.body), delivery(.generate(), headers, request.body),
            delivery(secret, headers, request.body + [0x20]), delivery(secret, old, request.body),
        ]
        guard let verdicts = try await verdicts(given) else {
            FileHandle.standardError.write(
                Data("SKIPPED: standardwebhooks could not be installed here (python3, network): see above\n".utf8))
            return
        }
        #expect(verdicts.count == given.count)
        #expect(verdicts.first == "good")
        for verdict in verdicts.dropFirst() { #expect(verdict.hasPrefix("WebhookVerificationError"), "\(verdict)") }
    }
}
