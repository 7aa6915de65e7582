import Foundation
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import CountersignTool
@testable import Persistence

/// `countersign undelivered`, `sweep` and `reconcile`, as processes.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct UndeliveredCommandTests {
    /// An order that is parked, as fulfillment writes it.
    private func park(_ id: String, _ reason: String, _ pool: PostgresPool, environment: String = "production")
        async throws
    {
        _ = try await pool.query(
            """
            WITH parked AS (
                INSERT INTO orders (environment, transaction_id, state, reason, app, product_id, product_type, quantity,
                    original_transaction_id, purchase_date, signed_date, submission_id, correlation_id, transaction,
                    created_at, app_transaction_id)
                VALUES ($2, $1, 'parked', $3, 'game', 'gem', 'consumable', 1, $1, now(), now(), 's', 'r', '{}',
                    now() - interval '3 hours', 'apple-id') RETURNING environment, transaction_id
            )
            INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
            SELECT environment, transaction_id, transaction_id, 's' FROM parked
            """, [.text(id), .text(environment), .text(reason)])
    }

    @Test(
        "lists what is paid and not delivered, each reason with what to do; what only waits for its buyer is no failure"
    )
    func lost() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let none = try await tool.run("undelivered")
            #expect(none.status == 0, "\(none.errors)")
            #expect(none.lines == ["nothing is paid and not delivered"])
            try await park("1", "unclaimed", pool)
            try await park("2", "product_unknown", pool, environment: "sandbox")
            let unclaimed = try await tool.run("undelivered")
            #expect(unclaimed.status == 0, "\(unclaimed.errors)")
            #expect(unclaimed.output.contains("parked production for unclaimed: 1, the oldest for 3 h"))
            #expect(!unclaimed.output.contains("product_unknown"))
            try await park("3", "account_token_unknown", pool)
            let found = try await tool.run("undelivered")
            #expect(found.status == 2)
            #expect(found.lines.first == "2 paid, or perhaps paid, and not delivered")
            #expect(found.output.contains("PUT /v1/account-tokens/{uuid}"))
            let json = try await tool.run("undelivered", "--json", "--everywhere", "--reason", "product_unknown").json()
            #expect(json["count"] as? Int == 1)
            let purchases = try #require(json["purchases"] as? [[String: Any]])
            #expect(purchases.first?["transaction_id"] as? String == "2")
        }
    }

    @Test("sweep has one customer asked about at once, and notes who wanted it")
    func sweep() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            try await park("7", "unclaimed", pool)
            let nobody = try await tool.run(
                "apple", "sweep", "--app", "game", "--transaction", "8", "--reason", "case 1")
            #expect(nobody.status == 1)
            #expect(nobody.errors.contains("order id of Apple's e-mail"))
            let asked = try await tool.run(
                "apple", "sweep", "--app", "game", "--transaction", "7", "--reason", "case 2", "--actor", "anna")
            #expect(asked.status == 0, "\(asked.errors)")
            #expect(asked.output.hasPrefix("3 questions are asked within seconds"))
            let tasks = try await pool.query(
                "SELECT kind, priority::int4, cause, customer FROM sweep_tasks ORDER BY kind"
            ).rows
            #expect(try tasks.map { try $0.decode("kind", as: String.self) } == ["history", "refunds", "statuses"])
            #expect(try tasks.allSatisfy { try $0.decode("priority", as: Int32.self) == 0 })
            #expect(try tasks.allSatisfy { try $0.decode("customer", as: String.self) == "a:apple-id" })
            let audit = try await pool.query("SELECT actor, subject FROM audit_log WHERE action = 'sweep'").rows
            #expect(try audit.map { try $0.decode("subject", as: String.self) } == ["both game 7"])
        }
    }

    @Test("reconcile asks for everything anew, waits for the workers, and reports what came of it")
    func reconcile() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let early = try await tool.run("apple", "reconcile", "--since", "2026-01-01", "--reason", "a disk was lost")
            #expect(early.status == 1)
            #expect(early.errors.contains("COUNTERSIGN_POSTGRES_URL"))
            try await SweepTaskStore(pool: pool).prepare(
                [.init(bundleId: "game", environment: .production)], kinds: [.notifications, .failures])
            let going = try await tool.run(
                "apple", "reconcile", "--since", "2026-01-01", "--reason", "a disk was lost", "--no-wait")
            #expect(going.status == 0, "\(going.errors)")
            #expect(going.output.contains("goes on: 3 questions left"), "\(going.output)")
            let wanted = try await pool.query(
                """
                SELECT count(*) AS n FROM sweep_tasks WHERE kind IN ('notifications', 'failures') AND priority = 1
                    AND covered_until = '2026-01-01T00:00:00Z' AND due_at <= now()
                """
            ).rows
            #expect(try wanted[0].decode("n", as: Int64.self) == 2)
            // The workers have asked.
            _ = try await pool.query("UPDATE sweep_tasks SET run_id = NULL, finished_at = now()")
            let over = try await tool.run("apple", "reconcile", "--status")
            #expect(over.status == 0, "\(over.errors)")
            #expect(over.output.contains("is over: 0 found that the books lacked"), "\(over.output)")
            #expect(over.lines.last == "nothing is paid and not delivered")
        }
    }

    @Test("the doctor tells what is late, and whose notifications nobody compares")
    func doctor() {
        func look(_ overdue: Double, _ error: String? = nil) -> SweepTaskStore.Look {
            SweepTaskStore.Look(
                app: "game", environment: "production", coveredSeconds: 60, overdueSeconds: overdue, lastError: error)
        }
        #expect(SweepCheck.judge([look(0)], unasked: []).level == .good)
        let late = SweepCheck.judge([look(7_300, "rate_limited"), look(0)], unasked: [])
        #expect(late.level == .warning)
        #expect(late.detail.hasSuffix("overdue for 2 h: rate_limited"))
        #expect(SweepCheck.judge([], unasked: []).level == .good)
        #expect(SweepCheck.judge([look(0)], unasked: ["second"]).level == .warning)
        let group = LostPurchasesStore.Group(
            stage: "parked", environment: "production", reason: "unclaimed", count: 3, oldestSeconds: 9_000)
        #expect(SweepCheck.judge(lost: [group]).level == .good)
    }
}
