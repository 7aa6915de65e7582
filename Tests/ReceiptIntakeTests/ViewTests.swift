import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "Who looked at whose data",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ViewTests {
    private static func look(
        _ intake: TestIntake, _ path: String, _ query: String = "", as person: String? = "kim",
        key: String = TestIntake.consoleKey
    ) async throws -> TestIntake.Answer {
        var headers: HTTPFields = [.requestId: "look-1"]
        if let person { headers[.actor] = person }
        return try await intake.send(.get, "\(path)?app=\(TestIntake.app)\(query)", token: key, headers: headers)
    }

    /// All rows, the oldest first: who, by what, of which account and which order.
    private static func rows(_ rows: ListRows) async throws -> [String] {
        try await rows.pool.query(
            """
            SELECT concat_ws('|', actor, route, environment, account, transaction_id, request_id) AS line FROM views ORDER BY id
            """
        ).rows.map { try $0.decode("line") }
    }

    @Test func `each answer that tells a person of a player leaves who, what and whose; of many it is one row`()
        async throws
    {
        try await ListRows.with { intake, rows in
            try await rows.story()
            let of = "production|player-1"
            let expected: [(path: String, query: String, rows: [String])] = [
                ("/v1/accounts/player-1", "", ["GET /v1/accounts/{id}|\(of)"]),
                ("/v1/accounts/player-1/transactions", "", ["GET /v1/accounts/{id}/transactions|\(of)"]),
                ("/v1/accounts/player-1/events", "", ["GET /v1/accounts/{id}/events|\(of)"]),
                ("/v1/accounts/player-1/ledger", "", ["GET /v1/accounts/{id}/ledger|\(of)"]),
                ("/v1/accounts/player-1/tokens", "", ["GET /v1/accounts/{id}/tokens|player-1"]),
                ("/v1/accounts/player-1/export", "", ["GET /v1/accounts/{id}/export|player-1"]),
                ("/v1/orders/1001", "", ["GET /v1/orders/{transaction_id}|\(of)|1001"]),
                ("/v1/orders/1001/why", "", ["GET /v1/orders/{transaction_id}/why|\(of)|1001"]),
                ("/v1/find", "&q=1001", ["GET /v1/find|\(of)|1001"]),
                ("/v1/submissions/sub_a", "", ["GET /v1/submissions/{id}|player-1"]),
                ("/v1/orders", "", ["GET /v1/orders"]),
                ("/v1/orders", "&account=player-1&environment=production", ["GET /v1/orders|\(of)"]),
                ("/v1/submissions", "", ["GET /v1/submissions"]),
                ("/v1/undelivered", "", ["GET /v1/undelivered"]),
                ("/v1/refund-requests", "", ["GET /v1/refund-requests"]),
                ("/v1/events", "&environment=sandbox", ["GET /v1/events|sandbox"]),
                ("/v1/audit-log", "", ["GET /v1/audit-log"]),
                ("/v1/views", "&account=player-1", ["GET /v1/views|player-1"]),
            ]
            var all: [String] = []
            for (path, query, lines) in expected {
                let answer = try await Self.look(intake, path, query)
                #expect(answer.status == 200, "\(path): \(answer.text)")
                all += lines.map { "kim by key console|\($0)|look-1" }
                #expect(try await Self.rows(rows) == all, "\(path)")
            }
            // No players, no answer.
            for path in ["/v1/overview", "/v1/apple-notifications", "/v1/undelivered/reasons"] {
                #expect(try await Self.look(intake, path).status == 200)
            }
            #expect(try await Self.look(intake, "/v1/orders/none").status == 404)
            #expect(try await Self.rows(rows) == all)
        }
    }

    @Test func `a key of the staff that names nobody is written down; backends and players are not`() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            let path = "/v1/accounts/player-1"
            #expect(try await Self.look(intake, path, as: nil).status == 200)
            #expect(try await Self.look(intake, path, as: nil, key: TestIntake.serverKey).status == 200)
            #expect(try await Self.look(intake, path, key: try ReadingFixture.player()).status == 200)
            let refused = try await Self.look(intake, path, key: TestIntake.serverKey)
            #expect(refused.status == 403 && refused.fields["scope"] as? String == "staff", "\(refused.text)")
            let nameless = try await Self.look(intake, path, as: "a\u{2028}b")
            #expect(nameless.status == 422 && nameless.slug == "field-invalid")
            let lines = try await Self.rows(rows)
            #expect(lines == ["key console|GET /v1/accounts/{id}|production|player-1|look-1"])
        }
    }

    @Test func `what cannot be written down is not shown`() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            try await rows.run("ALTER TABLE views RENAME TO elsewhere")
            let answer = try await Self.look(intake, "/v1/accounts/player-1")
            #expect(answer.status >= 500 && !answer.text.contains("balances"), "\(answer.text)")
            let backend = try await Self.look(intake, "/v1/accounts/player-1", as: nil, key: TestIntake.serverKey)
            #expect(backend.status == 200)
        }
    }

    @Test func `they are listed by account, person and time, of the own app alone`() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            for (account, person) in [("player-1", "kim"), ("player-2", "kim"), ("player-1", "lee")] {
                _ = try await Self.look(intake, "/v1/accounts/\(account)", as: person)
            }
            try await rows.run("INSERT INTO views (app, actor, route, request_id) VALUES ('com.else', 'x', 'y', 'z')")
            let path = "/v1/views"
            #expect(
                try await intake.all("account", of: path, limit: 1) == ["player-1", "player-2", "player-1"])
            #expect(
                try await intake.all("actor", of: path, "&account=player-1", limit: 1)
                    == ["lee by key console", "kim by key console"])
            #expect(try await intake.rows(path, "&actor=kim%20by%20key%20console").count == 2)
            #expect(try await intake.rows(path, "&since=2100-01-01").isEmpty)
            #expect(try await intake.rows(path, "&environment=sandbox").isEmpty)
            let row = try #require(try await intake.rows(path).first)
            #expect(row["route"] as? String == "GET /v1/accounts/{id}" && row["request_id"] as? String == "look-1")
            #expect(row["viewed_at"] as? String != nil && row["environment"] as? String == "production")
        }
    }
}
