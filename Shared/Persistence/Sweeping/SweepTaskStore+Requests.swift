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
        let (source, value): (String, String) =
            switch subject {
            case .account(let account): (Self.accountSource, account.text)
            case .transaction(let id): (Self.transactionSource, id)
            }
        let values: [PostgresValue] = [
            .text(app), .text(value), .textArray(environment.map { [$0.rawValue] } ?? ["production", "sandbox"]),
        ]
        return try await pool.withTransaction { connection in
            let tasks = try await Self.ask(
                source, values, kinds: [.history, .statuses, .refunds], cause: .request, readsAll: true, run: nil,
                on: connection)
            guard tasks > 0 else { return Request(tasks: 0, auditId: nil) }
            let line = try await AuditLog.write(
                "sweep", of: "\(environment?.rawValue ?? "both") \(app) \(value)", actor: actor, reason: reason,
                on: connection)
            return Request(tasks: tasks, auditId: line.id)
        }
    }

    private static let accountSource = """
        SELECT o.app, o.environment, \(SweepTask.customerSQL) AS customer, o.transaction_id FROM orders o
        WHERE o.app = $1 AND o.account = $2 AND o.environment = ANY($3)
        """

    private static let transactionSource = """
        SELECT o.app, o.environment, \(SweepTask.customerSQL) AS customer, o.transaction_id
        FROM order_transactions t
        JOIN orders asked ON (asked.environment, asked.transaction_id) = (t.environment, t.order_transaction_id)
        JOIN orders o ON \(SweepTask.isOfCustomer)
        WHERE o.app = $1 AND t.transaction_id = $2 AND t.environment = ANY($3)
        """

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
        let asked = try await connection.query(
            askAgainStatement, [.int8(run), .timestamptz(since), .bool(readsAll), .text(app)])
        return try asked.rows.first?.decode("tasks", as: Int64.self) ?? 0
    }

    // Whoever is at a task ends its round, and the next begins at once, by what stands here.
    private static let askAgainStatement = """
        WITH asked AS (
            UPDATE sweep_tasks SET run_id = $1, asked_at = now(),
                priority = CASE WHEN kind IN ('plan', 'walk') THEN priority ELSE least(priority, 1) END,
                cause = 'reconcile',
                covered_until = CASE WHEN kind IN ('notifications', 'failures') THEN least(covered_until, $2)
                    ELSE covered_until END,
                window_start = CASE WHEN claimed_at IS NULL THEN NULL ELSE window_start END,
                window_end = CASE WHEN claimed_at IS NULL THEN NULL ELSE window_end END,
                page = CASE WHEN claimed_at IS NULL THEN NULL ELSE page END,
                revision = CASE WHEN $3 THEN NULL ELSE revision END,
                due_at = CASE WHEN claimed_at IS NULL THEN now() ELSE due_at END
            WHERE kind <> 'plan' AND ($4::text IS NULL OR app = $4)
            RETURNING 1
        )
        SELECT count(*) AS tasks FROM asked
        """

    /// Has Apple asked about orders of which a device shows otherwise than Apple's server told, in the caller's transaction: the
    /// whole history of their customers, each once.
    ///
    /// - Throws: `PostgresError`.
    package static func askAboutDoubts(of keys: [OrderKey], on connection: PostgresConnection) async throws {
        guard !keys.isEmpty else { return }
        _ = try await ask(
            doubtsSource, OrderStore.keyColumns(keys), kinds: [.history], cause: .doubt, readsAll: true, run: nil,
            on: connection)
    }

    private static let doubtsSource = """
        SELECT o.app, o.environment, \(SweepTask.customerSQL) AS customer, o.transaction_id
        FROM unnest($1::text[], $2::text[]) AS asked (environment, transaction_id)
        JOIN orders o USING (environment, transaction_id)
        """
}
