import Persistence
import PersistenceTesting
import Postgres
import Testing

@testable import CountersignTool

/// What inspect says of an order with several transaction ids, and of what contradicts it.
@Suite(.enabled(if: TestDatabase.url != nil, "SKIPPED: COUNTERSIGN_TEST_POSTGRES is not set"))
struct InspectTransactionIdsTests {
    private func execute(_ script: String, in pool: PostgresPool) async throws {
        try await pool.withConnection { try await $0.executeScript(script) }
    }

    @Test(arguments: ["1000", "1001", "0999", "sub_1", "sub_2", "evt_1"])
    func inspectFindsAnOrderByEachOfItsTransactionIds(id: String) async throws {
        try await TestDatabase.with { pool in
            try await execute(InspectionTests.purchase, in: pool)
            try await execute(
                """
                INSERT INTO submissions (id, state, app, account, kind, partition_key, correlation_id, settled_at, outcome,
                    proof, named_transaction_id)
                VALUES ('sub_2', 'fulfilled', 'a', '', 'server_notification', '1000', 'r', now(),
                        '{"transactions": [{"environment": "sandbox", "transaction_id": "1001"}]}', 'x', NULL),
                    ('sub_3', 'parked', 'a', 'player-1', 'receipt', '1000', 'r', now(), '{"transactions": []}', 'x',
                        '0999'),
                    ('sub_4', 'parked', 'a', 'player-1', 'transaction_id', '1001', 'r', now(), '{"transactions": []}',
                        '1001', NULL),
                    ('sub_5', 'rejected', 'a', 'player-5', 'transaction_id', '5000', 'r', now(), '{"transactions": []}',
                        '5000', NULL);
                INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id, created_at)
                VALUES ('sandbox', '1001', '1000', 'sub_2', '2026-01-02T03:04:05Z'),
                    ('sandbox', '0999', '1000', 'sub_3', '2026-01-03T03:04:05Z')
                """, in: pool)
            let dossier = try Dossier(json: #require(try await InspectionStore(pool: pool).inspect(id)))
            #expect(dossier.orders.map(\.transactionId) == ["1000"])
            #expect(dossier.orderTransactions.map(\.transactionId) == ["1000", "0999", "1001"])
            #expect(dossier.ledgerEntries.map(\.amount) == [100] && dossier.events.map(\.id) == ["evt_1"])
            #expect(Set(dossier.submissions.map(\.id)) == ["sub_1", "sub_2", "sub_3", "sub_4"])
            for line in [
                "sandbox 1000  the order's own, by sub_1, ",
                "sandbox 0999  of the order 1000, by sub_3, 2026-01-03 03:04:05Z",
                "sandbox 1001  of the order 1000, by sub_2, 2026-01-02 03:04:05Z",
            ] {
                #expect(dossier.text.contains(line), "\(line) is not in \(dossier.text)")
            }
        }
    }

    @Test(arguments: ["1000", "1009"])
    func inspectShowsWhatContradictsAnOrder(id: String) async throws {
        try await TestDatabase.with { pool in
            try await execute(InspectionTests.purchase, in: pool)
            try await execute(
                """
                INSERT INTO purchase_conflicts (environment, app, transaction_id, order_transaction_id, cause, submission_id,
                    created_at, resolved_at)
                VALUES ('sandbox', 'a', '1009', '1000', 'two_line_items', 'sub_9', '2026-01-02T03:04:05Z', NULL),
                    ('sandbox', 'a', '1008', '1000', 'two_orders', 'sub_8', '2026-01-02T03:04:05Z', '2026-01-03T03:04:05Z')
                """, in: pool)
            let text = try Dossier(json: #require(try await InspectionStore(pool: pool).inspect(id))).text
            for line in [
                "sandbox 1009 by sub_9, 2026-01-02 03:04:05Z, contradicts 1000 (two_line_items), OPEN",
                "sandbox 1008 by sub_8, 2026-01-02 03:04:05Z, contradicts 1000 (two_orders), resolved 2026-01-03 03:04:05Z",
                "sandbox 1000  granted to player-1",
            ] {
                #expect(text.contains(line), "\(line) is not in \(text)")
            }
        }
    }
}
