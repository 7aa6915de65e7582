package import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// What the books say of transactions and renewals, to be compared with what Apple says.
package struct RecordedStatements: Sendable {
    let pool: PostgresPool

    /// Reads the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What is recorded of one transaction id.
    package struct Recorded: Sendable, Hashable {
        package let app: String
        /// Whether its order is nobody's.
        package let isNobodys: Bool
        /// Why the order is held or was taken back; nil where it is granted.
        package let reason: ReasonCode?
        package let token: UUID?
        package let expiresDate: Date?
        package let revocationDate: Date?
        package let revocationPercentage: Int64?
        package let isUpgraded: Bool
        /// When Apple signed the newest statement of it.
        package let signedDate: Date
    }

    /// What is recorded of transaction ids; those that are not in the books are left out.
    ///
    /// - Throws: `PostgresError`.
    package func transactions(of keys: [OrderKey]) async throws -> [OrderKey: Recorded] {
        guard !keys.isEmpty else { return [:] }
        let result = try await pool.query(
            """
            SELECT t.environment, t.transaction_id, o.app, o.account IS NULL AS is_nobodys, o.reason,
                said.body ->> 'app_account_token' AS token, said.body ->> 'expires_at' AS expires_date,
                said.body ->> 'store_revoked_at' AS revocation_date,
                (said.body ->> 'revocation_percentage')::int8 AS revocation_percentage,
                coalesce((said.body ->> 'upgraded')::bool, false) AS is_upgraded, said.body ->> 'signed_at' AS signed_date
            FROM \(SQL.rows(of: keys)) AS asked (environment, transaction_id)
            JOIN order_transactions t USING (environment, transaction_id)
            JOIN orders o ON (o.environment, o.transaction_id) = (t.environment, t.order_transaction_id)
            CROSS JOIN LATERAL (SELECT coalesce(t.statement, o.transaction) AS body) said
            """)
        let recorded = try result.map {
            (
                environment: StoreEnvironment, transactionId: String, app: String, isNobodys: Bool, reason: ReasonCode?,
                token: String?, expiresDate: String?, revocationDate: String?, revocationPercentage: Int64?,
                isUpgraded: Bool, signedDate: String?
            ) in
            (
                OrderKey(environment: environment, transactionId: transactionId),
                Recorded(
                    app: app, isNobodys: isNobodys, reason: reason, token: token.flatMap { UUID(uuidString: $0) },
                    expiresDate: expiresDate.flatMap(MessageCoding.date),
                    revocationDate: revocationDate.flatMap(MessageCoding.date),
                    revocationPercentage: revocationPercentage, isUpgraded: isUpgraded,
                    signedDate: signedDate.flatMap(MessageCoding.date) ?? .distantPast)
            )
        }
        return Dictionary(recorded) { $1 }
    }

    /// What notifications of before this time told is in the books, and they themselves may be gone; nil where none is.
    ///
    /// - Throws: `PostgresError`.
    package func notificationsDroppedBefore() async throws -> Date? {
        let result = try await pool.query(
            "SELECT dropped_before FROM retention_marks WHERE name = 'notifications'")
        return try result.rows.first?.decode(Date.self)
    }

    /// The newest statement about a subscription's next renewal; nil where there is none.
    ///
    /// - Throws: `PostgresError`.
    package func renewal(of lineage: LineageKey) async throws -> RenewalStatement? {
        let result = try await pool.query(
            """
            SELECT statement::text AS statement FROM renewal_statements
            WHERE environment = \(lineage.environment) AND original_transaction_id = coalesce((
                SELECT lineage_id FROM lineage_members WHERE (environment, original_transaction_id)
                    = (\(lineage.environment), \(lineage.originalTransactionId))), \(lineage.originalTransactionId))
            """)
        return try result.map { (statement: JSONColumn<RenewalStatement>?) in statement?.value }.first ?? nil
    }
}
