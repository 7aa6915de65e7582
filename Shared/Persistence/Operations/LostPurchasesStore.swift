package import Foundation
package import Postgres
package import PurchaseModel

/// The view `undelivered_purchases`: what is paid, or may be, and is not delivered.
package struct LostPurchasesStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// One of them.
    package struct Row: Sendable, Hashable {
        /// `parked`, `undecided` or `untold`.
        package let stage: String
        /// Nil where it is not known yet.
        package let environment: String?
        package let app: String
        package let reason: String
        /// When it was recorded, or received.
        package let since: Date
        package let account: Account?
        package let productId: String?
        package let transactionId: String?
        package let submissionId: String?
        package let purchaseDate: Date?
    }

    /// Which are meant.
    package struct Selection: Sendable, Hashable {
        package var app: String?
        package var environment: String?
        package var stage: String?
        package var reason: String?
        /// Only what is older.
        package var olderThan = Duration.seconds(60)

        package init() {}
    }

    /// The oldest first.
    ///
    /// - Throws: `PostgresError`.
    package func rows(_ selection: Selection, limit: Int) async throws -> [Row] {
        let result = try await pool.query(
            """
            SELECT stage, environment, app, reason, since, account, product_id, transaction_id, submission_id, purchase_date
            FROM undelivered_purchases WHERE \(Self.condition(selection))
            ORDER BY since, stage, transaction_id, submission_id LIMIT \(limit)
            """)
        return try result.map(Row.init)
    }

    /// How many, for one reason.
    package struct Group: Sendable, Hashable {
        package let stage: String
        package let environment: String?
        package let reason: String
        package let count: Int64
        package let oldestSeconds: Double
    }

    /// How many there are by stage, environment and reason.
    ///
    /// - Throws: `PostgresError`.
    package func groups(_ selection: Selection) async throws -> [Group] {
        let result = try await pool.query(
            """
            SELECT stage, environment, reason, count(*) AS count, extract(epoch FROM now() - min(since))::float8 AS oldest_seconds
            FROM undelivered_purchases WHERE \(Self.condition(selection))
            GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
            """)
        return try result.map(Group.init)
    }

    private static func condition(_ selection: Selection) -> SQL {
        """
        (\(selection.app) IS NULL OR app = \(selection.app))
            AND (\(selection.environment) IS NULL OR environment IS NULL OR environment = \(selection.environment))
            AND (\(selection.stage) IS NULL OR stage = \(selection.stage))
            AND (\(selection.reason) IS NULL OR reason = \(selection.reason))
            AND since <= now() - \(selection.olderThan)
        """
    }
}
