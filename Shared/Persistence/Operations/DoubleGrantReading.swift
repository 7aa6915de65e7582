package import Postgres
package import PurchaseModel

/// The table `double_grants`, for reading: what accounts got of one purchase more than once, before its orders were merged.
package struct DoubleGrantReading: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What became of it.
    package enum State: String, Codable, Sendable, Hashable, CaseIterable {
        /// Nobody has decided.
        case open
        /// Taken back by the ledger.
        case corrected
        /// Left to the account by decision.
        case left
    }

    /// An item of which an account got too many by one order.
    package struct DoubleGrant: Codable, Sendable, Hashable {
        package let environment: StoreEnvironment
        /// The app's bundle id.
        package let app: String
        package let account: String
        package let item: String
        /// The order's own id.
        package let transactionId: String
        /// How many too many.
        package let amount: Int64
        package let state: State
        /// How many were taken back, fewer where the account had spent them; nil unless corrected.
        package let corrected: Int64?
        /// When it was decided, as RFC 3339 in UTC.
        package let decidedAt: String?
    }

    /// Rows, and how many there are.
    package struct Listing: Codable, Sendable {
        /// Sorted by account.
        package let doubleGrants: [DoubleGrant]
        /// How many rows there are of each state that has any.
        package let counts: [String: Int64]
        /// How many accounts they are of, each counted in its app and environment.
        package let accounts: Int64
    }

    /// Rows and counts, of one moment.
    ///
    /// - Parameters:
    ///   - state: only of this state, the counts too; nil for all.
    ///   - limit: the most rows.
    /// - Throws: `PostgresError`.
    package func list(state: State?, limit: Int) async throws -> Listing {
        try await pool.withTransaction { connection in
            try await Snapshot.begin(on: connection)
            let rows = try await connection.query(
                """
                SELECT environment, app, account, item, order_transaction_id, amount, state, corrected,
                    to_char(decided_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS decided_at
                FROM double_grants WHERE $1::text IS NULL OR state = $1
                ORDER BY environment, app, account COLLATE "C", item, order_transaction_id LIMIT $2
                """, [.text(state?.rawValue), .int8(Int64(limit))])
            let counted = try await connection.query(
                """
                SELECT state, count(*) AS rows FROM double_grants WHERE $1::text IS NULL OR state = $1 GROUP BY state
                """, [.text(state?.rawValue)])
            let accounts = try await connection.query(
                """
                SELECT count(DISTINCT (environment, app, account)) AS accounts FROM double_grants
                WHERE $1::text IS NULL OR state = $1
                """, [.text(state?.rawValue)])
            var counts: [String: Int64] = [:]
            for row in counted.rows {
                counts[try row.known("state", as: State.self).rawValue] = try row.decode("rows", as: Int64.self)
            }
            return Listing(
                doubleGrants: try rows.rows.map(Self.doubleGrant), counts: counts,
                accounts: try accounts.rows.first?.decode("accounts") ?? 0)
        }
    }

    private static func doubleGrant(_ row: PostgresRow) throws -> DoubleGrant {
        let key = try row.orderKey("order_transaction_id")
        return DoubleGrant(
            environment: key.environment, app: try row.decode("app"), account: try row.decode("account"),
            item: try row.decode("item"), transactionId: key.transactionId, amount: try row.decode("amount"),
            state: try row.known("state"), corrected: try row.decodeIfPresent("corrected"),
            decidedAt: try row.decodeIfPresent("decided_at"))
    }
}
