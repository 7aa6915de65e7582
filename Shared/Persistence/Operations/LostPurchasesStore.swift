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
            FROM undelivered_purchases \(Self.condition)
            ORDER BY since, stage, transaction_id, submission_id LIMIT $6
            """, Self.values(selection) + [.int8(Int64(limit))])
        return try result.rows.map { row in
            Row(
                stage: try row.decode("stage"), environment: try row.decodeIfPresent("environment"),
                app: try row.decode("app"), reason: try row.decode("reason"), since: try row.decode("since"),
                account: try row.accountIfPresent(), productId: try row.decodeIfPresent("product_id"),
                transactionId: try row.decodeIfPresent("transaction_id"),
                submissionId: try row.decodeIfPresent("submission_id"),
                purchaseDate: try row.decodeIfPresent("purchase_date"))
        }
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
            SELECT stage, environment, reason, count(*) AS count, extract(epoch FROM now() - min(since))::float8 AS oldest
            FROM undelivered_purchases \(Self.condition)
            GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
            """, Self.values(selection))
        return try result.rows.map { row in
            Group(
                stage: try row.decode("stage"), environment: try row.decodeIfPresent("environment"),
                reason: try row.decode("reason"), count: try row.decode("count"),
                oldestSeconds: try row.decode("oldest"))
        }
    }

    private static let condition = """
        WHERE ($1::text IS NULL OR app = $1) AND ($2::text IS NULL OR environment IS NULL OR environment = $2)
            AND ($3::text IS NULL OR stage = $3) AND ($4::text IS NULL OR reason = $4)
            AND since <= now() - $5 * interval '1 millisecond'
        """

    private static func values(_ selection: Selection) -> [PostgresValue] {
        [
            .text(selection.app), .text(selection.environment), .text(selection.stage), .text(selection.reason),
            .int8(selection.olderThan.wholeMilliseconds),
        ]
    }
}
