package import Foundation
import Postgres
package import PurchaseModel

/// What is to be asked: of apps, of every customer, and above all of those who likely lack something.
extension SweepTaskStore {
    /// The limits of one look.
    package enum Limit {
        /// Orders that one look of the walk reads.
        package static let ordersPerLook = 1_000
        /// Customers that one look plans for, of each cause.
        package static let plannedPerLook = 10_000
    }

    /// An app that Apple can be asked about, in one environment.
    package struct App: Sendable, Hashable {
        package let bundleId: String
        package let environment: StoreEnvironment

        package init(bundleId: String, environment: StoreEnvironment) {
            self.bundleId = bundleId
            self.environment = environment
        }
    }

    /// Makes the tasks of apps, the walk and the plan, as far as they are not there; new ones are due at once.
    ///
    /// - Parameter kinds: what is asked of each app: notifications, failures.
    /// - Throws: `PostgresError`.
    package func prepare(_ apps: [App], kinds: [SweepTask.Kind]) async throws {
        var rows: [(kind: SweepTask.Kind, app: String, environment: String)] = [(.plan, "", ""), (.walk, "", "")]
        for app in apps { rows += kinds.map { ($0, app.bundleId, app.environment.rawValue) } }
        _ = try await pool.query(
            """
            INSERT INTO sweep_tasks (kind, app, environment, priority, due_at)
            SELECT new.kind, new.app, new.environment, new.priority, now()
            FROM unnest(\(rows.map(\.kind)), \(rows.map(\.app)), \(rows.map(\.environment)),
                    \(rows.map { Int32($0.kind.priority) })) AS new (kind, app, environment, priority)
            WHERE NOT EXISTS (SELECT FROM sweep_tasks t WHERE (t.app, t.environment, t.kind, t.customer)
                = (new.app, new.environment, new.kind, ''))
            ON CONFLICT DO NOTHING
            """)
    }

    /// Looks through some orders for customers that have no tasks yet.
    ///
    /// - Parameters:
    ///   - page: where the look before ended, as `environment/transaction id`; nil for the beginning.
    ///   - apps: those that Apple can be asked about.
    ///   - intervals: how often each kind is asked; the first time comes at random within it, so that a new installation does
    ///     not ask about everybody at once. Kinds that are left out are not asked.
    ///   - run: the reconciliation that waits for it: then new customers are asked about at once.
    /// - Returns: where to go on; nil at the end.
    /// - Throws: `PostgresError`.
    package func walk(
        after page: String?, apps: [App], intervals: [SweepTask.Kind: Duration], run: Int64? = nil
    ) async throws -> String? {
        let position = (page ?? "/").split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        let kinds = intervals.sorted { $0.key.rawValue < $1.key.rawValue }
        // A reconciliation asks about new customers at once.
        let priorities = kinds.map { run == nil ? $0.key.priority : SweepTask.Cause.reconcile.priority }
        let delays = kinds.map { run == nil ? $0.value : .zero }
        let cause = run == nil ? SweepTask.Cause.schedule : .reconcile
        // What has no account of Apple's to be named by, and is used up, is asked about while it is the newest of its account.
        let result = try await pool.query(
            """
            WITH looked AS MATERIALIZED (
                SELECT o.environment, o.transaction_id, o.app, \(SweepTask.customerSQL) AS customer, o.product_type,
                    o.account, o.created_at
                FROM orders o
                WHERE (o.environment, o.transaction_id) > (\(position.first ?? ""), \(position.last ?? ""))
                ORDER BY o.environment, o.transaction_id LIMIT \(Limit.ordersPerLook)
            ), customers AS (
                SELECT l.app, l.environment, l.customer, max(l.transaction_id) AS subject,
                    bool_or(l.product_type = 'auto_renewable') AS subscribes
                FROM looked l JOIN \(Self.served(apps)) USING (app, environment)
                WHERE l.customer NOT LIKE 'o:%' OR l.account IS NULL OR NOT EXISTS (
                    SELECT FROM orders later WHERE (later.account, later.app, later.environment)
                        = (l.account, l.app, l.environment) AND later.created_at > l.created_at)
                GROUP BY 1, 2, 3
            ), made AS (
                INSERT INTO sweep_tasks (kind, app, environment, customer, subject, priority, due_at, cause, run_id)
                SELECT k.kind, c.app, c.environment, c.customer, c.subject, k.priority, now() + random() * k.delay,
                    \(cause), \(run)
                FROM customers c CROSS JOIN unnest(\(kinds.map(\.key)), \(priorities.map { Int32($0) }), \(delays))
                    AS k (kind, priority, delay)
                WHERE k.kind <> 'statuses' OR c.subscribes
                ON CONFLICT DO NOTHING
            )
            SELECT count(*) AS looked, (SELECT environment || '/' || transaction_id FROM looked
                ORDER BY environment DESC, transaction_id DESC LIMIT 1) AS last
            FROM looked
            """)
        guard let (looked, last) = try result.rows.first?.decode((Int, String?).self), looked >= Limit.ordersPerLook
        else { return nil }
        return last
    }

    private static func served(_ apps: [App]) -> SQL {
        "unnest(\(apps.map(\.bundleId)), \(apps.map(\.environment))) AS served (app, environment)"
    }

    /// When something that may be lost is looked at: so long after it happened, or before it does.
    package enum Delay {
        /// After an intent was opened; the first is a setting.
        package static let intentAgain = Duration.seconds(86_400)
        /// After an order was parked.
        package static let unclaimed: [Duration] = [.seconds(600), .seconds(86_400), .seconds(7 * 86_400)]
        /// From the end of a period on; below zero before it.
        package static let lapse: [Duration] = [
            .seconds(-3_600), .seconds(3_600), .seconds(86_400), .seconds(7 * 86_400),
        ]
    }

    /// Plans for what is likely lost and has come of age since the plan before.
    ///
    /// - Parameters:
    ///   - span: from the last good point until now.
    ///   - intentDelay: how long after an intent its purchase is looked for.
    /// - Returns: how many tasks are due because of it.
    /// - Throws: `PostgresError`.
    package func plan(_ span: Range<Date>, intentDelay: Duration, apps: [App]) async throws -> Int {
        let served = Self.served(apps)
        func spans(_ delays: [Duration]) -> SQL {
            let seconds = delays.map { Double($0.wholeMilliseconds) / 1_000 }
            return """
                unnest(\(seconds.map { span.lowerBound.addingTimeInterval(-$0) }),
                    \(seconds.map { span.upperBound.addingTimeInterval(-$0) })) AS span (beginning, ending)
                """
        }
        var planned = 0
        planned += try await ask(
            Self.intents(in: spans([intentDelay, Delay.intentAgain]), served), kinds: [.history], cause: .intent)
        planned += try await ask(
            Self.unclaimed(in: spans(Delay.unclaimed), served), kinds: [.history], cause: .unclaimed)
        planned += try await ask(Self.lapses(in: spans(Delay.lapse), served), kinds: [.statuses], cause: .lapse)
        return planned
    }

    /// Has customers asked about soon: those of a statement, with columns of `orders o`.
    ///
    /// - Returns: how many tasks that are.
    func ask(_ source: SQL, kinds: [SweepTask.Kind], cause: SweepTask.Cause) async throws -> Int {
        try await pool.withConnection { connection in
            try await Self.ask(source, kinds: kinds, cause: cause, readsAll: false, on: connection)
        }
    }

    /// The same in the caller's transaction.
    static func ask(
        _ source: SQL, kinds: [SweepTask.Kind], cause: SweepTask.Cause, readsAll: Bool,
        on connection: PostgresConnection
    ) async throws -> Int {
        let result = try await connection.query(
            """
            WITH found AS MATERIALIZED (\(source)), customers AS (
                SELECT app, environment, customer, max(transaction_id) AS subject FROM found GROUP BY 1, 2, 3
            )
            INSERT INTO sweep_tasks AS known
                (kind, app, environment, customer, subject, cause, priority, due_at, asked_at)
            SELECT k.kind, c.app, c.environment, c.customer, c.subject, \(cause), \(Int32(cause.priority)), now(), clock_timestamp()
            FROM customers c CROSS JOIN unnest(\(kinds)) AS k (kind)
            ORDER BY c.app, c.environment, k.kind, c.customer
            ON CONFLICT (app, environment, kind, customer) DO UPDATE SET
                cause = excluded.cause, priority = least(known.priority, excluded.priority),
                -- The transaction may have begun before the round did that does not know of it.
                asked_at = clock_timestamp(),
                revision = CASE WHEN \(readsAll) THEN NULL ELSE known.revision END,
                -- Whoever is at it ends its round, and begins another at once.
                due_at = CASE WHEN known.claimed_at IS NULL THEN now() ELSE known.due_at END
            """)
        return result.affectedRows
    }

    /// Intents without a purchase, of accounts that have bought something: by that Apple can be asked.
    private static func intents(in spans: SQL, _ served: SQL) -> SQL {
        """
        SELECT o.app, o.environment, \(SweepTask.customerSQL) AS customer, o.transaction_id
        FROM (
            SELECT DISTINCT i.app, i.account FROM \(spans)
            JOIN purchase_intents i ON i.created_at > span.beginning AND i.created_at <= span.ending
            WHERE NOT EXISTS (SELECT FROM orders bought WHERE bought.app_account_token = i.id) LIMIT \(Limit.plannedPerLook)) opened
        JOIN \(served) ON served.app = opened.app
        CROSS JOIN LATERAL (
            SELECT o.app, o.environment, o.transaction_id, o.original_transaction_id, o.app_transaction_id, o.product_type
            FROM orders o WHERE (o.account, o.app, o.environment)
                = (opened.account, opened.app, served.environment)
            ORDER BY o.created_at DESC, o.transaction_id DESC LIMIT 5) o
        """
    }

    /// Orders that nobody has claimed: newer data of Apple's may name whose they are.
    private static func unclaimed(in spans: SQL, _ served: SQL) -> SQL {
        """
        SELECT o.app, o.environment, \(SweepTask.customerSQL) AS customer, o.transaction_id
        FROM \(spans)
        CROSS JOIN unnest(ARRAY['production', 'sandbox']) AS e (environment)
        CROSS JOIN unnest(ARRAY['unclaimed', 'account_token_unknown']) AS r (reason)
        CROSS JOIN LATERAL (
            SELECT o.app, o.environment, o.transaction_id, o.original_transaction_id, o.app_transaction_id, o.product_type
            FROM orders o WHERE o.state = 'parked' AND o.environment = e.environment AND o.reason = r.reason
                AND o.created_at > span.beginning AND o.created_at <= span.ending
            ORDER BY o.created_at LIMIT \(Limit.plannedPerLook)) o
        JOIN \(served) ON (served.app, served.environment) = (o.app, o.environment)
        """
    }

    /// Periods that end, or have ended with no other after them.
    private static func lapses(in spans: SQL, _ served: SQL) -> SQL {
        """
        SELECT o.app, o.environment, \(SweepTask.customerSQL) AS customer, o.transaction_id
        FROM \(spans)
        CROSS JOIN LATERAL (
            SELECT s.environment, s.transaction_id FROM subscriptions s WHERE s.expires_date > span.beginning AND s.expires_date <= span.ending
                AND s.state <> 'revoked' ORDER BY s.expires_date LIMIT \(Limit.plannedPerLook)) s
        JOIN orders o ON (o.environment, o.transaction_id) = (s.environment, s.transaction_id)
        JOIN \(served) ON (served.app, served.environment) = (o.app, o.environment)
        """
    }
}
