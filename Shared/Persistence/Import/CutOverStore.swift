package import Foundation
package import Postgres
package import PurchaseModel

/// The table `cut_overs`: until when older systems granted what was bought.
package struct CutOverStore: Sendable {
    private let pool: PostgresPool

    enum Limit {
        /// How long whoever sets a cut-over waits for those who decide by the one before; they wait for it, too.
        static let lockTimeoutMilliseconds = 3_000
    }

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// All of them, in the caller's transaction; none is changed until it ends.
    ///
    /// - Throws: `PostgresError`.
    package static func all(on connection: PostgresConnection) async throws -> CutOvers {
        let result = try await connection.query("SELECT environment, app, product_id, cut_over, is_told FROM cut_overs")
        guard !result.rows.isEmpty else { return CutOvers() }
        let all = try result.map {
            (environment: StoreEnvironment, app: String, productId: String, date: Date?, isTold: Bool) in
            (
                CutOvers.Key(environment: environment, app: app, productId: productId),
                CutOver(date: date, isAnnounced: isTold)
            )
        }
        return CutOvers(Dictionary(all) { $1 })
    }

    /// A row, and who wrote it.
    package struct Row: Sendable {
        package let key: CutOvers.Key
        package let cutOver: CutOver
        package let changedAt: Date
        package let actor: String
        package let reason: String
    }

    /// The rows of an app, or of all, sorted.
    ///
    /// - Throws: `PostgresError`.
    package func rows(app: String? = nil) async throws -> [Row] {
        let result = try await pool.query(
            """
            SELECT c.environment, c.app, c.product_id, c.cut_over, c.is_told, c.changed_at,
                coalesce(a.actor, '') AS actor, coalesce(a.reason, '') AS reason
            FROM cut_overs c LEFT JOIN audit_log a ON a.id = c.audit_id
            WHERE \(app) IS NULL OR c.app = \(app) ORDER BY c.app, c.environment, c.product_id
            """)
        return try result.map {
            (
                environment: StoreEnvironment, app: String, productId: String, date: Date?, isTold: Bool,
                changedAt: Date, actor: String, reason: String
            ) in
            Row(
                key: CutOvers.Key(environment: environment, app: app, productId: productId),
                cutOver: CutOver(date: date, isAnnounced: isTold), changedAt: changedAt, actor: actor, reason: reason)
        }
    }

    /// Whether an app has a cut-over that counts for each product without one of its own.
    ///
    /// - Throws: `PostgresError`.
    package func coversAllProducts(of app: String, in environment: StoreEnvironment) async throws -> Bool {
        let found = try await pool.query(
            "SELECT 1 AS one FROM cut_overs WHERE app = \(app) AND environment = \(environment) AND product_id = ''")
        return !found.rows.isEmpty
    }

    /// What setting a cut-over does not change: orders that were recorded before otherwise than it says.
    package struct Recorded: Sendable, Hashable {
        /// Bought before it, and granted here.
        package let grantedHere: Int64
        /// Bought at it or later, and recorded as granted by the older system.
        package let grantedElsewhere: Int64
    }

    /// Sets a cut-over, with a row in `audit_log`.
    ///
    /// When it returns, nothing is decided by the one before any more.
    ///
    /// - Returns: the id of the row, and what it does not change; nil where the table is locked for longer than
    ///   ``Limit/lockTimeoutMilliseconds``: a backup reads it, say.
    /// - Throws: `PostgresError`.
    package func set(
        _ cutOver: CutOver, for key: CutOvers.Key, actor: String, reason: String
    ) async throws -> (auditId: Int64, recorded: Recorded)? {
        do {
            let auditId = try await pool.withTransaction { connection in
                try await Self.set(cutOver, for: key, actor: actor, reason: reason, on: connection)
            }
            return (auditId, try await recorded(otherwiseThan: cutOver, key))
        } catch let error as PostgresError where error.sqlState == LockWait.sqlState {
            return nil
        }
    }

    @inline(never)
    private static func set(
        _ cutOver: CutOver, for key: CutOvers.Key, actor: String, reason: String, on connection: PostgresConnection
    ) async throws -> Int64 {
        // Everybody who decides has read the table in a transaction that still runs, or waits for this one.
        try await connection.executeScript(
            """
            SET LOCAL lock_timeout = '\(Limit.lockTimeoutMilliseconds)ms';
            LOCK TABLE cut_overs IN ACCESS EXCLUSIVE MODE
            """)
        let line = try await AuditLog.write(
            "set_cut_over", of: subject(cutOver, key), app: .named(key.app), actor: actor, reason: reason,
            on: connection)
        _ = try await connection.query(
            """
            INSERT INTO cut_overs (environment, app, product_id, cut_over, is_told, audit_id)
            VALUES (\(key.environment), \(key.app), \(key.productId), \(cutOver.date), \(cutOver.isAnnounced), \(line.id))
            ON CONFLICT (app, environment, product_id) DO UPDATE SET cut_over = excluded.cut_over,
                is_told = excluded.is_told, audit_id = excluded.audit_id, changed_at = now()
            """)
        return line.id
    }

    private func recorded(otherwiseThan cutOver: CutOver, _ key: CutOvers.Key) async throws -> Recorded {
        let result = try await pool.query(
            """
            SELECT count(*) FILTER (WHERE granted_at IS NOT NULL AND NOT granted_elsewhere
                    AND purchase_date < coalesce(\(cutOver.date), 'infinity')) AS granted_here,
                count(*) FILTER (WHERE granted_elsewhere AND state <> 'parked' AND purchase_date >= \(cutOver.date)
                    AND product_type <> 'non_consumable') AS granted_elsewhere
            FROM orders WHERE environment = \(key.environment) AND app = \(key.app) AND (\(key.productId) = '' OR product_id = \(key.productId))
            """)
        return try result.map(Recorded.init).first ?? Recorded(grantedHere: 0, grantedElsewhere: 0)
    }

    private static func subject(_ cutOver: CutOver, _ key: CutOvers.Key) -> String {
        let product = key.productId.isEmpty ? "" : " \(key.productId)"
        let date = cutOver.date.map { "\($0.milliseconds)" } ?? "open"
        return "\(key.environment.rawValue) \(key.app)\(product) \(date)"
    }
}
