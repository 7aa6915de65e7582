package import Postgres
package import PurchaseModel

/// The table `views`: whose data people looked at, written before they see it.
package struct ViewStore: Sendable {
    package enum Limit {
        /// Rows that one answer leaves, one for each account and order that it tells of; further ones are left out.
        package static let subjects = 100
    }

    /// Whom or what an answer told of.
    package struct Subject: Sendable, Hashable {
        /// Nil for both.
        package var environment: StoreEnvironment?
        /// Nil where nobody has the order, or many were listed.
        package var account: Account?
        /// The order's own id; nil for what is not about one.
        package var transactionId: String?

        package init(environment: StoreEnvironment? = nil, account: Account? = nil, transactionId: String? = nil) {
            self.environment = environment
            self.account = account
            self.transactionId = transactionId
        }
    }

    /// Who looked, and how.
    package struct View: Sendable {
        /// The app's bundle id.
        package let app: String
        /// As in `audit_log`.
        package let actor: String
        /// Method and path, with the parameters' names.
        package let route: String
        package let requestId: String
        package let subjects: [Subject]

        package init(app: String, actor: String, route: String, requestId: String, subjects: [Subject]) {
            self.app = app
            self.actor = actor
            self.route = route
            self.requestId = requestId
            self.subjects = subjects
        }
    }

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Writes a view down: one statement, a row for each subject.
    ///
    /// - Throws: `PostgresError`; then nothing of it may be shown.
    package func write(_ view: View) async throws {
        let subjects = view.subjects.isEmpty ? [Subject()] : Array(view.subjects.prefix(Limit.subjects))
        _ = try await pool.query(
            """
            INSERT INTO views (app, actor, route, environment, account, transaction_id, request_id)
            SELECT \(view.app), \(view.actor), \(view.route), environment, account, transaction_id, \(view.requestId)
            FROM unnest(\(subjects.map(\.environment)), \(subjects.map { $0.account?.text }), \(subjects.map(\.transactionId)))
                WITH ORDINALITY AS new (environment, account, transaction_id, place) ORDER BY place
            """)
    }

    /// Removes views that are older than `age`, the oldest first.
    ///
    /// - Returns: how many; fewer than the limit where no more is to be removed.
    /// - Throws: `PostgresError`.
    package func removeOld(olderThan age: Duration, limit: Int) async throws -> Int {
        let result = try await pool.query(
            """
            DELETE FROM views WHERE id IN (
                SELECT id FROM views WHERE created_at < now() - \(age) ORDER BY created_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            """)
        return result.affectedRows
    }
}
