import EventProcessing
import Foundation
import Logging
import PersistenceTesting
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import Persistence

/// Lists on tables that are large: another app's rows, and this one's that are of another time, are not read.
@Suite(
    "Lists of large tables", .enabled(if: PersistenceTesting.TestDatabase.url != nil, TestDatabase.skipComment),
    .timeLimit(.minutes(5)))
struct ListGrowthTests {
    /// Rows of each table, of two apps.
    private static let rows = 40_000
    /// What one look may read of a table by its indexes: the rows that it looks at, twice, and what a count stops at.
    private static let readMaximum: Int64 = 21_000

    private static let filling = """
        INSERT INTO submissions (id, state, app, account, kind, partition_key, correlation_id, settled_at, outcome, proof,
            received_at, reason, due_at)
        SELECT 'sub_' || n, s.state, a, 'player-' || n % 1000, 'signed_transaction', n::text, 'req_' || n,
            CASE WHEN s.state <> 'received' THEN now() END,
            CASE WHEN s.state <> 'received' THEN '{"state": "parked", "finish": true, "transactions": []}'::jsonb END, 'x',
            now() - n * interval '1 second', CASE WHEN s.state <> 'fulfilled' THEN 'why_' || n % 5 END,
            CASE WHEN s.state = 'received' THEN now() END
        FROM (SELECT n, CASE n % 2 WHEN 0 THEN 'a' ELSE 'b' END AS a FROM generate_series(1, \(rows)) n) g,
            LATERAL (SELECT (ARRAY['fulfilled', 'fulfilled', 'received', 'rejected', 'parked'])[1 + n / 2 % 5] AS state) s;
        INSERT INTO orders (environment, transaction_id, state, account, app, product_id, product_type, quantity,
            original_transaction_id, purchase_date, signed_date, submission_id, correlation_id, granted_at, transaction,
            created_at, reason)
        SELECT 'production', n::text, CASE WHEN n % 10 < 2 THEN 'parked' ELSE 'granted' END, 'player-' || n % 1000,
            CASE n % 2 WHEN 0 THEN 'a' ELSE 'b' END, 'p' || n % 7, 'consumable', 1, n::text, now(), now(), 'sub_' || n, 'req_' || n,
            CASE WHEN n % 10 >= 2 THEN now() END, '{}', now() - n * interval '1 second', CASE WHEN n % 10 < 2 THEN 'why_' || n % 3 END
        FROM generate_series(1, \(rows)) n;
        INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
        SELECT environment, transaction_id, transaction_id, submission_id FROM orders;
        INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount)
        SELECT environment, transaction_id, 'grant', 1, app, account, 'gem', 1 FROM orders WHERE state = 'granted';
        INSERT INTO account_tokens (app, token, account, created_at)
        SELECT app, gen_random_uuid(), account, created_at FROM orders;
        INSERT INTO apple_notifications (app, notification_uuid, environment, type, submission_id, recorded_at)
        SELECT app, 'n' || transaction_id, environment, 'TYPE_' || product_id, submission_id, created_at FROM orders;
        INSERT INTO apple_calls (kind, environment, app, transaction_id, order_transaction_id, state, finished_at, requested_at,
            deadline_at)
        SELECT 'consumption', environment, app, transaction_id, transaction_id, 'done', now(), created_at, now() FROM orders;
        INSERT INTO audit_log (actor, action, subject, reason, app, created_at)
        SELECT 'actor', 'redrive', submission_id, 'r', app, created_at FROM orders;
        ANALYZE;
        """

    /// A question, and how many rows are answered.
    private struct Look: Sendable {
        let name: String
        let ask: @Sendable (PostgresPool) async throws -> Int

        init(_ name: String, _ ask: @escaping @Sendable (PostgresPool) async throws -> Int) {
            self.name = name
            self.ask = ask
        }

        static func orders(_ change: (inout OrderListStore.Selection) -> Void) -> Look {
            var selection = OrderListStore.Selection(app: "a")
            change(&selection)
            let chosen = selection
            return Look("orders \(chosen)") {
                try await OrderListStore(pool: $0).page(chosen, after: nil, limit: 20).rows.count
            }
        }

        static func submissions(_ change: (inout SubmissionListStore.Selection) -> Void) -> Look {
            var selection = SubmissionListStore.Selection(app: "a")
            change(&selection)
            let chosen = selection
            return Look("submissions \(chosen)") {
                try await SubmissionListStore(pool: $0).page(chosen, after: nil, limit: 20).rows.count
            }
        }
    }

    private static let customer = Customer(environment: .production, app: "a", account: Account(stored: "player-2"))

    private static var purchases: [Look] {
        let hour = Date(timeIntervalSinceNow: -3_600)
        let account = customer.account
        var looks: [Look] = []
        looks.append(.orders { _ in })
        looks.append(.orders { $0.state = .parked })
        looks.append(.orders { $0.account = account })
        looks.append(.orders { $0.environment = .production })
        looks.append(.orders { $0.since = hour })
        looks.append(.orders { $0.productId = "p3" })
        looks.append(.submissions { _ in })
        looks.append(.submissions { $0.state = .received })
        looks.append(.submissions { $0.account = account })
        looks.append(.submissions { $0.reason = "why_1" })
        return looks
    }

    private static var overview: [Look] {
        var looks: [Look] = []
        looks.append(
            Look("undelivered") {
                let selection = UndeliveredListStore.Selection(app: "a")
                return try await UndeliveredListStore(pool: $0).page(selection, after: nil, limit: 20).rows.count
            })
        looks.append(
            Look("reasons") {
                try await UndeliveredListStore(pool: $0).groups(UndeliveredListStore.Selection(app: "a")).count
            })
        looks.append(Look("minutes") { try await OverviewStore(pool: $0).minutes("a", .production).count })
        looks.append(Look("waiting") { try await OverviewStore(pool: $0).waiting("a").count })
        looks.append(Look("last notifications") { try await OverviewStore(pool: $0).lastNotifications("a").count })
        looks.append(Look("identifiers") { try await IdentifierStore(pool: $0).meanings(of: "req_4", app: "a").count })
        return looks
    }

    private static var books: [Look] {
        var looks: [Look] = []
        for type in [nil, "TYPE_p3"] {
            looks.append(
                Look("notifications \(type ?? "")") {
                    try await AppleNotificationStore(pool: $0).page(
                        of: "a", environment: nil, type: type, since: nil, after: nil, limit: 20
                    ).rows.count
                })
        }
        looks.append(
            Look("refund requests") {
                try await AppleCallReading(pool: $0).requests(
                    of: "a", environment: nil, state: nil, after: nil, limit: 20
                ).rows.count
            })
        looks.append(
            Look("acts") {
                let selection = AuditLogReading.Selection()
                return try await AuditLogReading(pool: $0).page(of: "a", selection, after: nil, limit: 20).rows.count
            })
        looks.append(
            Look("ledger") {
                try await LedgerReading(pool: $0).page(of: customer, item: nil, after: nil, limit: 20).rows.count
            })
        looks.append(
            Look("tokens") {
                try await AccountTokenStore(pool: $0).page(of: customer.account, app: "a", after: nil, limit: 20)
                    .rows.count
            })
        return looks
    }

    @Test("no list reads a table whole, nor more by an index than it looks at")
    func readsNoTableWhole() async throws {
        try await PersistenceTesting.TestDatabase.withAddress { pool, url in
            try await pool.withConnection {
                try await $0.executeScript(Self.filling)
                // A session's own reads may be counted up to ten seconds later, within what is measured next.
                try await $0.executeScript("SELECT pg_stat_force_next_flush()")
            }
            var configuration = try PostgresSettings.read(
                SettingReader(["postgres.url": url]), applicationName: "receipt-intake")
            configuration.poolSizeMaximum = 1
            let own = PostgresPool(configuration: configuration, logger: Logger(label: "tests"))
            for look in Self.purchases + Self.overview + Self.books {
                // A statement that is prepared is planned anew a few times, and then once for all.
                for _ in 0..<7 {
                    let before = try await Self.read(own)
                    #expect(try await look.ask(own) > 0, "\(look.name)")
                    let after = try await Self.read(own)
                    #expect(after.whole - before.whole < 1_000, "\(look.name) reads a table whole")
                    for (index, entries) in after.byIndex {
                        let read = entries - (before.byIndex[index] ?? 0)
                        #expect(read < Self.readMaximum, "\(look.name) reads \(read) entries of \(index)")
                    }
                }
            }
            await own.close()
        }
    }

    /// Rows that were read by going through tables, and entries that were read of each index.
    private static func read(_ pool: PostgresPool) async throws -> (whole: Int64, byIndex: [String: Int64]) {
        try await pool.withConnection { connection in
            try await connection.executeScript("SELECT pg_stat_force_next_flush()")
            let rows = try await connection.query(
                """
                SELECT '' AS name, sum(seq_tup_read)::int8 AS n FROM pg_stat_user_tables
                WHERE relname IN ('orders', 'submissions', 'order_transactions', 'ledger_entries', 'account_tokens',
                    'apple_notifications', 'apple_calls', 'audit_log')
                UNION ALL SELECT indexrelname, idx_tup_read FROM pg_stat_user_indexes
                """
            ).rows
            let read = try Dictionary(
                rows.map { (try $0.decode("name", as: String.self), try $0.decode("n", as: Int64.self)) },
                uniquingKeysWith: +)
            return (read[""] ?? 0, read)
        }
    }
}
