package import Foundation
import Postgres
package import PurchaseModel

/// An app's refund requests as a backend lists them.
extension AppleCallReading {
    /// A refund request that Apple told of.
    package struct Request: Sendable {
        package let id: Int64
        /// The order, by its own id.
        package let order: OrderKey
        /// The one that Apple named.
        package let transactionId: String
        package let state: String
        package let account: Account?
        package let productId: String?
        /// What the account said; nil where nobody asked it.
        package let consented: Bool?
        package let outcome: String?
        package let requestReason: String?
        package let requestedAt: Date
        package let deadlineAt: Date
        package let finishedAt: Date?
        package let attempts: Int
        /// Of Apple's last answer, HTTP.
        package let status: Int?
        /// Apple's number in it.
        package let code: Int64?
        /// What was sent, byte for byte.
        package let body: String?

        init(_ row: PostgresRow) throws {
            id = try row.decode("id")
            order = try row.orderKey("order_transaction_id")
            transactionId = try row.decode("transaction_id")
            state = try row.decode("state")
            account = try row.accountIfPresent()
            productId = try row.decodeIfPresent("product_id")
            consented = try row.decodeIfPresent("consented")
            outcome = try row.decodeIfPresent("outcome")
            requestReason = try row.decodeIfPresent("request_reason")
            requestedAt = try row.decode("requested_at")
            deadlineAt = try row.decode("deadline_at")
            finishedAt = try row.decodeIfPresent("finished_at")
            attempts = Int(try row.decode("attempts", as: Int32.self))
            status = try row.decodeIfPresent("status", as: Int32.self).map(Int.init)
            code = try row.decodeIfPresent("code")
            body = try row.decodeIfPresent("body")
        }
    }

    /// A page of an app's refund requests, the newest first; there may be fewer than the limit although there is a next one.
    ///
    /// - Throws: `PostgresError`.
    package func requests(
        of app: String, environment: StoreEnvironment?, state: String?, after position: ListPosition?, limit: Int
    ) async throws -> ListPage<Request> {
        try await ListLook.page(after: position, limit: limit, on: pool, Request.init) {
            Self.statement(app, environment, state, $0)
        }
    }

    /// One of an app's refund requests; nil where there is none.
    ///
    /// - Throws: `PostgresError`.
    package func request(_ id: Int64, app: String) async throws -> Request? {
        let one: SQL = "SELECT * FROM apple_calls WHERE id = \(id) AND app = \(app) AND kind = 'consumption'"
        return try await pool.query(Self.withOwners(one)).rows.first.map(Request.init)
    }

    static func statement(
        _ app: String, _ environment: StoreEnvironment?, _ state: String?, _ look: ListLook
    ) -> SQL {
        let rest: SQL = look.position.map { "AND id < \($0.number)" } ?? ""
        let branch: SQL = """
            SELECT *, id AS number, '' AS list_id, '' AS list_environment FROM apple_calls
            WHERE app = \(app) AND kind = 'consumption' \(rest) ORDER BY id DESC \(look.end)
            """
        let looked = look.statement(
            [branch],
            where: """
                (\(environment) IS NULL OR environment = \(environment)) AND (\(state) IS NULL OR state = \(state))
                """)
        return "\(withOwners(looked)) ORDER BY is_meant DESC, number DESC"
    }

    /// Calls with whose they are.
    private static func withOwners(_ calls: SQL) -> SQL {
        """
        SELECT c.*, o.account, o.product_id, k.consented FROM (\(calls)) c
        LEFT JOIN orders o ON (o.environment, o.transaction_id) = (c.environment, c.order_transaction_id)
        LEFT JOIN account_consents k ON (k.account, k.app) = (o.account, o.app)
        """
    }
}
