package import Foundation
package import Postgres
package import PurchaseModel

/// The table `account_tokens`: which account an appAccountToken means, within an app.
package struct AccountTokenStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Says that a token means an account.
    ///
    /// - Returns: the account that the token means from now on: another one than asked for when it was taken before.
    /// - Throws: `PostgresError`.
    package func register(app: String, token: UUID, account: String) async throws -> String {
        _ = try await pool.query(
            "INSERT INTO account_tokens (app, token, account) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            [.text(app), .uuid(token), .text(account)])
        let result = try await pool.query(
            "SELECT account FROM account_tokens WHERE app = $1 AND token = $2", [.text(app), .uuid(token)])
        return try result.rows.first?.decode("account", as: String.self) ?? account
    }

    /// The accounts of tokens, by app and token; unknown ones are left out.
    ///
    /// - Throws: `PostgresError`.
    package static func accounts(
        of tokens: Set<AppToken>, on connection: PostgresConnection
    ) async throws -> [AppToken: Account] {
        guard !tokens.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT t.app, t.token, t.account FROM unnest($1::text[], $2::uuid[]) AS asked (app, token)
            JOIN account_tokens t USING (app, token)
            """,
            [.textArray(tokens.map(\.app)), .uuidArray(tokens.map(\.token))])
        var accounts: [AppToken: Account] = [:]
        for row in result.rows {
            let key = AppToken(app: try row.decode("app"), token: try row.decode("token"))
            accounts[key] = try row.account()
        }
        return accounts
    }
}
