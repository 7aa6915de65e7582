import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite(
    "A subscription's renewal date is extended by hand",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ExtensionRoutesTests {
    @Test func `the act waits for the worker, and the answer has what Apple said`() async throws {
        try await ActRows.with { intake, rows in
            try await rows.subscribe("901")
            let calls = AppleCallStore(pool: rows.pool)
            async let made: Void = {
                var due: [AppleCallStore.Due] = []
                while due.isEmpty {
                    due = try await calls.claim(.extension, apps: [TestIntake.app], limit: 1, lease: .seconds(60))
                }
                #expect(due[0].transactionId == "901" && due[0].extending?.days == 14)
                #expect(due[0].extending?.reason == .serviceIssueOrOutage && due[0].secondsLeft ?? 0 > 86_000)
                var outcome = AppleCallStore.Outcome(id: due[0].id, .done)
                (outcome.status, outcome.renewsAt) = (200, Date(timeIntervalSince1970: 2_000_000_000))
                try await calls.record([outcome])
            }()
            let answer = try await intake.extend(
                "901", ["days": 14, "apple_reason": "service_issue_or_outage"], key: "k", actor: "kim")
            try await made
            #expect(answer.status == 200 && answer.state == "done", "\(answer.text)")
            #expect(answer.fields["renews_at"] as? String == "2033-05-18T03:33:20.000Z")
            #expect(!answer.text.contains("kim") && !answer.text.contains("ticket"))
            let again = try await intake.extend(
                "901", ["days": 14, "apple_reason": "service_issue_or_outage"], key: "k", actor: "kim")
            #expect(again.text == answer.text && again.headers[.idempotentReplayed] == "true")
            #expect(try await rows.audit() == ["kim by key desk|extend|ticket 4711"])
            let list = try await intake.rows("/v1/subscriptions/901/extensions")
            #expect(list.count == 1 && list[0]["state"] as? String == "done", "\(list)")
            #expect(list[0]["actor"] as? String == "kim by key desk" && list[0]["reason"] as? String == "ticket 4711")
            #expect(list[0]["request_identifier"] as? String == answer.fields["request_identifier"] as? String)
            #expect(try await intake.rows("/v1/subscriptions/901/extensions", "&environment=sandbox").isEmpty)
        }
    }

    @Test func `what Apple refuses is told with its number, and what no worker makes is pending`() async throws {
        try await ActRows.with { intake, rows in
            try await rows.subscribe("901")
            let pending = try await intake.extend("901", ["days": 1], key: "k")
            #expect(pending.status == 202 && pending.headers[.retryAfter] == "2", "\(pending.text)")
            #expect(pending.state == "pending" && pending.fields["pending"] as? Bool == true)
            let calls = AppleCallStore(pool: rows.pool)
            let due = try await calls.claim(.extension, apps: [TestIntake.app], limit: 1, lease: .seconds(60))
            var outcome = AppleCallStore.Outcome(id: try #require(due.first).id, .refused)
            (outcome.status, outcome.code, outcome.reason) = (403, 4_030_005, "invalidRequest")
            try await calls.record([outcome])
            let row = try #require(try await intake.rows("/v1/subscriptions/901/extensions").first)
            #expect(row["state"] as? String == "refused" && row["code"] as? Int == 4_030_005)
            #expect(row["status"] as? Int == 403 && row["renews_at"] == nil)
        }
    }

    @Test func `a dry run changes nothing, and what is no subscription of the app is not found`() async throws {
        try await ActRows.with { intake, rows in
            try await rows.subscribe("901")
            try await rows.subscribe("902", app: TestIntake.otherApp)
            let before = try await rows.everything()
            let dry = try await intake.extend("901", ["days": 90, "dry_run": true])
            #expect(dry.status == 200 && dry.fields["dry_run"] as? Bool == true && dry.id.isEmpty, "\(dry.text)")
            for id in ["902", "903"] {
                #expect(try await intake.extend(id, ["days": 1], key: id).slug == "not-found")
            }
            for days: Any in [0, 91, -1, "7"] {
                let answer = try await intake.extend("901", ["days": days, "dry_run": true])
                #expect(answer.status == 422 && answer.fields["field"] as? String == "days", "\(days): \(answer.text)")
            }
            #expect(try await intake.extend("901", ["dry_run": true]).slug == "field-missing")
            let word = try await intake.extend("901", ["days": 1, "apple_reason": "kindness", "dry_run": true])
            #expect(word.fields["field"] as? String == "apple_reason")
            #expect(try await intake.extend("901", ["days": 1]).slug == "idempotency-key-required")
            #expect(try await rows.count("apple_calls") == 0)
            let after = try await rows.everything()
            // Those that were not found are remembered.
            #expect(
                after.split(separator: "\n").filter { !$0.contains("not-found") && !$0.hasPrefix("remembered") }
                    == before.split(separator: "\n").filter { !$0.hasPrefix("remembered") })
        }
    }

    @Test func `a test key extends in the sandbox alone`() async throws {
        try await ActRows.with { intake, rows in
            try await rows.subscribe("901")
            try await rows.subscribe("902", environment: "sandbox")
            let token = TestIntake.testKey
            #expect(try await intake.extend("901", ["days": 1], key: "a", token: token).slug == "not-found")
            let live = try await intake.extend(
                "901", ["days": 1, "environment": "production"], key: "b", token: token)
            #expect(live.slug == "live-key-required")
            let dry = try await intake.extend("902", ["days": 1, "dry_run": true], token: token)
            #expect(dry.fields["environment"] as? String == "sandbox", "\(dry.text)")
        }
    }
}

extension TestIntake {
    /// Has a subscription extended.
    func extend(
        _ id: String, _ fields: [String: Any], key: String? = nil, actor: String? = nil, token: String? = deskKey
    ) async throws -> Answer {
        try await byHand("/v1/subscriptions/\(id)/extend", fields, key: key, actor: actor, token: token)
    }
}

extension ActRows {
    /// A subscription that is paid for.
    func subscribe(_ id: String, app: String = TestIntake.app, environment: String = "production") async throws {
        _ = try await pool.query(
            """
            INSERT INTO subscriptions (environment, original_transaction_id, app, account, state, product_id, transaction_id,
                expires_date, access_until, standing)
            VALUES ($1, $2, $3, 'player-1', 'active', 'vip', $2, now() + interval '9 days', now() + interval '9 days', '{}')
            """, [.text(environment), .text(id), .text(app)])
    }
}
