public import Foundation
public import Postgres

/// The table `account_tokens`: which account an appAccountToken means, within an app.
public struct AccountTokenStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Says that a token means an account.
    ///
    /// - Returns: the account that the token means from now on: another one than asked for when it was taken before.
    /// - Throws: `PostgresError`.
    public func register(app: String, token: UUID, account: String) async throws -> String {
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
    public static func accounts(
        of tokens: [(app: String, token: UUID)], on connection: PostgresConnection
    ) async throws -> [AppToken: String] {
        guard !tokens.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT t.app, t.token, t.account FROM unnest($1::text[], $2::uuid[]) AS asked (app, token)
            JOIN account_tokens t USING (app, token)
            """,
            [.textArray(tokens.map(\.app)), .uuidArray(tokens.map(\.token))])
        var accounts: [AppToken: String] = [:]
        for row in result.rows {
            let key = AppToken(app: try row.decode("app"), token: try row.decode("token"))
            accounts[key] = try row.decode("account", as: String.self)
        }
        return accounts
    }
}

/// A token within its app.
public struct AppToken: Sendable, Hashable {
    /// The app's bundle id.
    public let app: String
    /// The UUID that the app sets when it buys.
    public let token: UUID

    /// Makes a pair.
    public init(app: String, token: UUID) {
        self.app = app
        self.token = token
    }
}
