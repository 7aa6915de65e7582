import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "Sweeps that backends ask for",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct SweepRoutesTests {
    private func with(
        settings: [String: String] = [:], _ body: @Sendable (TestIntake, PostgresPool) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, settings: settings) { intake in
                try await body(intake, database.pool)
            }
        }
    }

    @Test("an account's customers are written down without its name, and a worker makes their questions due")
    func asked() async throws {
        try await with { (intake, pool) in
            for order in ["2000001", "2000002"] {
                try await WalletRows(pool: pool).grant([("gem", 1)], to: "player-1", order: order)
            }
            try await WalletRows(pool: pool).grant([("gem", 1)], to: "player-2", order: "2000003")
            let answer = try await intake.sweep(["account": "player-1"])
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.state == "received" && answer.fields["questions_left"] as? Int == 0)
            let place = try #require(answer.headers[.location])
            #expect(place == "/v1/sweeps/\(answer.id)?app=\(TestIntake.app)")
            let rows = try await pool.query("SELECT array_to_string(subjects, ' ') AS subjects FROM sweep_requests")
                .rows
            #expect(
                try rows.map { try $0.decode("subjects", as: String.self) }
                    == ["production/2000001 production/2000002"])
            let audit = try await pool.query("SELECT actor, action, subject, reason FROM audit_log").rows
            #expect(
                try audit.map { try $0.decode("subject", as: String.self) }
                    == ["production \(TestIntake.app) player-1"])
            #expect(try audit.map { try $0.decode("reason", as: String.self) } == ["wrote to support"])
            let requests = SweepRequestStore(pool: pool)
            #expect(try await requests.takeUp() == 1)
            #expect(try await requests.takeUp() == 0)
            let taken = try await intake.send(.get, place, token: TestIntake.key(.operate))
            #expect(taken.state == "under_way" && taken.fields["questions"] as? Int == 6)
            #expect(taken.fields["questions_left"] as? Int == 6)
            let due = try await pool.query(
                "SELECT count(*) AS n FROM sweep_tasks WHERE priority = 0 AND cause = 'request' AND due_at <= now()")
            #expect(try due.rows.first?.decode("n", as: Int64.self) == 6)
            #expect(try await finish(pool) == 6)
            let over = try await intake.send(.get, place, token: TestIntake.key(.operate))
            #expect(over.state == "finished" && over.fields["questions_left"] as? Int == 0, "\(over.text)")
            #expect(over.fields["calls"] as? Int == 6 && over.fields["found"] as? Int == 0)
            #expect(over.fields["finished_at"] != nil)
        }
    }

    @Test("a transaction's customer is asked about by each id that Apple gives him in the lineage")
    func ids() async throws {
        try await with { (intake, pool) in
            for order in ["2000001", "2000002", "2000003", "2000004"] {
                try await WalletRows(pool: pool).grant([("gem", 1)], to: "player-1", order: order)
            }
            _ = try await pool.query(
                """
                UPDATE orders SET product_type = 'auto_renewable', original_transaction_id = '2000001',
                    app_transaction_id = CASE transaction_id WHEN '2000003' THEN 'anew' ELSE 'child' END
                WHERE transaction_id <> '2000004'
                """)
            #expect(try await intake.sweep(["transaction_id": "2000001"]).status == 202)
            let rows = try await pool.query("SELECT array_to_string(subjects, ' ') AS subjects FROM sweep_requests")
                .rows
            #expect(
                try rows.map { try $0.decode("subjects", as: String.self) }
                    == ["production/2000001 production/2000003"])
        }
    }

    /// Ends every question as a worker does.
    private func finish(_ pool: PostgresPool) async throws -> Int {
        let tasks = SweepTaskStore(pool: pool)
        let claimed = try await tasks.claim(limit: 100, lease: .seconds(60))
        for task in claimed {
            #expect(try await tasks.finish(task, SweepTaskStore.Progress(calls: 1), next: .seconds(1_000)))
        }
        return claimed.count
    }

    @Test("while it is under way the same is the same request; a round that was under way before does not end it")
    func again() async throws {
        try await with { (intake, pool) in
            try await WalletRows(pool: pool).grant([("gem", 1)], to: "player-1", order: "2000001")
            let first = try await intake.sweep(["account": "player-1"])
            #expect(try await intake.sweep(["transaction_id": "2000001"]).id == first.id)
            let requests = SweepRequestStore(pool: pool)
            #expect(try await requests.takeUp() == 1)
            #expect(try await intake.sweep(["account": "player-1"]).id == first.id)
            #expect(try await finish(pool) == 3)
            // A worker is in the middle of another round when the next request comes.
            _ = try await pool.query("UPDATE sweep_tasks SET due_at = now()")
            let tasks = SweepTaskStore(pool: pool)
            let rounds = try await tasks.claim(limit: 10, lease: .seconds(60))
            #expect(rounds.count == 3)
            let second = try await intake.sweep(["account": "player-1"])
            #expect(second.id != first.id)
            #expect(try await requests.takeUp() == 1)
            for task in rounds { _ = try await tasks.finish(task, SweepTaskStore.Progress(), next: .seconds(1_000)) }
            let path = "/v1/sweeps/\(second.id)?app=\(TestIntake.app)"
            #expect(try await intake.send(.get, path, token: TestIntake.key(.operate)).state == "under_way")
            #expect(try await finish(pool) == 3)
            #expect(try await intake.send(.get, path, token: TestIntake.key(.operate)).state == "finished")
            let lines = try await pool.query("SELECT count(*) AS n FROM audit_log").rows
            #expect(try lines.first?.decode("n", as: Int64.self) == 2)
        }
    }

    @Test("a token is its account's, or a purchase's; what nothing is known of is told, and so is a mistake")
    func subjects() async throws {
        try await with { (intake, pool) in
            let (token, unused) = (UUID(), UUID())
            try await WalletRows(pool: pool).grant([("gem", 1)], to: "player-1", order: "2000001")
            _ = try await pool.query(
                "INSERT INTO account_tokens (app, token, account) VALUES ($1, $2, 'player-1')",
                [.text(TestIntake.app), .uuid(unused)])
            try await WalletRows(pool: pool).grant([("gem", 1)], to: "player-2", order: "2000002")
            _ = try await pool.query(
                "UPDATE orders SET app_account_token = $1 WHERE transaction_id = '2000002'", [.uuid(token)])
            for (token, order) in [(unused, "2000001"), (token, "2000002")] {
                let answer = try await intake.sweep(["app_account_token": token.uuidString])
                #expect(answer.status == 202, "\(answer.text)")
                let rows = try await pool.query(
                    "SELECT subjects[1] AS subject FROM sweep_requests WHERE id = $1", [.text(answer.id)]
                ).rows
                #expect(try rows.first?.decode("subject", as: String.self) == "production/\(order)")
            }
            let traces = try await pool.query("SELECT subject FROM audit_log").rows
            #expect(try traces.allSatisfy { try !$0.decode("subject", as: String.self).contains("-4") })
            for fields: [String: Any] in [
                ["account": "nobody"], ["transaction_id": "7"], ["app_account_token": UUID().uuidString],
                ["account": "player-1", "environment": "sandbox"],
            ] {
                let answer = try await intake.sweep(fields)
                #expect(answer.status == 422 && answer.slug == "sweep-unknown", "\(fields): \(answer.text)")
            }
            let bad: [(slug: String, field: String?, fields: [String: Any])] = [
                ("field-missing", "account", [:]),
                ("field-missing", "account", ["account": "a", "transaction_id": "7"]),
                ("field-invalid", "account", ["account": "a\nb"]),
                ("field-invalid", "transaction_id", ["transaction_id": "1 2"]),
                ("field-invalid", "app_account_token", ["app_account_token": "x"]),
                ("field-invalid", "environment", ["account": "player-1", "environment": "moon"]),
                ("field-missing", "reason", ["account": "player-1", "reason": " "]),
                ("field-invalid", "reason", ["account": "player-1", "reason": "a\u{0}b"]),
            ]
            for bad in bad {
                let answer = try await intake.sweep(bad.fields)
                #expect(answer.status == 422 && answer.slug == bad.slug, "\(bad.fields): \(answer.text)")
                #expect(answer.fields["field"] as? String == bad.field, "\(bad.fields): \(answer.text)")
            }
        }
    }

    @Test("an app may ask so often a day; the same while it is under way does not count; another app's is not there")
    func limits() async throws {
        try await with(settings: ["intake.sweeps_per_day": "2"]) { (intake, pool) in
            for number in 1...3 {
                try await WalletRows(pool: pool).grant([("gem", 1)], to: "player-\(number)", order: "200000\(number)")
            }
            let first = try await intake.sweep(["account": "player-1"])
            for _ in 0..<3 { #expect(try await intake.sweep(["account": "player-1"]).id == first.id) }
            #expect(try await intake.sweep(["account": "player-2"]).status == 202)
            let third = try await intake.sweep(["account": "player-3"])
            #expect(third.status == 429 && third.slug == "sweeps-exhausted", "\(third.text)")
            #expect(Int(third.headers[.retryAfter] ?? "").map { (86_000...86_400).contains($0) } == true)
            _ = try await pool.query("UPDATE sweep_requests SET requested_at = requested_at - interval '25 hours'")
            #expect(try await intake.sweep(["account": "player-3"]).status == 202)
            let other = try await intake.send(
                .get, "/v1/sweeps/\(first.id)?app=\(TestIntake.otherApp)", token: TestIntake.otherOperatorKey)
            #expect(other.status == 404)
            _ = try await pool.query("UPDATE sweep_requests SET requested_at = requested_at - interval '30 days'")
            #expect(try await SweepRequestStore(pool: pool).takeUp() == 3)
            #expect(try await SweepRequestStore(pool: pool).removeOld() == 3)
            #expect(
                try await intake.send(
                    .get, "/v1/sweeps/\(first.id)?app=\(TestIntake.app)", token: TestIntake.key(.operate)
                ).status == 404, "after a month")
        }
    }
}

extension TestIntake {
    /// Has Apple asked about somebody.
    func sweep(_ fields: [String: Any], token: String? = TestIntake.key(.operate)) async throws -> Answer {
        let body = try JSONSerialization.data(
            withJSONObject: ["app": Self.app, "reason": "wrote to support"].merging(fields) { $1 })
        return try await send(.post, "/v1/sweeps", token: token, body: String(decoding: body, as: UTF8.self))
    }
}

/// Requests to ask Apple, well and badly, with what really came back.
enum SweepSamples {
    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [SampleRequest.Sample] {
        try await WalletRows(pool: database.pool).grant([("gold", 100)], to: "asker", order: "9100002")
        var samples: [SampleRequest.Sample] = []
        func post(_ fields: [String: Any], token: String? = TestIntake.key(.operate)) async throws {
            samples.append(("POST", "/v1/sweeps", try await intake.sweep(fields, token: token)))
        }
        try await post(["account": "asker"])
        let place = try #require(samples.last?.answer.headers[.location])
        try await post(["account": "nobody-known"])
        try await post([:])
        try await post(["account": "asker", "app": "nobody"])
        try await post(["account": "asker"], token: nil)
        try await post(["account": "asker"], token: TestIntake.serverKey)
        for (body, type) in [("{", "application/json"), ("{}", "text/plain")] {
            samples.append(
                (
                    "POST", "/v1/sweeps",
                    try await intake.send(
                        .post, "/v1/sweeps", token: TestIntake.key(.operate), body: body,
                        headers: [.contentType: type])
                ))
        }
        func get(_ path: String, token: String? = TestIntake.key(.operate)) async throws {
            samples.append(("GET", "/v1/sweeps/{id}", try await intake.send(.get, path, token: token)))
        }
        try await get(place)
        _ = try await SweepRequestStore(pool: database.pool).takeUp()
        try await get(place)
        _ = try await database.pool.query(
            "UPDATE sweep_tasks SET finished_at = now() + interval '1 s', priority = 6, found = 1, calls = 2")
        try await get(place)
        try await get(place, token: nil)
        try await get(place, token: TestIntake.serverKey)
        try await get("/v1/sweeps/none?app=\(TestIntake.app)")
        try await get("/v1/sweeps/none")
        return samples
    }
}
