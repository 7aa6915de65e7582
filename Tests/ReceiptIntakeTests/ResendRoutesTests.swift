import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import Testing

@testable import ReceiptIntake

@Suite(
    "Webhooks again",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ResendRoutesTests {
    private func with(_ body: @Sendable (TestIntake, ResendRows) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                try await body(intake, ResendRows(pool: database.pool))
            }
        }
    }

    @Test("what was given up is asked for, with a line in the audit log, and nothing of another app")
    func abandoned() async throws {
        try await with { intake, rows in
            let lost = try await rows.write(3)
            try await rows.write(1, app: TestIntake.otherApp)
            try await rows.write(1, state: "delivered")
            let counted = try await intake.resend(["dry_run": true, "reason": NSNull()])
            #expect(counted.status == 200 && counted.fields["asked"] as? Bool == false)
            #expect(counted.fields["deliveries"] as? Int == 3)
            #expect(try await rows.asked().isEmpty)
            let answer = try await intake.resend([:])
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.fields["deliveries"] as? Int == 3 && answer.fields["asked"] as? Bool == true)
            #expect(answer.fields["next"] == nil)
            #expect(try await rows.asked() == lost.sorted().map { "\($0) abandoned" })
            let audit = try await rows.pool.query("SELECT actor, action, subject, reason FROM audit_log").rows
            #expect(audit.count == 1)
            #expect(try audit[0].decode("actor", as: String.self) == "key only-operate")
            #expect(try audit[0].decode("action", as: String.self) == "resend_webhooks")
            #expect(try audit[0].decode("reason", as: String.self) == "restored")
            let subject = try audit[0].decode("subject", as: String.self)
            #expect(subject == "state abandoned, app \(TestIntake.app), environment production; at most 1000")
        }
    }

    @Test("every filter means what it says")
    func filters() async throws {
        try await with { intake, rows in
            let refund = try await rows.write(1, type: "iap.refund.granted", hoursAgo: 30)
            try await rows.write(2, account: "alice", hoursAgo: 20)
            try await rows.write(4, endpoint: "stats", hoursAgo: 10)
            try await rows.write(8, state: "delivered", hoursAgo: 5)
            try await rows.write(16, state: "pending", hoursAgo: 2)
            func time(_ hoursAgo: Double) -> String {
                Date(timeIntervalSinceNow: -hoursAgo * 3_600).formatted(.iso8601)
            }
            let cases: [([String: Any], Int)] = [
                (["event": refund[0]], 1), (["event": "evt_none"], 0), (["type": "iap.refund.*"], 1),
                (["account": "alice"], 2), (["endpoint": "stats"], 4), (["state": "delivered"], 8),
                (["state": "pending"], 16), (["state": "all"], 31), (["environment": "sandbox"], 32),
                (["environment": "production"], 7), (["since": time(15)], 4), (["until": time(25)], 1),
                (["since": time(25), "until": time(4), "state": "all"], 14), (["until": "2020-01-01"], 0),
            ]
            try await rows.write(32, environment: "sandbox", hoursAgo: 1)
            for (fields, count) in cases {
                let answer = try await intake.resend(fields.merging(["dry_run": true]) { $1 })
                #expect(answer.status == 200, "\(fields): \(answer.text)")
                #expect(answer.fields["deliveries"] as? Int == count, "\(fields)")
            }
        }
    }

    @Test("a request asks for so many, the oldest first, and its cursor leads on")
    func pages() async throws {
        try await with { intake, rows in
            for hour in 1...5 { try await rows.write(1, hoursAgo: Double(hour)) }
            var fields: [String: Any] = ["limit": 2]
            var counts: [Int] = []
            while true {
                let answer = try await intake.resend(fields)
                counts.append(answer.fields["deliveries"] as? Int ?? -1)
                guard let next = answer.fields["next"] as? String else { break }
                #expect(try await rows.asked().count == counts.reduce(0, +))
                fields["after"] = next
            }
            #expect(counts == [2, 2, 1])
            #expect(try await rows.asked().count == 5)
            #expect(try await intake.resend([:]).status == 202, "asking again changes nothing")
            #expect(try await rows.asked().count == 5)
        }
    }

    @Test("what means nothing is a problem that names the field")
    func mistakes() async throws {
        try await with { intake, rows in
            try await rows.write(1)
            for (field, value) in [
                ("type", "a*b"), ("type", ""), ("state", "lost"), ("environment", "moon"), ("since", "yesterday"),
                ("until", "2026-13-01"), ("since", "300000-01-01T00:00:00Z"), ("until", "2026-02-31"), ("after", "!"),
                ("after", "YQ"), ("limit", 0), ("limit", 1_001),
                ("limit", "many"), ("limit", 1.5), ("dry_run", "yes"), ("event", "a\nb"), ("account", "a\u{0}b"),
                ("endpoint", String(repeating: "x", count: 256)), ("reason", String(repeating: "x", count: 501)),
            ] as [(String, Any)] {
                let answer = try await intake.resend([field: value])
                #expect(answer.status == 422 && answer.slug == "field-invalid", "\(field) \(value): \(answer.text)")
                #expect(answer.fields["field"] as? String == field)
            }
            for reason in [NSNull(), "  "] as [Any] {
                let answer = try await intake.resend(["reason": reason])
                #expect(answer.slug == "field-missing" && answer.fields["field"] as? String == "reason")
            }
            #expect(try await rows.asked().isEmpty)
        }
    }

    @Test("only the studio's backend asks, for its own app")
    func callers() async throws {
        try await with { intake, rows in
            try await rows.write(1)
            let player = try await intake.resend([:], token: ReadingFixture.player())
            #expect(player.status == 403 && player.slug == "server-key-required")
            #expect(try await intake.resend([:], token: nil).slug == "authentication-required")
            let other = try await intake.resend([:], token: TestIntake.otherOperatorKey)
            #expect(other.slug == "authentication-failed")
            let theirs = try await intake.resend(["app": TestIntake.otherApp], token: TestIntake.otherOperatorKey)
            #expect(theirs.status == 200 && theirs.fields["deliveries"] as? Int == 0)
            #expect(try await rows.asked().isEmpty)
        }
    }
}
