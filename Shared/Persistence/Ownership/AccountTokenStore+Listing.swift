package import Foundation
import Postgres
package import PurchaseModel

/// The tokens of an account as they are listed.
extension AccountTokenStore {
    /// A token that means the account.
    package struct Listed: Sendable {
        package let token: UUID
        package let createdAt: Date
        /// What the intent was opened for, where the token is one.
        package let productId: String?
        /// The app's own number of its order.
        package let reference: String?

        init(_ row: PostgresRow) throws {
            token = try row.decode("token")
            createdAt = try row.decode("created_at")
            productId = try row.decodeIfPresent("product_id")
            reference = try row.decodeIfPresent("reference")
        }
    }

    /// A page of an account's tokens, the newest first.
    ///
    /// - Throws: `PostgresError`.
    package func page(
        of account: Account, app: String, after position: ListPosition?, limit: Int
    ) async throws -> ListPage<Listed> {
        try await ListLook.page(after: position, limit: limit, on: pool, Listed.init) {
            Self.statement(account, app, $0)
        }
    }

    static func statement(_ account: Account, _ app: String, _ look: ListLook) -> SQL {
        let rest: SQL =
            look.position.map { "AND (created_at, token) < (\(ListLook.time($0.number)), \($0.id)::uuid)" } ?? ""
        let branch: SQL = """
            SELECT token, created_at, \(ListLook.number("created_at")) AS number, token::text AS list_id,
                '' AS list_environment
            FROM account_tokens WHERE account = \(account) AND app = \(app) \(rest)
            ORDER BY created_at DESC, token DESC \(look.end)
            """
        return """
            SELECT t.*, i.product_id, i.reference FROM (\(look.statement([branch], where: "true"))) t
            LEFT JOIN purchase_intents i ON i.id = t.token AND i.app = \(app)
            ORDER BY is_meant DESC, number DESC, list_id DESC
            """
    }
}
