package import Postgres
package import PurchaseModel

/// The table `recoveries`: what Apple signed, was not in the books, and was found by asking.
package struct RecoveryStore: Sendable {
    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Something that is not in the books.
    package struct Recovery: Sendable, Hashable {
        package let app: String
        package let environment: StoreEnvironment
        /// What is said of what, and what the books said: the same when it is found again.
        package let name: String
        /// The submission that takes it the ordinary way.
        package let submissionId: String
        /// Nil where it is about no transaction.
        package let transactionId: String?

        package init(
            app: String, environment: StoreEnvironment, name: String, submissionId: String, transactionId: String?
        ) {
            self.app = app
            self.environment = environment
            self.name = name
            self.submissionId = submissionId
            self.transactionId = transactionId
        }
    }

    /// The submissions of these that are there already.
    ///
    /// - Throws: `PostgresError`.
    package func known(submissions ids: [String]) async throws -> Set<String> {
        let result = try await pool.query("SELECT id FROM submissions WHERE id = ANY(\(ids))")
        return Set(try result.map { (id: String) in id })
    }

    /// Notes what was found, before their submissions are written: one whose submission exists was found before.
    ///
    /// Apple signs a transaction anew for whoever asks, so the same finding comes as another submission each time. A worker
    /// that died between the two has left a finding without its submission; it is found again, and the row gets the new one.
    ///
    /// - Returns: the submissions to write.
    /// - Throws: `PostgresError`.
    package func note(_ recoveries: [Recovery], by task: SweepTask) async throws -> Set<String> {
        guard !recoveries.isEmpty else { return [] }
        let result = try await pool.query(
            """
            INSERT INTO recoveries AS known
                (app, environment, finding, submission_id, source, cause, transaction_id)
            SELECT DISTINCT ON (new.app, new.environment, new.finding) new.app, new.environment, new.finding,
                new.submission_id, \(task.kind), \(task.cause), new.transaction_id
            FROM unnest(\(recoveries.map(\.app)), \(recoveries.map(\.environment)), \(recoveries.map(\.name)),
                    \(recoveries.map(\.submissionId)), \(recoveries.map(\.transactionId)))
                AS new (app, environment, finding, submission_id, transaction_id)
            ORDER BY new.app, new.environment, new.finding, new.submission_id
            ON CONFLICT (app, environment, finding) DO UPDATE SET submission_id = excluded.submission_id
                WHERE NOT EXISTS (SELECT FROM submissions s WHERE s.id = known.submission_id)
            RETURNING submission_id
            """)
        return Set(try result.map { (id: String) in id })
    }

    /// Which of these submissions recover something, and by which kind of question each was found.
    ///
    /// - Throws: `PostgresError`.
    package static func sources(
        of submissions: [String], on connection: PostgresConnection
    ) async throws -> [String: String] {
        guard !submissions.isEmpty else { return [:] }
        let result = try await connection.query(
            "SELECT submission_id, source FROM recoveries WHERE submission_id = ANY(\(submissions))")
        return Dictionary(try result.map { (submission: String, source: String) in (submission, source) }) { $1 }
    }
}
