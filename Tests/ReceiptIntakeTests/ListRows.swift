import Foundation
import HTTPTypes
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// Rows of many tables, as the services leave them, at times before now.
struct ListRows: Sendable {
    static let app = TestIntake.app
    static let token = "7e3fb204-2f7e-4c58-b5d1-9f6f0c1a2b3c"
    static let notification = "0b1d3c5e-7f90-4a2b-8c4d-6e8f0a1b2c3d"

    /// The query that asks for the money of the last hundred days.
    static var days: String {
        func day(_ days: Double) -> String {
            String(Date(timeIntervalSinceNow: days * 86_400).ISO8601Format().prefix(10))
        }
        return "&from=\(day(-100))&to=\(day(1))"
    }

    let pool: PostgresPool

    /// An intake on a database of its own, and the rows to fill it with.
    static func with(_ body: @escaping @Sendable (TestIntake, ListRows) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                try await body(intake, ListRows(pool: database.pool))
            }
        }
    }

    private static func ago(_ seconds: Int) -> String { "now() - interval '\(seconds) seconds'" }

    func run(_ script: String) async throws {
        try await pool.withConnection { try await $0.executeScript(script) }
    }

    /// An order; parked where it has a reason.
    func order(
        _ id: String, app: String = ListRows.app, environment: String = "production", account: String? = "player-1",
        product: String = "gems.100", reason: String? = nil, ago seconds: Int = 600
    ) async throws {
        _ = try await pool.query(
            """
            WITH new AS (
                INSERT INTO orders (environment, transaction_id, state, reason, account, app, product_id, product_type,
                    quantity, original_transaction_id, purchase_date, signed_date, price_milliunits, currency, storefront,
                    submission_id, correlation_id, created_at, granted_at, transaction)
                VALUES ($1, $2, CASE WHEN $3::text IS NULL THEN 'granted' ELSE 'parked' END, $3, $4, $5, $6, 'consumable', 1,
                    $2, \(Self.ago(seconds)), \(Self.ago(seconds)), 990, 'EUR', 'DEU', 'sub_of_' || $2, 'req_of_' || $2,
                    \(Self.ago(seconds)), CASE WHEN $3::text IS NULL THEN \(Self.ago(seconds)) END, '{}')
                RETURNING environment, transaction_id, submission_id)
            INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
            SELECT environment, transaction_id, transaction_id, submission_id FROM new
            """,
            [.text(environment), .text(id), .text(reason), .text(account), .text(app), .text(product)])
    }

    /// A submission; without an outcome where it is received.
    func submission(
        _ id: String, app: String = ListRows.app, account: String = "player-1", kind: String = "signed_transaction",
        state: String = "fulfilled", reason: String? = nil, number: String = "1", ago seconds: Int = 600
    ) async throws {
        let isReceived = state == "received"
        let outcome = isReceived ? nil : "{\"state\":\"\(state)\",\"finish\":true,\"transactions\":[]}"
        _ = try await pool.query(
            """
            INSERT INTO submissions (id, state, due_at, app, account, kind, partition_key, correlation_id, received_at,
                settled_at, reason, outcome, proof)
            VALUES ($1, $2, \(isReceived ? "now() + interval '1 minute'" : "NULL"), $3, $4, $5, $6, 'req_of_' || $1,
                \(Self.ago(seconds)), \(isReceived ? "NULL" : "now()"), $7, $8::jsonb, 'proof')
            """,
            [
                .text(id), .text(state), .text(app), .text(account), .text(kind), .text(number), .text(reason),
                .jsonb(outcome),
            ])
    }

    /// What one player bought and did, what waits and what went wrong; the same ids with `other` at their end are the other
    /// app's.
    func story() async throws {
        for (app, end) in [(Self.app, ""), (TestIntake.otherApp, "other")] {
            try await order("1001\(end)", app: app, ago: 900)
            try await order("1002\(end)", app: app, environment: "sandbox", ago: 800)
            try await order("1003\(end)", app: app, account: nil, reason: "unclaimed", ago: 700)
            try await order("1004\(end)", app: app, product: "gems.500", reason: "product_unknown", ago: 500)
            try await submission("sub_a\(end)", app: app, ago: 950)
            try await submission(
                "sub_b\(end)", app: app, kind: "order_id", state: "received", reason: "app_store_unavailable",
                number: "MQ5LZK4PTX\(end.uppercased())", ago: 400)
            try await submission("sub_c\(end)", app: app, state: "rejected", reason: "bundle_mismatch", ago: 300)
            try await submission("sub_d\(end)", app: app, account: "", kind: "server_notification", ago: 200)
            try await ResendRows(pool: pool).write(1, app: app, account: "player-1")
            try await ResendRows(pool: pool).write(2, state: "pending", app: app, account: "player-1")
            try await books(app, end)
            try await apple(app, end)
        }
    }

    private func books(_ app: String, _ end: String) async throws {
        try await run(
            """
            INSERT INTO account_tokens (app, token, account) VALUES
                ('\(app)', '\(Self.token)', 'player-1'), ('\(app)', gen_random_uuid(), 'player-1');
            INSERT INTO purchase_intents (id, app, account, product_id, reference)
            SELECT '\(Self.token)', '\(app)', 'player-1', 'gems.100', 'ticket-1\(end)'
            WHERE NOT EXISTS (SELECT FROM purchase_intents);
            INSERT INTO audit_log (actor, action, subject, reason, app) VALUES
                ('anna by key console\(end)', 'adjust', 'production \(app) player-1', 'ticket 4711\(end)', '\(app)'),
                ('bert\(end)', 'redrive', 'sub_b\(end)', 'ticket 4712\(end)', '\(app)'),
                ('root', 'set_rate', 'tax DEU', 'a law', NULL);
            INSERT INTO spends (environment, app, account, idempotency_key, request_sha256, reference, answer)
            VALUES ('production', '\(app)', 'player-1', 'of-lists', 's', 'castle\(end)', '{}');
            INSERT INTO ledger_entries (environment, transaction_id, spend_id, audit_id, kind, sequence, book, app, account,
                item, amount) VALUES
                ('production', '1001\(end)', NULL, NULL, 'grant', 1, 'issued', '\(app)', 'player-1', 'gem', 100),
                ('production', NULL, (SELECT max(id) FROM spends), NULL, 'spend', 1, 'spent', '\(app)', 'player-1', 'gem', -30),
                ('production', NULL, NULL, (SELECT max(id) FROM audit_log WHERE action = 'adjust'), 'adjustment', 1, 'issued',
                    '\(app)', 'player-1', 'key', 1);
            INSERT INTO balances VALUES ('production', '\(app)', 'player-1', 'gem', 70), ('production', '\(app)', 'player-1', 'key', 1)
                ON CONFLICT DO NOTHING;
            """)
    }

    private func apple(_ app: String, _ end: String) async throws {
        try await run(
            """
            INSERT INTO apple_notifications (app, notification_uuid, environment, type, subtype, signed_date, submission_id,
                recorded_at) VALUES
                ('\(app)', '\(Self.notification)', 'production', 'DID_RENEW', NULL, now(), 'sub_d\(end)', now() - interval '1 hour'),
                ('\(app)', 'n-2\(end)', 'production', 'REFUND', NULL, now(), 'gone', now() - interval '1 minute'),
                ('\(app)', 'n-3\(end)', 'sandbox', 'TEST', NULL, NULL, 'gone', now() - interval '2 minutes');
            INSERT INTO account_consents (app, account, consented) VALUES ('\(app)', 'player-1', true)
                ON CONFLICT DO NOTHING;
            INSERT INTO apple_calls (kind, environment, app, transaction_id, order_transaction_id, state, due_at, requested_at,
                deadline_at, request_reason) VALUES
                ('consumption', 'production', '\(app)', '1001\(end)', '1001\(end)', 'asked', now(), now() - interval '1 hour',
                    now() + interval '11 hours', 'UNINTENDED_PURCHASE');
            INSERT INTO apple_calls (kind, environment, app, transaction_id, order_transaction_id, state, finished_at, requested_at,
                deadline_at, outcome) VALUES
                ('consumption', 'sandbox', '\(app)', '1002\(end)', '1002\(end)', 'lapsed', now(), now() - interval '2 days',
                    now() - interval '1 day', 'no_consent');
            """)
    }
}

extension TestIntake {
    /// Asks something of the game as its backend does.
    func list(_ path: String, _ query: String = "", token: String? = TestIntake.key(.read)) async throws -> Answer {
        try await send(.get, "\(path)?app=\(Self.app)\(query)", token: token)
    }

    /// The rows of a list's first page.
    func rows(_ path: String, _ query: String = "") async throws -> [[String: Any]] {
        let answer = try await list(path, query)
        #expect(answer.status == 200, "\(path)\(query): \(answer.text)")
        return try #require(answer.fields["data"] as? [[String: Any]], "\(answer.text)")
    }

    /// One member of all rows of a list, page by page.
    func all(_ member: String, of path: String, _ query: String = "", limit: Int) async throws -> [String] {
        var found: [String] = []
        var next: String? = ""
        while let after = next {
            let answer = try await list(path, "\(query)&limit=\(limit)\(after.isEmpty ? "" : "&after=\(after)")")
            #expect(answer.status == 200, "\(answer.text)")
            let rows = try #require(answer.fields["data"] as? [[String: Any]])
            #expect(rows.count <= limit)
            found += rows.compactMap { $0[member] as? String }
            next = answer.fields["next"] as? String
            #expect(answer.fields["has_more"] as? Bool == (next != nil))
        }
        return found
    }
}

/// Requests of every list, well and badly, with what really came back.
enum ListSamples {
    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [SampleRequest.Sample] {
        try await ListRows(pool: database.pool).story()
        var samples: [SampleRequest.Sample] = []
        func get(_ template: String, _ id: String = "", _ query: String = "", _ token: String? = TestIntake.key(.read))
            async throws
        {
            let path = template.replacing("{id}", with: id)
            samples.append(("GET", template, try await intake.list(path, query, token: token)))
        }
        for path in ["/v1/accounts/player-1", "/v1/orders"] {
            _ = try await intake.list(path, token: TestIntake.consoleKey)
        }
        let request = try #require(try await intake.rows("/v1/refund-requests").last?["id"] as? String)
        for id in ["1001", "sub_a", "player-1", ListRows.token, ListRows.notification, "none"] {
            try await get("/v1/find", "", "&q=\(id)")
        }
        let lists = [
            "/v1/orders", "/v1/submissions", "/v1/undelivered", "/v1/undelivered/reasons", "/v1/overview",
            "/v1/apple-notifications", "/v1/refund-requests", "/v1/audit-log", "/v1/accounts/{id}/ledger",
            "/v1/accounts/{id}/tokens", "/v1/views",
        ]
        for list in lists {
            try await get(list, "player-1")
            try await get(list, "player-1", "&limit=1&older_than=0")
            try await get(list, "player-1", "&environment=moon&after=x&limit=0")
            try await get(list, "player-1", "", nil)
            try await get(list, "player-1", "", TestIntake.key(.post))
        }
        for (template, id) in [("/v1/submissions/{id}", "sub_a"), ("/v1/refund-requests/{id}", request)] {
            for asked in [id, "none"] { try await get(template, asked) }
        }
        try await get("/v1/find")
        for by in ["day", "product", "storefront", "moon"] {
            try await get("/v1/revenue", "", "\(ListRows.days)&by=\(by)")
        }
        try await get("/v1/revenue", "", "&from=2026-01-02&to=2026-01-01")
        for by in ["day", "month", "product", "moon"] {
            try await get("/v1/subscription-figures", "", "\(ListRows.days)&by=\(by)")
        }
        for environment in ["production", "sandbox", "moon"] {
            try await get("/v1/catalogue", "", "&environment=\(environment)")
        }
        for token in [TestIntake.key(.operate), TestIntake.key(.read)] { try await get("/v1/settings", "", "", token) }
        return samples
    }
}
