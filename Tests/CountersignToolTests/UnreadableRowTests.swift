import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

/// A row with a value that this version does not know is an error that names the column, and is never passed over.
@Suite(
    .enabled(if: TestDatabase.url != nil, "SKIPPED: no PostgreSQL; run deploy/test, or set COUNTERSIGN_TEST_POSTGRES"))
struct UnreadableRowTests {
    private func with(_ damage: String, _ body: @Sendable (PostgresPool) async throws -> Void) async throws {
        try await TestDatabase.with { pool in
            try await SoldOrder.insert([try SoldOrder("100", "2026-05-01T10:00:00Z", price: 1)], pool)
            try await pool.withConnection { try await $0.executeScript(damage) }
            try await body(pool)
        }
    }

    private func expectUnreadable(_ column: String, _ body: () async throws -> Void) async throws {
        let error = try await #require(throws: PostgresError.self) { try await body() }
        #expect(error.code == .decodingFailed && "\(error)".contains("\(column) has"), "\(error)")
    }

    private static let unknownState = """
        ALTER TABLE orders DROP CONSTRAINT orders_state_is_known;
        UPDATE orders SET state = 'lent', reason = 'until_tomorrow'
        """

    @Test func aClaimOfAnUnknownEnvironment() async throws {
        try await with(
            """
            INSERT INTO audit_log (actor, action, subject, reason) VALUES ('ada', 'claim', 'moon 100 alice', 'r');
            INSERT INTO operator_claims (audit_id, environment, transaction_id, account)
            SELECT id, 'moon', '100', 'alice' FROM audit_log
            """
        ) { pool in
            try await expectUnreadable("environment") {
                try await pool.withTransaction { _ = try await OperatorClaimStore.due(limit: 10, on: $0) }
            }
        }
    }

    @Test func aClaimOfAnOrderInAnUnknownState() async throws {
        try await with(Self.unknownState) { pool in
            try await expectUnreadable("state") {
                _ = try await OperatorClaimStore(pool: pool).claim(
                    environment: .production, transactionId: "100", account: "alice", actor: "ada", reason: "r")
            }
            #expect(try await pool.query("SELECT 1 AS one FROM audit_log").rows.isEmpty)
        }
    }

    @Test func anOrderInAnUnknownState() async throws {
        try await with(Self.unknownState) { pool in
            try await expectUnreadable("state") {
                _ = try await OrderReadingStore(pool: pool).story(
                    of: OrderKey(environment: .production, transactionId: "100"), app: "game")
            }
            try await expectUnreadable("state") {
                _ = try await AccountStore(pool: pool).transactions(
                    of: .init(environment: .production, app: "game", account: Account(stored: "alice")), limit: 10)
            }
        }
    }
}
