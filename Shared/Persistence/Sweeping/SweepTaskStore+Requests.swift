import Foundation
package import Postgres
package import PurchaseModel

/// What a person wants asked: of one account, of one transaction, or of everything after a restore.
extension SweepTaskStore {
    /// Whom a person wants asked about.
    package enum Subject: Sendable, Hashable {
        /// Everything that an account bought.
        case account(Account)
        /// Whoever has this transaction id.
        case transaction(String)
    }

    /// What a request came to.
    package struct Request: Sendable, Hashable {
        /// Questions that are asked at once.
        package let tasks: Int
        /// Of the line in `audit_log`; nil where nothing is asked.
        package let auditId: Int64?
    }

    /// Has Apple asked for all that the customers behind an account, or a transaction, bought: whole histories, refunds and
    /// subscriptions.
    ///
    /// - Parameters:
    ///   - environment: nil for both.
    ///   - actor: who, for the audit log.
    ///   - reason: why, in the operator's words.
    /// - Throws: `PostgresError`.
    package func request(
        _ subject: Subject, app: String, environment: StoreEnvironment?, actor: String, reason: String
    ) async throws -> Request {
        let environments: [StoreEnvironment] = environment.map { [$0] } ?? [.production, .sandbox]
        let (source, value): (SQL, String) =
            switch subject {
            case .account(let account):
                (
                    """
                    SELECT o.app, o.environment, \(SweepTask.customerSQL) AS customer, o.transaction_id FROM orders o
                    WHERE o.app = \(app) AND o.account = \(account) AND o.environment = ANY(\(environments))
                    """, account.text
                )
            case .transaction(let id):
                (
                    """
                    SELECT o.app, o.environment, \(SweepTask.customerSQL) AS customer, o.transaction_id
                    FROM order_transactions t
                    JOIN orders asked ON (asked.environment, asked.transaction_id) = (t.environment, t.order_transaction_id)
                    JOIN orders o ON \(SweepTask.isOfCustomer)
                    WHERE o.app = \(app) AND t.transaction_id = \(id) AND t.environment = ANY(\(environments))
                    """, id
                )
            }
        return try await pool.withTransaction { connection in
            let tasks = try await Self.ask(
                source, kinds: [.history, .statuses, .refunds], cause: .request, readsAll: true, on: connection)
            guard tasks > 0 else { return Request(tasks: 0, auditId: nil) }
            let line = try await AuditLog.write(
                "sweep", of: "\(environment?.rawValue ?? "both") \(app) \(value)", app: .named(app), actor: actor,
                reason: reason, on: connection)
            return Request(tasks: tasks, auditId: line.id)
        }
    }

    /// Has everything asked again at once, for a reconciliation, in the caller's transaction.
    ///
    /// - Parameters:
    ///   - since: from when on notifications are compared.
    ///   - app: only this one's; nil for all.
    ///   - readsAll: whether histories are read from their beginning.
    /// - Returns: how many questions that are.
    static func askAgain(
        since: Date, app: String?, readsAll: Bool, run: Int64, on connection: PostgresConnection
    ) async throws -> Int64 {
        // Whoever is at a task ends its round, and the next begins at once, by what stands here.
        let asked = try await connection.query(
            """
            UPDATE sweep_tasks SET run_id = \(run), asked_at = clock_timestamp(),
                priority = CASE WHEN kind IN ('plan', 'walk') THEN priority ELSE least(priority, 1) END,
                cause = 'reconcile',
                covered_until = CASE WHEN kind IN ('notifications', 'failures') THEN least(covered_until, \(since))
                    ELSE covered_until END,
                window_start = CASE WHEN claimed_at IS NULL THEN NULL ELSE window_start END,
                window_end = CASE WHEN claimed_at IS NULL THEN NULL ELSE window_end END,
                page = CASE WHEN claimed_at IS NULL THEN NULL ELSE page END,
                revision = CASE WHEN \(readsAll) THEN NULL ELSE revision END,
                due_at = CASE WHEN claimed_at IS NULL THEN now() ELSE due_at END
            WHERE kind <> 'plan' AND (\(app) IS NULL OR app = \(app))
            """)
        return Int64(asked.affectedRows)
    }

    /// Has Apple asked about orders of which a device shows otherwise than Apple's server told, in the caller's transaction: the
    /// whole history of their customers, each once.
    ///
    /// - Throws: `PostgresError`.
    package static func askAboutDoubts(of keys: [OrderKey], on connection: PostgresConnection) async throws {
        guard !keys.isEmpty else { return }
        _ = try await ask(
            """
            SELECT o.app, o.environment, \(SweepTask.customerSQL) AS customer, o.transaction_id
            FROM \(SQL.rows(of: keys)) AS asked (environment, transaction_id)
            JOIN orders o USING (environment, transaction_id)
            """, kinds: [.history], cause: .doubt, readsAll: true, on: connection)
    }
}
