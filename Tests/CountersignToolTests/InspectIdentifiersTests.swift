import Foundation
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import CountersignTool
@testable import Persistence

/// What `countersign inspect` makes of each kind of id.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct InspectIdentifiersTests {
    private static let token = "0197c0de-0000-7000-8000-00000000a11c"
    private static let intent = "0197c0de-0000-7000-8000-00000000b0b0"
    private static let notification = "0197c0de-0000-7000-8000-00000000f00d"

    /// A subscription of alice with a renewal, an intent, a token, a notification, a posted order id, and what was refused.
    private static let story = """
        INSERT INTO submissions (id, state, app, account, kind, partition_key, correlation_id, settled_at, outcome, reason, proof)
        VALUES ('sub_1', 'fulfilled', 'a', 'alice', 'signed_transaction', '500', 'r', now(), '{"transactions": []}', NULL, 'x'),
            ('sub_2', 'fulfilled', 'a', '', 'server_notification', '500', 'r', now(),
                '{"transactions": [{"environment": "production", "transaction_id": "501"}]}', NULL, 'x'),
            ('sub_3', 'rejected', 'a', 'alice', 'signed_transaction', '700', 'req_3', now(), '{"transactions": []}',
                'bundle_id_mismatch', 'x'),
            ('sub_4', 'rejected', 'a', 'alice', 'order_id', 'MQ5LZK4PTX', 'r', now(), '{"transactions": []}',
                'order_not_found', 'MQ5LZK4PTX');
        INSERT INTO submissions (id, state, due_at, app, account, kind, partition_key, correlation_id, proof, reason)
        VALUES ('sub_5', 'received', now(), 'a', 'alice', 'signed_transaction', '800', 'r', 'x', 'app_store_unavailable');
        INSERT INTO orders (environment, transaction_id, state, account, app, product_id, product_type, quantity,
            original_transaction_id, purchase_date, signed_date, submission_id, correlation_id, granted_at, transaction,
            app_account_token, web_order_line_item_id)
        VALUES ('production', '500', 'granted', 'alice', 'a', 'pass', 'auto_renewable', 1, '500', '2026-01-01', now(), 'sub_1',
                'r', now(), '{}', '\(token)', '9001'),
            ('production', '501', 'granted', 'alice', 'a', 'pass', 'auto_renewable', 1, '500', '2026-02-01', now(), 'sub_2',
                'r', now(), '{}', '\(token)', '9002');
        INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
        VALUES ('production', '500', '500', 'sub_1'), ('production', '501', '501', 'sub_2');
        INSERT INTO lineages (environment, original_transaction_id, app, account, cause, bound_at)
        VALUES ('production', '500', 'a', 'alice', 'possession', now());
        INSERT INTO account_tokens (app, token, account) VALUES ('a', '\(token)', 'alice'),
            ('b', '0197c0de-0000-7000-8000-00000000beef', 'bob');
        INSERT INTO purchase_intents (id, app, account, product_id) VALUES ('\(intent)', 'a', 'alice', 'gems.100');
        INSERT INTO apple_notifications (app, notification_uuid, environment, type, submission_id)
        VALUES ('a', '\(notification)', 'production', 'DID_RENEW', 'sub_2'),
            ('b', '\(notification)', 'production', 'TEST', 'sub_9');
        INSERT INTO balances VALUES ('production', 'a', 'alice', 'gem', 100);
        INSERT INTO account_sequences VALUES ('production', 'a', 'alice', 1);
        INSERT INTO sweep_requests (id, app, subjects) VALUES ('swp_1', 'a', ARRAY['production/501']);
        INSERT INTO spends (id, environment, app, account, idempotency_key, request_sha256, answer)
        OVERRIDING SYSTEM VALUE VALUES (77, 'production', 'a', 'alice', 'k', 's', '{}');
        """

    private func tool(_ body: (ToolProcess) async throws -> Void) async throws {
        try await TestDatabase.with { pool in
            try await pool.withConnection { try await $0.executeScript(Self.story) }
            try await body(try await ToolProcess(pool))
        }
    }

    private func kinds(_ ended: ToolProcess.Ended) throws -> [String] {
        let meanings = try #require(try ended.json()["recognised_as"] as? [[String: Any]])
        var kinds: [String] = []
        for kind in meanings.compactMap({ $0["kind"] as? String }) where !kinds.contains(kind) { kinds.append(kind) }
        return kinds
    }

    @Test(
        "an id is recognised, and leads to its orders",
        arguments: [
            ("501", ["transaction"], ["501"]), ("500", ["transaction", "original_transaction"], ["500", "501"]),
            ("production:501", ["transaction"], ["501"]), ("9002", ["web_order_line_item"], ["501"]),
            (token, ["account_token"], ["500", "501"]), (token.uppercased(), ["account_token"], ["500", "501"]),
            (notification, ["notification"], ["501"]), (intent, ["intent"], []), ("sub_3", ["submission"], []),
            ("swp_1", ["sweep_request"], ["501"]), ("spend_77", ["spend"], []),
            ("req_3", ["request"], []),
            ("MQ5LZK4PTX", ["posted_number"], []), ("alice", ["account"], ["500", "501"]),
        ])
    func recognised(id: String, kinds expected: [String], orders: [String]) async throws {
        try await tool { tool in
            let ended = try await tool.run("inspect", id, "--json")
            #expect(ended.status == 0, "\(id): \(ended.errors)")
            #expect(try kinds(ended) == expected, "\(id): \(ended.output)")
            let found = try #require(try ended.json()["orders"] as? [[String: Any]])
            #expect(found.compactMap { $0["transaction_id"] as? String }.sorted() == orders, "\(id)")
            #expect(try await tool.run("inspect", id).status == 0)
        }
    }

    @Test("an account's story has what it bought and has, what waits, and what was refused and why")
    func account() async throws {
        try await tool { tool in
            let ended = try await tool.run("inspect", "alice")
            for line in [
                "alice is an account of a", "orders granted", "submissions rejected",
                "sub_3  rejected (bundle_id_mismatch)",
                "sub_5  received (app_store_unavailable)", "production alice: 100 gem", "\(Self.token) for a",
                "\(Self.intent): gems.100 of a",
            ] {
                #expect(ended.output.contains(line), "\(line) is not in \(ended.output)")
            }
            #expect(!ended.output.contains("sub_1  fulfilled"))
            #expect(try await tool.run("inspect", "alice", "--app", "b").status == 1)
            let few = try await tool.run("inspect", "alice", "--limit", "1", "--json").json()
            #expect((few["orders"] as? [Any])?.count == 1)
            #expect((few["counts"] as? [String: Any])?["orders_granted"] as? Int == 2)
        }
    }

    @Test("what nobody knows is a failure that says so; an order id of an e-mail gets a hint")
    func unknown() async throws {
        try await tool { tool in
            let ended = try await tool.run("inspect", "42")
            #expect(ended.status == 1 && ended.errors.contains("nothing is known of 42"), "\(ended.errors)")
            let order = try await tool.run("inspect", "MK1234567X")
            #expect(order.status == 1 && order.errors.contains("--ask-apple"), "\(order.errors)")
        }
    }

    @Test(
        "each look goes by an index, on tables that are filled",
        arguments: ["meanings", "purchases", "uuids", "accounts", "account"])
    func plans(part: String) async throws {
        try await TestDatabase.with { pool in
            try await pool.withConnection { connection in
                try await connection.executeScript(Self.story)
                try await connection.executeScript(Self.filling)
            }
            let statements: [String: SQL] = [
                "meanings": IdentifierStore.rows("alice", nil), "purchases": IdentifierStore.purchases("alice", nil),
                "uuids": IdentifierStore.uuids(try #require(UUID(uuidString: Self.token)), nil),
                "accounts": IdentifierStore.accounts("alice", nil),
                "account": AccountInspectionStore.statement(Account(stored: "alice"), app: nil, limit: 20),
            ]
            let statement = try #require(statements[part])
            let plan = try await pool.withTransaction { connection in
                try await connection.executeScript(InspectionStore.settings)
                return try await connection.query("EXPLAIN \(statement)").map { (line: String) in line }
            }.joined(separator: "\n")
            #expect(!plan.contains("Seq Scan on"), "\(plan)")
        }
    }

    /// Some thousand rows of others in each table that an account or an id is looked for in.
    private static let filling = """
        INSERT INTO submissions (id, state, app, account, kind, partition_key, correlation_id, settled_at, outcome, proof)
        SELECT 'sub_x' || n, 'fulfilled', 'a', 'player-' || n, 'signed_transaction', n::text, 'r', now(),
            '{"transactions": []}', 'x' FROM generate_series(1, 3000) n;
        INSERT INTO orders (environment, transaction_id, state, account, app, product_id, product_type, quantity,
            original_transaction_id, purchase_date, signed_date, submission_id, correlation_id, granted_at, transaction,
            app_account_token, web_order_line_item_id)
        SELECT 'production', 'x' || n, 'granted', 'player-' || n, 'a', 'pass', 'auto_renewable', 1, 'x' || n, now(), now(),
            'sub_x' || n, 'r', now(), '{}', gen_random_uuid(), 'w' || n FROM generate_series(1, 3000) n;
        INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
        SELECT 'production', 'x' || n, 'x' || n, 'sub_x' || n FROM generate_series(1, 3000) n;
        INSERT INTO account_tokens (app, token, account)
        SELECT 'a', gen_random_uuid(), 'player-' || n FROM generate_series(1, 3000) n;
        INSERT INTO balances SELECT 'production', 'a', 'player-' || n, 'gem', 1 FROM generate_series(1, 3000) n;
        ANALYZE submissions, orders, order_transactions, account_tokens, balances;
        """
}
