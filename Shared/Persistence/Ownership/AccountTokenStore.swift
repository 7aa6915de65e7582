package import Foundation
package import Postgres
package import PurchaseModel

/// The table `account_tokens`: which account an appAccountToken means, within an app.
package struct AccountTokenStore: Sendable {
    let pool: PostgresPool

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
            "INSERT INTO account_tokens AS t (app, token, account) VALUES (\(app), \(token), \(account)) \(Self.renewal)"
        )
        let result = try await pool.query(
            "SELECT account FROM account_tokens WHERE app = \(app) AND token = \(token)")
        return try result.map { (account: String) in account }.first ?? account
    }

    /// Says what many tokens mean; what was registered before stays.
    ///
    /// - Returns: the account that each token means from now on.
    /// - Throws: `PostgresError`.
    package func register(_ tokens: [AppToken: Account]) async throws -> [AppToken: Account] {
        guard !tokens.isEmpty else { return [:] }
        let sorted = tokens.sorted { ($0.key.app, $0.key.token.uuidString) < ($1.key.app, $1.key.token.uuidString) }
        _ = try await pool.query(
            """
            INSERT INTO account_tokens AS t (app, token, account)
            SELECT * FROM unnest(\(sorted.map(\.key.app)), \(sorted.map(\.key.token)), \(sorted.map(\.value)))
            \(Self.renewal)
            """)
        return try await pool.withConnection { try await Self.accounts(of: Set(tokens.keys), on: $0) }
    }

    /// What was registered before stays; but who registers a token of its name while the account of that name is being
    /// forgotten is a new one, and registers it anew.
    private static let renewal: SQL = """
        ON CONFLICT (app, token) DO UPDATE SET created_at = now()
            WHERE t.account = excluded.account AND EXISTS (SELECT FROM forget_requests r
                WHERE r.account = t.account AND r.app = t.app AND r.requested_at >= t.created_at)
        """

    /// The accounts of tokens, by app and token; unknown ones are left out.
    ///
    /// A token that was registered for a name while the account of that name is being forgotten is known once that has its
    /// pseudonym.
    ///
    /// - Throws: `PostgresError`.
    package static func accounts(
        of tokens: Set<AppToken>, on connection: PostgresConnection
    ) async throws -> [AppToken: Account] {
        guard !tokens.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT t.app, t.token, t.account
            FROM unnest(\(tokens.map(\.app)), \(tokens.map(\.token))) AS asked (app, token)
            JOIN account_tokens t USING (app, token)
            WHERE NOT EXISTS (SELECT FROM forget_requests r
                WHERE r.account = t.account AND r.app = t.app AND r.renamed_at IS NULL AND r.requested_at < t.created_at)
            """)
        let accounts = try result.map { (app: String, token: UUID, account: Account) in
            (AppToken(app: app, token: token), account)
        }
        return Dictionary(uniqueKeysWithValues: accounts)
    }

    /// A token of each account that is no intent's, and so says nothing of a purchase: the newest that is registered, or one
    /// that is made and registered now.
    ///
    /// - Throws: `PostgresError`.
    package static func tokens(
        of accounts: [(app: String, account: Account)], on connection: PostgresConnection
    ) async throws -> [UUID] {
        guard !accounts.isEmpty else { return [] }
        let found = try await connection.query(
            """
            SELECT asked.place, t.token FROM unnest(\(accounts.map(\.app)), \(accounts.map(\.account)))
                WITH ORDINALITY AS asked (app, account, place)
            CROSS JOIN LATERAL (
                SELECT token FROM account_tokens t
                WHERE t.account = asked.account AND t.app = asked.app
                    AND NOT EXISTS (SELECT FROM purchase_intents i WHERE i.id = t.token)
                ORDER BY created_at DESC, token LIMIT 1) t
            """)
        var tokens = [UUID?](repeating: nil, count: accounts.count)
        for (place, token) in try found.map({ (place: Int, token: UUID) in (place, token) }) {
            tokens[place - 1] = token
        }
        // One account may have several of the purchases.
        var made: [AppToken: Account] = [:]
        var ofAccount: [[String]: UUID] = [:]
        let all = zip(accounts, tokens).map { entry, token -> UUID in
            if let token { return token }
            let key = [entry.app, entry.account.text]
            let token = ofAccount[key] ?? UUID()
            ofAccount[key] = token
            made[AppToken(app: entry.app, token: token)] = entry.account
            return token
        }
        let list = Array(made)
        if !list.isEmpty {
            _ = try await connection.query(
                """
                INSERT INTO account_tokens (app, token, account, created_at)
                SELECT app, token, account, coalesce((SELECT min(r.requested_at) FROM forget_requests r
                    WHERE r.account = new.account AND r.app = new.app AND r.renamed_at IS NULL), now())
                FROM unnest(\(list.map(\.key.app)), \(list.map(\.key.token)), \(list.map(\.value)))
                    AS new (app, token, account)
                """)
        }
        return all
    }
}
