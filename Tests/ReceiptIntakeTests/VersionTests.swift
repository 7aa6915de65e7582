import Foundation
import HTTPTypes
import HummingbirdTesting
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "Versions of the API",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct VersionTests {
    private static let newest: HTTPFields = [.countersignVersion: APIVersion.newest.rawValue]

    @Test func `an intent has an opaque id in the newest version, its UUID in the oldest, and is found by both`()
        async throws
    {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let body = #"{"app":"\#(TestIntake.app)","account":"a","product_id":"gems"}"#
                let opened = try await intake.send(
                    .post, "/v1/intents", token: TestIntake.serverKey, body: body, headers: Self.newest)
                let token = try #require(opened.fields["app_account_token"] as? String)
                #expect(opened.status == 201 && opened.id == "int_" + token.replacing("-", with: ""))
                for id in [opened.id, token, token.uppercased()] {
                    let path = "/v1/intents/\(id)?app=\(TestIntake.app)"
                    let new = try await intake.send(.get, path, token: TestIntake.serverKey, headers: Self.newest)
                    let old = try await intake.send(.get, path, token: TestIntake.serverKey)
                    #expect(
                        new.id == opened.id && old.id == token && old.fields["app_account_token"] as? String == token)
                    let found = try await intake.list("/v1/find", "&q=\(id)").fields["data"] as? [[String: Any]] ?? []
                    #expect(found.map { $0["intent_id"] as? String } == [token], "\(id)")
                }
                for id in [
                    "int_", "int_x", "int_" + token, opened.id + "0", "spd_" + String(repeating: "0", count: 16),
                ] {
                    let path = "/v1/intents/\(id)?app=\(TestIntake.app)"
                    #expect(try await intake.send(.get, path, token: TestIntake.serverKey).status == 404, "\(id)")
                }
            }
        }
    }

    @Test func `a spend has an opaque id in the newest version, and is found by both`() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("gem", 10)], to: "player-1", order: "1")
            let body = #"{"app":"\#(TestIntake.app)","items":[{"item":"gem","amount":1}]}"#
            func spend(_ headers: HTTPFields) async throws -> String {
                var headers = headers
                headers[.idempotencyKey] = "k"
                return try await intake.send(
                    .post, "/v1/accounts/player-1/spend", token: TestIntake.serverKey, body: body, headers: headers
                ).id
            }
            let (old, new) = (try await spend([:]), try await spend(Self.newest))
            #expect(old.hasPrefix("spend_") && new.hasPrefix("spd_") && new.utf8.count == 20, "\(old) \(new)")
            for id in [old, new] {
                let found = try await intake.list("/v1/find", "&q=\(id)").fields["data"] as? [[String: Any]] ?? []
                #expect(found.map { $0["spend_id"] as? String } == [old], "\(id)")
            }
            let answer = try await intake.send(
                .get, "/v1/accounts/player-1/ledger?app=\(TestIntake.app)", token: TestIntake.key(.read),
                headers: Self.newest)
            let lines = answer.fields["data"] as? [[String: Any]] ?? []
            #expect(lines.compactMap { $0["spend_id"] as? String } == [new], "\(answer.text)")
        }
    }

    @Test func `every number has an id of its own that leads back`() {
        for number: Int64 in [1, 2, 3, 1_000_000, .max] {
            #expect(SpendId.number(SpendId.text(number)) == number)
            #expect(SpendId.text(number).utf8.count == 20)
        }
        for text in ["spd_", "spd_0", "spend_0", "spend_-1", "spend_x", "spd_" + String(repeating: "0", count: 16)] {
            #expect(SpendId.number(text) == nil, "\(text)")
        }
        #expect(SpendId.number("spend_7") == 7)
    }
}
