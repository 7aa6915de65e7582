import Foundation
import HTTPTypes
import Messages
import Persistence
import Postgres
import ServiceRuntime

@testable import ReceiptIntake

/// Deliveries of webhooks, as notification leaves them.
struct ResendRows: Sendable {
    let pool: PostgresPool

    /// Writes deliveries of events that were written so many hours ago.
    ///
    /// - Returns: the events' ids.
    @discardableResult
    func write(
        _ count: Int, state: String = "abandoned", type: String = "iap.transaction.fulfilled",
        app: String = TestIntake.app, environment: String = "production", account: String? = nil,
        endpoint: String = "backend", hoursAgo: Double = 1
    ) async throws -> [String] {
        let time = Date(timeIntervalSinceNow: -hoursAgo * 3_600)
        let ids = (0..<count).map { _ in EventIdentifier.event(at: time) }
        _ = try await pool.query(
            """
            WITH written AS (
                INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body,
                    created_at)
                SELECT id, $2, $8, $3, $4, CASE WHEN $4::text IS NOT NULL THEN random() * 1000000000 END, '1', '1',
                    '{}', $7 FROM unnest($1::text[]) AS id
                RETURNING id
            )
            INSERT INTO webhook_deliveries (event_id, endpoint_id, state, due_at, attempts, created_at)
            SELECT id, $5, $6, CASE WHEN $6 = 'pending' THEN now() + interval '1 hour' END, 10, $7 FROM written
            """,
            [
                .textArray(ids), .text(type), .text(app), .text(account), .text(endpoint), .text(state),
                .timestamptz(time), .text(environment),
            ])
        return ids
    }

    /// Writes an attempt of each of these events, as notification does.
    func attempt(_ events: [String], endpoint: String = "backend", number: Int32 = 1, answer: String? = "busy")
        async throws
    {
        _ = try await pool.query(
            """
            INSERT INTO webhook_attempts (event_id, endpoint_id, attempt, attempted_at, duration_ms, status, error, answer)
            SELECT id, $2, $3, now(), 12, CASE WHEN $4::text IS NOT NULL THEN 503 END,
                CASE WHEN $4::text IS NULL THEN 'no answer: reset' END, $4
            FROM unnest($1::text[]) AS id
            """, [.textArray(events), .text(endpoint), .int4(number), .text(answer)])
    }

    /// What is asked for: event, endpoint and state of each.
    func asked() async throws -> [String] {
        try await pool.query("SELECT event_id || ' ' || state AS words FROM webhook_resends ORDER BY 1").rows
            .map { try $0.decode("words") }
    }
}

extension TestIntake {
    /// Asks for webhooks again, for the app of the tests unless the fields say otherwise.
    func resend(_ fields: [String: Any], token: String? = TestIntake.key(.operate)) async throws -> Answer {
        let whole = ["app": Self.app, "reason": "restored"].merging(fields) { $1 }
        let body = try JSONSerialization.data(withJSONObject: whole.filter { !($0.value is NSNull) })
        return try await send(
            .post, "/v1/webhooks/resend", token: token, body: String(decoding: body, as: UTF8.self))
    }
}

/// Requests to send webhooks again, well and badly, with what really came back.
enum ResendSamples {
    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [SampleRequest.Sample] {
        try await ResendRows(pool: database.pool).write(3)
        var samples: [SampleRequest.Sample] = []
        func keep(_ answer: TestIntake.Answer) { samples.append(("POST", "/v1/webhooks/resend", answer)) }
        keep(try await intake.resend(["dry_run": true]))
        keep(try await intake.resend(["limit": 2]))
        keep(try await intake.resend(["type": "none"]))
        keep(try await intake.resend(["state": "lost"]))
        keep(try await intake.resend(["reason": NSNull()]))
        keep(try await intake.resend(["app": "nobody"]))
        keep(try await intake.resend([:], token: nil))
        keep(try await intake.resend([:], token: TestIntake.serverKey))
        keep(try await intake.resend([:], token: TestTokens.hs256(TestTokens.claims("player-1"))))
        keep(try await intake.send(.post, "/v1/webhooks/resend", token: TestIntake.key(.operate), body: "{"))
        return samples
    }
}

/// Questions about deliveries and attempts, well and badly, with what really came back.
enum DeliverySamples {
    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [SampleRequest.Sample] {
        let rows = ResendRows(pool: database.pool)
        let events = try await rows.write(3, state: "pending")
        try await rows.attempt(events)
        try await rows.attempt(events, number: 2, answer: nil)
        let (list, attempts) = ("/v1/webhooks/deliveries", "/v1/webhooks/deliveries/{event}/{endpoint}/attempts")
        var samples: [SampleRequest.Sample] = []
        func ask(_ path: String, _ query: String, _ route: String, token: String? = TestIntake.key(.read)) async throws
        {
            samples.append(("GET", route, try await intake.send(.get, "\(path)?\(query)", token: token)))
        }
        let app = "app=\(TestIntake.app)"
        for query in [app, "\(app)&limit=1", "\(app)&state=lost", "\(app)&limit=0", "\(app)&after=x", "limit=1"] {
            try await ask(list, query, list)
        }
        try await ask(list, app, list, token: nil)
        try await ask(list, app, list, token: TestIntake.key(.post))
        let path = "/v1/webhooks/deliveries/\(events[0])/backend/attempts"
        for query in [app, "\(app)&limit=1", "\(app)&after=x"] { try await ask(path, query, attempts) }
        try await ask("/v1/webhooks/deliveries/\(events[0])/other/attempts", app, attempts)
        try await ask(path, app, attempts, token: TestTokens.hs256(TestTokens.claims("player-1")))
        return samples
    }
}
