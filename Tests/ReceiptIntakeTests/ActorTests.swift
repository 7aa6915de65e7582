import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "Who acts, by the audit log",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ActorTests {
    @Test func `every act by the API is a person's, where the key speaks for people; else it is the key's`()
        async throws
    {
        for actor in ["Kim <kim@example.com>", nil] {
            try await ActRows.with { intake, rows in
                for order in ["1", "2"] { try await rows.park(order) }
                try await rows.settle("a", "rejected", reason: "product_unknown")
                try await ResendRows(pool: rows.pool).write(1)
                let path = "/v1/webhooks/endpoints"
                let made = try await intake.byHand(path, ["url": "https://hooks.example.com/iap"], actor: actor)
                let one = "\(path)/\(made.id)"
                for act in ["/disable", "/enable", "/rotate", "/secrets/expire"] {
                    #expect(try await intake.byHand(one + act, actor: actor).status == 200)
                }
                for method in [HTTPRequest.Method.patch, .delete] {
                    let isDelete = method == .delete
                    let headers: HTTPFields = actor.map { [.actor: $0] } ?? [:]
                    let answer = try await intake.send(
                        method, isDelete ? one + ReadingFixture.query : one, token: TestIntake.deskKey,
                        body: isDelete ? nil : #"{"app":"\#(TestIntake.app)","description":"x"}"#, headers: headers)
                    #expect(answer.status == 200, "\(answer.text)")
                }
                #expect(try await intake.byHand("/v1/webhooks/resend", actor: actor).status == 202)
                #expect(try await intake.byHand("/v1/sweeps", ["transaction_id": "1"], actor: actor).status == 202)
                #expect(try await intake.byHand("/v1/accounts/a/forget", actor: actor).status == 202)
                #expect(try await intake.assign("2", actor: actor).status == 202)
                #expect(try await intake.adjust([("gem", 1)], key: "k", actor: actor).status == 200)
                #expect(try await intake.retry(["submissions": ["a"]], actor: actor).status == 200)
                try await rows.subscribe("9")
                #expect(try await intake.extend("9", ["days": 1], key: "e", actor: actor).status == 202)
                let actors = try await rows.pool.query("SELECT actor FROM audit_log").rows
                    .map { try $0.decode("actor", as: String.self) }
                #expect(actors.count >= 12)
                #expect(Set(actors) == [actor.map { "\($0) by key desk" } ?? "key desk"])
            }
        }
    }

    @Test func `a key without the scope says of nobody that he acts, and a name has 200 characters`() async throws {
        try await ActRows.with { intake, rows in
            let one = "/v1/webhooks/endpoints/we_none"
            for path in [
                "/v1/sweeps", "/v1/accounts/a/forget", "/v1/webhooks/resend", "/v1/webhooks/endpoints", one + "/enable",
                one + "/disable", one + "/ping", one + "/rotate", one + "/secrets/expire", "/v1/orders/1/assign",
                "/v1/accounts/a/adjustments", "/v1/submissions/retry", "/v1/subscriptions/1/extend",
            ] {
                let answer = try await intake.byHand(path, actor: "kim", token: TestIntake.key(.operate))
                #expect(answer.status == 403 && answer.slug == "scope-missing", "\(path): \(answer.text)")
                #expect(answer.fields["scope"] as? String == "staff", "\(path)")
            }
            for name in ["a\u{2028}b", String(repeating: "ö", count: 201)] {
                let answer = try await intake.adjust([("gem", 1)], key: "k", actor: name)
                #expect(answer.status == 422 && answer.slug == "field-invalid", "\(answer.text)")
            }
            #expect(try await rows.count("audit_log") == 0)
            #expect(
                try await intake.adjust([("gem", 1)], key: "k", actor: String(repeating: "ö", count: 200)).status == 200
            )
        }
    }
}
