import Foundation
import HTTPTypes
import HummingbirdTesting
import Postgres
import Testing

@testable import ReceiptIntake

/// Requests about intents, notifications and order ids, with what really came back.
enum IntentSamples {
    /// Asks well and badly.
    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [SampleRequest.Sample] {
        try await intents(intake, database) + notifications(intake) + orderIds(intake)
    }

    private static func intents(
        _ intake: TestIntake, _ database: TestDatabase
    ) async throws -> [SampleRequest.Sample] {
        let player = try IntentRows.player()
        let key = TestIntake.serverKey
        let opened = try await intake.openIntent("gems100", as: player)
        let bought = try await intake.openIntent("gems100", as: key, account: "player-1")
        try await IntentRows(pool: database.pool).order("2000099", token: bought.id, state: "granted", at: 5)
        var samples: [SampleRequest.Sample] = [("POST", "/v1/intents", opened), ("POST", "/v1/intents", bought)]
        for (product, token, account) in [
            ("", player, nil), ("p", player, "player-2"), ("p", key, nil), ("p", "csk_wrong", "player-1"),
        ] {
            samples.append(("POST", "/v1/intents", try await intake.openIntent(product, as: token, account: account)))
        }
        for (body, type) in [("{", "application/json"), ("{}", "text/plain")] {
            let answer = try await intake.send(
                .post, "/v1/intents", token: player, body: body, headers: [.contentType: type])
            samples.append(("POST", "/v1/intents", answer))
        }
        _ = try await database.pool.query(
            """
            INSERT INTO purchase_intents (id, app, account, product_id)
            SELECT gen_random_uuid(), $1, 'player-9', 'p' FROM generate_series(1, 1000)
            """, [.text(TestIntake.app)])
        samples.append(
            ("POST", "/v1/intents", try await intake.openIntent("p", as: IntentRows.player("player-9"))))
        for (id, token) in [
            (opened.id, player), (bought.id, player), (bought.id, key), ("none", key), (opened.id, "csk_wrong"),
        ] {
            samples.append(("GET", "/v1/intents/{id}", try await intake.intent(id, as: token)))
        }
        samples.append(("GET", "/v1/intents/{id}", try await intake.intent(opened.id, as: key, app: "")))
        return samples
    }

    private static func notifications(_ intake: TestIntake) async throws -> [SampleRequest.Sample] {
        let notification = try NotificationPayload.renewal()
        var samples: [SampleRequest.Sample] = []
        for signedPayload in [
            notification, notification, "a.b", try NotificationPayload.renewal(app: "com.example.unknown"),
            String(repeating: "A", count: 300_000), Proofs.fresh(),
        ] {
            samples.append(("POST", "/v1/notifications", try await intake.notify(signedPayload)))
        }
        for body in ["", "{}"] {
            let answer = try await intake.send(.post, "/v1/notifications", token: nil, body: body)
            samples.append(("POST", "/v1/notifications", answer))
        }
        let id = try #require(samples.first).answer.id
        let told = try await intake.send(.get, "/v1/purchases/\(id)", token: TestIntake.serverKey)
        return samples + [("GET", "/v1/purchases/{id}", told)]
    }

    private static func orderIds(_ intake: TestIntake) async throws -> [SampleRequest.Sample] {
        let player = try IntentRows.player()
        var samples: [SampleRequest.Sample] = []
        for fields in [["order_id": "mv7kq2xh0p"], ["order_id": "MV-7"], ["order_id": "MV7", "transaction_id": "1"]] {
            samples.append(("POST", "/v1/purchases", try await intake.post(fields: fields, as: player)))
        }
        return samples
    }
}
