import Foundation
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

/// `countersign orders assign` and `countersign orders owners`, as processes.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct OrdersAssignCommandTests {
    private func park(_ id: String, _ pool: PostgresPool) async throws {
        let order = try SoldOrder(id, "2026-05-01T10:00:00Z", price: 1_000)
        try await SoldOrder.insert([order], pool)
        _ = try await pool.query(
            """
            UPDATE orders SET state = 'parked', reason = 'unclaimed', account = NULL, granted_at = NULL
            WHERE transaction_id = $1
            """, [.text(id)])
    }

    private func addId(_ id: String, to order: String, _ pool: PostgresPool) async throws {
        _ = try await pool.query(
            """
            INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
            VALUES ('production', $1, $2, 's')
            """, [.text(id), .text(order)])
    }

    /// Takes claims up as fulfillment does: looks until one is due, gives the order or not, and settles the claim.
    private func takeUp(_ pool: PostgresPool, account: String?) async throws {
        var isTaken = false
        while !isTaken {
            isTaken = try await pool.withTransaction { connection in
                guard let due = try await OperatorClaimStore.due(limit: 1, on: connection).first else { return false }
                if let account {
                    _ = try await connection.query(
                        """
                        UPDATE orders SET state = 'granted', reason = NULL, account = $1, granted_at = now()
                        WHERE transaction_id = $2
                        """, [.text(account), .text(due.key.transactionId)])
                }
                try await OperatorClaimStore.settle([due.auditId], on: connection)
                return true
            }
            // The claim is written by another process; there is no signal to wait for.
            if !isTaken { try await Task.sleep(for: .milliseconds(20)) }
        }
    }

    @Test("waits until fulfillment has taken it up, and says what became of it")
    func granted() async throws {
        try await TestDatabase.with { pool in
            try await park("100", pool)
            let tool = try await ToolProcess(pool)
            async let taken: Void = takeUp(pool, account: "alice")
            let ended = try await tool.run(
                "orders", "assign", "production", "100", "--account", "alice", "--reason", "a letter with the receipt",
                "--wait",
                "300")
            try await taken
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(ended.lines.first?.hasPrefix("claimed for alice, audit ") == true)
            #expect(ended.lines.last == "the order is granted, alice's")
            let log = try await pool.query(
                "SELECT concat_ws(' ', actor, action, subject, reason) AS line FROM audit_log")
            #expect(
                try log.rows.map { try $0.decode("line", as: String.self) } == [
                    "tester claim production 100 alice a letter with the receipt"
                ])
        }
    }

    @Test("a claim by any transaction id is a claim of the order, and the audit log names the order's own id")
    func anyId() async throws {
        try await TestDatabase.with { pool in
            try await park("100", pool)
            try await addId("101", to: "100", pool)
            let tool = try await ToolProcess(pool)
            async let taken: Void = takeUp(pool, account: "alice")
            let ended = try await tool.run(
                "orders", "assign", "production", "101", "--account", "alice", "--reason", "r", "--wait", "300")
            try await taken
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(ended.lines.first == "101 is a transaction id of the order 100")
            #expect(ended.lines.last == "the order is granted, alice's")
            let claims = try await pool.query(
                """
                SELECT c.transaction_id, a.subject FROM operator_claims c JOIN audit_log a ON a.id = c.audit_id
                """)
            #expect(try claims.rows.map { try $0.decode("transaction_id", as: String.self) } == ["100"])
            #expect(try claims.rows.map { try $0.decode("subject", as: String.self) } == ["production 100 alice"])
        }
    }

    @Test("an order that is claimed by one of its ids cannot be claimed by another")
    func claimedByAnotherId() async throws {
        try await TestDatabase.with { pool in
            try await park("100", pool)
            try await addId("101", to: "100", pool)
            let claims = OperatorClaimStore(pool: pool)
            func claim(_ id: String, _ environment: StoreEnvironment = .production) async throws {
                _ = try await claims.claim(
                    environment: environment, transactionId: id, account: "alice", actor: "ada", reason: "r")
            }
            try await claim("101")
            await #expect(throws: OperatorClaimStore.Refusal.alreadyClaimed(account: "alice")) {
                try await claim("100")
            }
            await #expect(throws: OperatorClaimStore.Refusal.orderNotFound) { try await claim("101", .sandbox) }
            await #expect(throws: OperatorClaimStore.Refusal.orderNotFound) { try await claim("102") }
        }
    }

    @Test("an order that did not come to the account is a failure, and so is a fulfillment that does not run")
    func notGranted() async throws {
        try await TestDatabase.with { pool in
            try await park("100", pool)
            let tool = try await ToolProcess(pool)
            let waiting = try await tool.run(
                "orders", "assign", "production", "100", "--account", "alice", "--reason", "r", "--wait", "0")
            #expect(waiting.status == 3 && waiting.errors.contains("has not taken it up yet"), "\(waiting.errors)")
            #expect(waiting.output.hasPrefix("claimed for alice"))
            let again = try await tool.run("orders", "assign", "production", "100", "--account", "bob", "--reason", "r")
            #expect(again.status == 1 && again.errors.contains("claimed for alice"), "\(again.errors)")
            try await takeUp(pool, account: nil)
            async let taken: Void = takeUp(pool, account: nil)
            let refused = try await tool.run(
                "orders", "assign", "production", "100", "--account", "bob", "--reason", "r", "--wait", "300")
            try await taken
            #expect(refused.status == 1 && refused.errors.contains("parked, unclaimed, nobody's"), "\(refused.errors)")
        }
    }

    @Test("what cannot be claimed is told with its reason")
    func refused() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let unknown = try await tool.run(
                "orders", "assign", "production", "7", "--account", "alice", "--reason", "r")
            #expect(unknown.status == 1 && unknown.errors.contains("there is no such order"), "\(unknown.errors)")
            try await SoldOrder.insert([try SoldOrder("8", "2026-05-01T10:00:00Z", price: 1)], pool)
            let granted = try await tool.run(
                "orders", "assign", "production", "8", "--account", "alice", "--reason", "r")
            #expect(granted.status == 1 && granted.errors.contains("only a parked one"), "\(granted.errors)")
            for arguments in [
                ["orders", "assign", "xcode", "8", "--account", "alice", "--reason", "r"],
                ["orders", "assign", "sandbox", "8", "--account", "alice"],
                ["orders", "assign", "sandbox", "8", "--account", "alice", "--reason", " "],
                ["orders", "assign", "production", "8", "--account", "a\nb", "--reason", "r"],
                [
                    "orders", "assign", "production", "8", "--account", String(repeating: "x", count: 256), "--reason",
                    "r",
                ],
                ["orders", "assign", "sandbox", "8", "--account", "alice", "--reason", "r", "--wait", "-1"],
            ] {
                let ended = try await tool.run(arguments)
                #expect(ended.status == 64, "\(arguments)")
            }
            let log = try await pool.query("SELECT 1 AS one FROM audit_log")
            #expect(log.rows.isEmpty)
        }
    }

    @Test("the history of a lineage is found by any of its transactions")
    func bindings() async throws {
        try await TestDatabase.with { pool in
            try await SoldOrder.insert([try SoldOrder("101", "2026-05-01T10:00:00Z", price: 1)], pool)
            try await addId("102", to: "101", pool)
            try await pool.withConnection { connection in
                try await connection.executeScript(
                    """
                    UPDATE orders SET original_transaction_id = '100' WHERE transaction_id = '101';
                    INSERT INTO lineages (environment, original_transaction_id, app, account, cause)
                        VALUES ('production', '100', 'game', 'bob', 'transfer');
                    INSERT INTO lineage_shares (environment, original_transaction_id, app, account)
                        VALUES ('production', '100', 'game', 'dora'), ('production', '100', 'game', 'carl');
                    INSERT INTO binding_history (environment, original_transaction_id, app, from_account, to_account,
                        cause, policy, submission_id, created_at) VALUES
                        ('production', '100', 'game', NULL, 'alice', 'possession', NULL, 'sub_1', '2026-05-01T10:00:00Z'),
                        ('production', '100', 'game', 'alice', 'bob', 'transfer', 'transfer', 'sub_2',
                            '2026-05-02T10:00:00Z');
                    """)
            }
            let tool = try await ToolProcess(pool)
            for id in ["101", "100", "102"] {
                let ended = try await tool.run("orders", "owners", "production", id)
                #expect(
                    ended.lines == [
                        "production 100 of game is bob's (transfer)", "shared with carl, dora",
                        "  2026-05-01T10:00:00Z  nobody → alice  possession, submission sub_1",
                        "  2026-05-02T10:00:00Z  alice → bob  transfer, policy transfer, submission sub_2",
                    ], "\(ended.errors)")
            }
            let json = try await tool.run("orders", "owners", "production", "101", "--json").json()
            #expect((json["history"] as? [[String: Any]])?.map { $0["to"] as? String } == ["alice", "bob"])
            #expect(json["shared_with"] as? [String] == ["carl", "dora"])
            let unknown = try await tool.run("orders", "owners", "sandbox", "101")
            #expect(unknown.status == 1 && unknown.errors.contains("belongs to no lineage in sandbox"))
        }
    }
}
