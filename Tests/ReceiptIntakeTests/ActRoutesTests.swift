import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "What people do by the API",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ActRoutesTests {
    @Test func `an order is assigned by any of its ids; the answer has what fulfillment made of it`() async throws {
        try await ActRows.with { intake, rows in
            try await rows.park("2000001")
            try await ReadingFixture(pool: rows.pool).furtherId("2000002", of: "2000001", submission: "s1", at: 30)
            async let taken: Void = rows.takeUp(account: "player-1")
            let answer = try await intake.assign("2000002", actor: "Zoë <zoe@example.com>")
            try await taken
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.fields["transaction_id"] as? String == "2000001")
            #expect(answer.fields["pending"] as? Bool == false && answer.fields["assigned"] as? Bool == true)
            #expect(answer.state == "granted" && answer.fields["reason"] == nil)
            #expect(answer.fields["audit_id"] as? String != nil && !answer.text.contains("player-1"))
            #expect(try await rows.audit() == ["Zoë <zoe@example.com> by key desk|claim|ticket 4711"])
        }
    }

    @Test func `what fulfillment does not take up is pending, and repeated from memory as that`() async throws {
        try await ActRows.with { intake, rows in
            try await rows.park("2000001")
            let answer = try await intake.assign("2000001", key: "k")
            #expect(answer.status == 202 && answer.headers[.retryAfter] == "2", "\(answer.text)")
            #expect(answer.fields["pending"] as? Bool == true && answer.fields["assigned"] == nil)
            #expect(answer.state == "parked" && answer.fields["reason"] as? String == "unclaimed")
            let again = try await intake.assign("2000001", key: "k")
            #expect(again.text == answer.text && again.headers[.idempotentReplayed] == "true")
            #expect(again.headers[.retryAfter] == "2")
            #expect(try await rows.count("operator_claims") == 1)
        }
    }

    @Test func `an order that is not parked without an account, or another app's, is not assigned`() async throws {
        try await ActRows.with { intake, rows in
            let orders = ReadingFixture(pool: rows.pool)
            try await rows.park("1")
            try await rows.park("2", app: TestIntake.otherApp)
            try await rows.park("3", environment: "sandbox")
            try await orders.order("4", account: "player-2", at: 20, granted: 30)
            try await orders.order("5", account: "player-2", reason: "product_unknown", at: 20)
            #expect(try await intake.assign("1").status == 202)
            let before = try await rows.everything()
            let expected: [(order: String, slug: String, reason: String?)] = [
                ("1", "order-not-assignable", "order_assigned_already"), ("2", "not-found", nil),
                ("3", "not-found", nil), ("4", "order-not-assignable", "order_not_parked"),
                ("5", "order-not-assignable", "order_has_account"), ("none", "not-found", nil),
            ]
            for (order, slug, reason) in expected {
                for isDry in [true, false] {
                    let answer = try await intake.assign(order, ["dry_run": isDry])
                    #expect(answer.slug == slug && answer.fields["reason"] as? String == reason, "\(answer.text)")
                    #expect(!answer.text.contains("player-"))
                }
            }
            #expect(try await rows.everything() == before)
            #expect(try await intake.assign("3", ["environment": "sandbox"]).status == 202)
        }
    }

    @Test func `items are given and taken, all or none, with an event and a line; the books stay consistent`()
        async throws
    {
        try await ActRows.with { intake, rows in
            let given = try await intake.adjust([("gem", 100), ("dust", 5)], key: "1", actor: "kim@example.com")
            #expect(given.status == 200, "\(given.text)")
            let balances = try #require(given.fields["balances"] as? [[String: Any]])
            #expect(balances.map { $0["item"] as? String } == ["dust", "gem"])
            #expect(balances.map { $0["change"] as? Int } == [5, 100])
            #expect(balances.map { $0["amount"] as? Int } == [5, 100])
            let short = try await intake.adjust([("gem", -101), ("dust", 1)], key: "2")
            #expect(short.status == 409 && short.slug == "balance-insufficient", "\(short.text)")
            #expect(
                (short.fields["items"] as? [[String: Any]])?.first?["balance"] as? Int == 100, "\(short.text)")
            let owed = try await intake.adjust([("gem", -101)], ["allow_debt": true], key: "3")
            #expect((owed.fields["balances"] as? [[String: Any]])?.first?["amount"] as? Int == -1, "\(owed.text)")
            #expect(
                try await rows.audit() == [
                    "kim@example.com by key desk|adjust|ticket 4711", "key desk|adjust|ticket 4711",
                ])
            #expect(try await rows.count("events WHERE type = 'iap.account.adjusted'") == 2)
            let account = try await intake.send(
                .get, "/v1/accounts/player-1\(ReadingFixture.query)", token: TestIntake.key(.read))
            #expect(
                account.text.contains(#""version":"2""#) || account.text.contains(#""version":2"#), "\(account.text)")
            for rule in try await ConsistencyCheck(pool: rows.pool).run().rules {
                #expect(rule.examples.isEmpty, "\(rule.sentence)")
            }
        }
    }

    @Test func `entitlements are given with an end or for ever, and taken away; an order's are not reached`()
        async throws
    {
        try await ActRows.with { intake, rows in
            let orders = ReadingFixture(pool: rows.pool)
            try await orders.order("2000001", account: "player-1", at: 20, granted: 30)
            try await orders.entitle("player-1", to: "pro", by: "2000001", endsIn: nil)
            func act(_ fields: [String: Any], _ key: String) async throws -> TestIntake.Answer {
                try await intake.byHand("/v1/accounts/player-1/adjustments", fields, key: key)
            }
            func active() async throws -> [String] {
                let account = try await intake.send(
                    .get, "/v1/accounts/player-1\(ReadingFixture.query)", token: TestIntake.key(.read))
                let entitlements = account.fields["entitlements"] as? [[String: Any]] ?? []
                return entitlements.map {
                    "\($0["entitlement"] ?? "") \($0["transaction_id"] ?? "") \($0["expires_at"] ?? "for ever")"
                }
            }
            let given = try await act(
                [
                    "entitlements": [
                        ["entitlement": "vip"], ["entitlement": "beta", "expires_at": "2999-01-01T00:00:00.000Z"],
                    ]
                ], "1")
            #expect(given.status == 200 && (given.fields["balances"] as? [Any])?.isEmpty == true, "\(given.text)")
            #expect(
                try await active() == [
                    "beta by-hand:beta 2999-01-01T00:00:00.000Z", "pro 2000001 for ever", "vip by-hand:vip for ever",
                ])
            #expect(try await rows.count("events WHERE type = 'iap.entitlement.granted'") == 1)
            let refused = try await act(["end_entitlements": ["pro", "vip"]], "2")
            #expect(refused.status == 409 && refused.slug == "entitlement-not-by-hand", "\(refused.text)")
            let ended = try await act(
                ["end_entitlements": ["vip"], "items": [["item": "gem", "amount": 5] as [String: Any]]], "3")
            #expect(ended.status == 200, "\(ended.text)")
            #expect(try await active().map { $0.prefix(3) } == ["bet", "pro"])
            for bad: [String: Any] in [
                ["entitlements": [["entitlement": "vip", "expires_at": "2020-01-01"]]],
                ["entitlements": [["entitlement": "vip", "expires_at": "soon"]]], ["entitlements": ["vip"]],
                ["entitlements": [["entitlement": "vip", "expires_at": "2999-02-29"]]],
                ["entitlements": [["entitlement": "vip"], ["entitlement": "vip"]]],
                ["entitlements": [["entitlement": "vip"]], "end_entitlements": ["vip"]],
                ["entitlements": [["entitlement": ""]]], ["entitlements": [Any]()],
            ] {
                let answer = try await act(bad, "bad")
                #expect(answer.status == 422, "\(bad): \(answer.text)")
            }
            #expect(try await rows.audit().count == 2)
            let rule = try await ConsistencyCheck(pool: rows.pool).run(rules: ["entitlements_belong_to_their_order"])
            #expect(rule.rules.allSatisfy { $0.examples.isEmpty })
        }
    }

    @Test func `submissions of the app are judged again, and no others`() async throws {
        try await ActRows.with { intake, rows in
            try await rows.settle("a", "rejected", reason: "product_unknown")
            try await rows.settle("b", "parked", reason: "product_unknown")
            try await rows.settle("c", "fulfilled", reason: nil)
            try await rows.settle("d", "rejected", reason: "product_unknown", app: TestIntake.otherApp)
            try await rows.settle("e", "parked", reason: "unclaimed", app: TestIntake.otherApp)
            let dry = try await intake.retry(["submissions": ["a", "b", "c", "d", "x"], "dry_run": true])
            let named = try await intake.retry(["submissions": ["a", "b", "c", "d", "x"]], key: "1", actor: "kim")
            for answer in [dry, named] {
                #expect(answer.status == 200, "\(answer.text)")
                let retried = try #require(answer.fields["submissions"] as? [[String: Any]])
                #expect(retried.map { $0["submission_id"] as? String } == ["a", "b"])
                #expect(retried.map { $0["previous_state"] as? String } == ["rejected", "parked"])
                #expect(retried.allSatisfy { ($0["audit_id"] is String) == (answer.text == named.text) })
                #expect(answer.fields["left_alone"] as? [String] == ["c", "d", "x"])
            }
            let due = try await rows.pool.query(
                "SELECT string_agg(id, ',' ORDER BY id) AS ids FROM submissions WHERE due_at <= now()")
            #expect(try due.rows.first?.decode("ids", as: String.self) == "a,b")
            #expect(try await rows.audit() == Array(repeating: "kim by key desk|redrive|ticket 4711", count: 2))
            #expect((try await intake.retry(["parked": true]).fields["submissions"] as? [Any])?.isEmpty == true)
            for id in ["f", "g"] { try await rows.settle(id, "rejected", reason: "sandbox_refused") }
            let some = try await intake.retry(["rejected_reason": "sandbox_refused", "limit": 1])
            #expect(some.fields["has_more"] as? Bool == true && (some.fields["submissions"] as? [Any])?.count == 1)
            let rest = try await intake.retry(["rejected_reason": "sandbox_refused", "limit": 2])
            #expect(rest.fields["has_more"] as? Bool == false && (rest.fields["submissions"] as? [Any])?.count == 1)
        }
    }

    @Test func `a dry run answers as the act would, and changes nothing`() async throws {
        try await ActRows.with { intake, rows in
            try await rows.park("2000001")
            try await rows.settle("a", "rejected", reason: "product_unknown")
            let before = try await rows.everything()
            let isDry: [String: Any] = ["dry_run": true, "reason": NSNull()]
            // With the key of the act: the act is done all the same.
            let assigned = try await intake.assign("2000001", isDry, key: "1")
            let adjusted = try await intake.adjust([("gem", 7)], isDry, key: "2")
            let retried = try await intake.retry(
                isDry.merging(["parked": false, "submissions": ["a"]]) { $1 }, key: "3")
            for answer in [assigned, adjusted, retried] {
                #expect(answer.status == 200 && answer.fields["dry_run"] as? Bool == true, "\(answer.text)")
                #expect(!answer.text.contains("audit_id"))
            }
            #expect(try await rows.everything() == before)
            #expect((adjusted.fields["balances"] as? [[String: Any]])?.first?["amount"] as? Int == 7)
            #expect(try await intake.adjust([("gem", 7)], key: "2").text.contains("audit_id"))
        }
    }

    @Test func `what is wrong with a request is told by its field`() async throws {
        try await ActRows.with { intake, _ in
            let bad: [(path: String, slug: String, field: String, fields: [String: Any])] = [
                ("/v1/orders/1/assign", "field-missing", "account", [:]),
                ("/v1/orders/1/assign", "field-invalid", "account", ["account": "a\nb"]),
                ("/v1/orders/1/assign", "field-invalid", "environment", ["account": "a", "environment": "moon"]),
                ("/v1/orders/1/assign", "field-missing", "reason", ["account": "a", "reason": " "]),
                (
                    "/v1/orders/1/assign", "field-invalid", "reason",
                    ["account": "a", "reason": String(repeating: "x", count: 501)]
                ),
                ("/v1/accounts/a/adjustments", "field-missing", "items", [:]),
                ("/v1/accounts/a/adjustments", "field-invalid", "items", ["items": NSNull()]),
                ("/v1/accounts/a/adjustments", "field-invalid", "items", ["items": [Any]()]),
                (
                    "/v1/accounts/a/adjustments", "field-invalid", "items[0].amount",
                    ["items": [["item": "gem", "amount": 0] as [String: Any]]]
                ),
                ("/v1/submissions/retry", "field-missing", "submissions", [:]),
                ("/v1/submissions/retry", "field-missing", "submissions", ["parked": true, "submissions": ["a"]]),
                ("/v1/submissions/retry", "field-invalid", "submissions", ["submissions": [1]]),
                ("/v1/submissions/retry", "field-invalid", "limit", ["parked": true, "limit": 1_001]),
                ("/v1/submissions/retry", "field-invalid", "dry_run", ["parked": true, "dry_run": "yes"]),
            ]
            for bad in bad {
                let answer = try await intake.byHand(bad.path, bad.fields, key: "k")
                #expect(answer.status == 422 && answer.slug == bad.slug, "\(bad): \(answer.text)")
                #expect(answer.fields["field"] as? String == bad.field, "\(bad): \(answer.text)")
            }
            let unnamed = try await intake.adjust([("gem", 1)])
            #expect(unnamed.status == 400 && unnamed.slug == "idempotency-key-required")
        }
    }

    @Test func `where the database's role lacks the right, nothing is done and the answer says so`() async throws {
        try await ActRows.with { intake, rows in
            try await rows.park("2000001")
            _ = try await rows.pool.query(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN RAISE EXCEPTION ''permission denied'' USING ERRCODE = ''insufficient_privilege''; END'
                """)
            _ = try await rows.pool.query(
                "CREATE TRIGGER refuse BEFORE INSERT ON operator_claims FOR EACH ROW EXECUTE FUNCTION refuse()")
            for key in [nil, "k"] {
                let answer = try await intake.assign("2000001", key: key)
                #expect(answer.status == 422 && answer.slug == "rights-missing", "\(answer.text)")
            }
            #expect(try await rows.audit().isEmpty)
            _ = try await rows.pool.query("DROP TRIGGER refuse ON operator_claims")
            #expect(try await intake.assign("2000001", key: "k").status == 202)
        }
    }
}
