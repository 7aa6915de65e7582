import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "Acts that a caller named",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ActMemoryTests {
    @Test func `an act is done once, and a repetition has the same answer`() async throws {
        try await ActRows.with { intake, rows in
            let first = try await intake.adjust([("gem", 100)], key: "k", actor: "kim")
            // Who repeats it may be another person, by another key of the app.
            let again = try await intake.adjust([("gem", 100)], key: "k", token: TestIntake.key(.operate))
            #expect(first.status == 200 && first.headers[.idempotentReplayed] == nil)
            #expect(again.status == 200 && again.headers[.idempotentReplayed] == "true")
            #expect(again.text == first.text && again.headers[.contentType] == first.headers[.contentType])
            #expect(try await WalletRows(pool: rows.pool).balance("gem", of: "player-1") == 100)
            #expect(try await rows.audit() == ["kim by key desk|adjust|ticket 4711"])
            #expect(try await intake.adjust([("gem", 100)], key: "another").status == 200)
            #expect(try await WalletRows(pool: rows.pool).balance("gem", of: "player-1") == 200)
        }
    }

    /// Acts of every kind; each leaves one line of the audit log, but for forgetting, of which fulfillment writes it.
    private static let acts: [(name: String, act: @Sendable (TestIntake, String) async throws -> TestIntake.Answer)] = [
        ("assign", { try await $0.assign("2000001", key: $1) }),
        ("adjust", { try await $0.adjust([("gem", 100)], key: $1) }),
        ("retry", { try await $0.retry(["submissions": ["a"]], key: $1) }),
        ("forget", { try await $0.byHand("/v1/accounts/player-9/forget", key: $1) }),
        ("sweep", { try await $0.byHand("/v1/sweeps", ["transaction_id": "2000001"], key: $1) }),
    ]

    /// What all of them need.
    private func prepare(_ rows: ActRows) async throws {
        try await rows.park("2000001")
        try await rows.settle("a", "rejected", reason: "product_unknown")
    }

    /// How often something was done.
    private func timesDone(_ rows: ActRows) async throws -> Int {
        try await rows.count("audit_log") + rows.count("forget_requests")
    }

    @Test func `sent twice at the same moment, one acts and the other hears that it is under way`() async throws {
        for (name, act) in Self.acts {
            try await ActRows.with { intake, rows in
                try await prepare(rows)
                try await rows.stopBeforeMemory()
                let first = try await rows.holding {
                    let first = Task { try await act(intake, "k") }
                    try await WalletRows(pool: rows.pool).untilWaiting(1)
                    let second = try await act(intake, "k")
                    #expect(second.status == 409 && second.slug == "request-under-way", "\(name): \(second.text)")
                    #expect(second.headers[.retryAfter] == "1")
                    #expect(try await timesDone(rows) == 0, "\(name)")
                    return first
                }
                let done = try await first.value
                let again = try await act(intake, "k")
                #expect([200, 202].contains(done.status), "\(name): \(done.text)")
                #expect(again.status == done.status && again.text == done.text, "\(name): \(again.text)")
                #expect(again.headers[.idempotentReplayed] == "true")
                #expect(try await timesDone(rows) == 1, "\(name)")
            }
        }
    }

    @Test func `a process that dies between the act and its memory has done nothing, and the repetition does it`()
        async throws
    {
        for (name, act) in Self.acts {
            try await ActRows.with { intake, rows in
                try await prepare(rows)
                let before = try await rows.everything()
                try await rows.stopBeforeMemory()
                let first = try await rows.holding {
                    let first = Task { try await act(intake, "k") }
                    try await WalletRows(pool: rows.pool).untilWaiting(1)
                    try await rows.endWaiting()
                    return first
                }
                let died = try await first.value
                #expect(died.status == 503 && died.slug == "database-unavailable", "\(name): \(died.text)")
                #expect(try await rows.everything() == before, "\(name)")
                let done = try await act(intake, "k")
                #expect([200, 202].contains(done.status), "\(name): \(done.text)")
                #expect(done.headers[.idempotentReplayed] == nil)
                #expect(try await timesDone(rows) == 1, "\(name)")
                #expect(try await rows.count("remembered_acts") == 1)
            }
        }
    }

    @Test func `a key counts within its app, for one body, path and query`() async throws {
        try await ActRows.with { intake, rows in
            try await rows.park("2000001")
            #expect(try await intake.adjust([("gem", 100)], key: "k").status == 200)
            for other in [
                try await intake.adjust([("gem", 101)], key: "k"),
                try await intake.adjust([("gem", 100)], of: "player-2", key: "k"),
                try await intake.assign("2000001", key: "k"),
            ] {
                #expect(other.status == 422 && other.slug == "idempotency-key-reused", "\(other.text)")
            }
            #expect(try await rows.audit().count == 1)
            let elsewhere = try await intake.byHand(
                "/v1/accounts/player-1/forget", app: TestIntake.otherApp, key: "k", token: TestIntake.otherOperatorKey)
            #expect(elsewhere.status == 202, "\(elsewhere.text)")
            for bad in ["", String(repeating: "k", count: 256)] {
                let answer = try await intake.adjust([("gem", 1)], key: bad)
                #expect(answer.status == 400 && answer.slug == "idempotency-key-required", "\(answer.text)")
            }
        }
    }

    @Test func `a problem that the act met is remembered; one of the request, or of the caller, is not`() async throws {
        try await ActRows.with { intake, rows in
            let short = try await intake.adjust([("gem", -10)], key: "short")
            let unknown = try await intake.assign("2000001", key: "unknown")
            #expect(short.status == 409 && unknown.status == 404)
            #expect(try await intake.adjust([("gem", 0)], key: "zero").status == 422)
            #expect(
                try await intake.adjust([("gem", 50)], key: "who", actor: "kim", token: TestIntake.key(.operate)).status
                    == 403)
            #expect(try await intake.adjust([("gem", 50)], key: "who", token: "csk_wrong").status == 401)
            #expect(try await intake.adjust([("gem", 50)], key: "who").status == 200)
            #expect(try await intake.adjust([("gem", 1)], key: "zero").status == 200)
            try await rows.park("2000001")
            let shortAgain = try await intake.adjust([("gem", -10)], key: "short")
            let unknownAgain = try await intake.assign("2000001", key: "unknown")
            for (first, again) in [(short, shortAgain), (unknown, unknownAgain)] {
                #expect(again.status == first.status && again.text == first.text)
                #expect(again.headers[.idempotentReplayed] == "true")
                #expect(again.headers[.contentType] == "application/problem+json")
            }
            #expect(try await intake.adjust([("gem", -10)], key: "another").status == 200)
        }
    }

    @Test func `a secret that was told once is sealed where it is remembered`() async throws {
        try await ActRows.with { intake, rows in
            let path = "/v1/webhooks/endpoints"
            let made = try await intake.byHand(path, ["url": "https://hooks.example.com/iap"], key: "made")
            let again = try await intake.byHand(path, ["url": "https://hooks.example.com/iap"], key: "made")
            #expect(made.status == 201 && again.status == 201, "\(again.text)")
            #expect((made.fields["secret"] as? String)?.hasPrefix("whsec_") == true)
            #expect(again.text == made.text && again.headers[.location] == made.headers[.location])
            let rotated = try await intake.byHand("\(path)/\(made.id)/rotate", ["expires_in": 0], key: "rotated")
            let rotatedAgain = try await intake.byHand("\(path)/\(made.id)/rotate", ["expires_in": 0], key: "rotated")
            #expect(rotated.status == 200 && rotatedAgain.text == rotated.text, "\(rotated.text)")
            #expect(try await rows.count("webhook_endpoint_settings") == 1)
            let bodies = try await rows.pool.query("SELECT string_agg(body, ' ') AS text FROM remembered_acts").rows
            let text = try #require(bodies.first).decode("text", as: String.self)
            #expect(!text.contains("whsec_") && !text.contains("hooks.example.com"), "\(text)")
        }
    }

    @Test func `a test message is sent once, and a repetition tells what came of it`() async throws {
        try await ActRows.with { intake, rows in
            let made = try await intake.byHand("/v1/webhooks/endpoints", ["url": "https://hooks.example.com/iap"])
            let path = "/v1/webhooks/endpoints/\(made.id)/ping?wait=30"
            let ping = Task { try await intake.byHand(path, key: "k") }
            // Notification sees it while the caller waits: it is committed.
            var isAsked = false
            while !isAsked {
                isAsked = try await rows.count("webhook_pings") == 1
                await Task.yield()
            }
            _ = try await rows.pool.query(
                "UPDATE webhook_pings SET finished_at = now(), due_at = NULL, status = 204, milliseconds = 5")
            let sent = try await ping.value
            #expect(sent.status == 200 && sent.state == "delivered", "\(sent.text)")
            let again = try await intake.byHand(path, key: "k")
            #expect(again.status == 200 && again.text == sent.text && again.headers[.idempotentReplayed] == "true")
            #expect(try await rows.count("webhook_pings WHERE finished_at IS NULL") == 0)
        }
    }

    @Test func `nothing of a person is remembered, and nothing for longer than a day or so`() async throws {
        try await ActRows.with { intake, rows in
            let answer = try await intake.adjust(
                [("gem", 1)], of: "tell-tale", ["reason": "tell-tale"], key: "tell-tale", actor: "tell-tale")
            #expect(answer.status == 200)
            _ = try await intake.byHand("/v1/accounts/tell-tale/forget", key: "tell-tale-2")
            let rows1 = try await rows.pool.query("SELECT string_agg(t::text, ' ') AS text FROM remembered_acts t").rows
            #expect(try !#require(rows1.first).decode("text", as: String.self).contains("tell-tale"))
            let memory = RememberedActStore(pool: rows.pool)
            #expect(try await memory.removeOld(limit: 10) == 0)
            _ = try await rows.pool.query("UPDATE remembered_acts SET created_at = created_at - interval '25 hours'")
            #expect(try await memory.removeOld(limit: 1) == 1)
            #expect(try await memory.removeOld(limit: 10) == 1)
        }
    }
}
