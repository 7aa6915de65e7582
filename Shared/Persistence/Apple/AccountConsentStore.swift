package import Foundation
package import Postgres
package import PurchaseModel

/// The table `account_consents`: whether an account agreed that Apple is told how much of a purchase was used.
package struct AccountConsentStore: Sendable {
    /// What an account said.
    package struct Consent: Sendable, Hashable {
        package let isGiven: Bool
        /// Since when it is so.
        package let changedAt: Date
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Writes down what an account says, and has Apple's open requests about its purchases looked at again.
    ///
    /// Saying the same again changes nothing, not even since when it is so; but what is said since the account of that name is to be
    /// forgotten, a new one says.
    ///
    /// - Throws: `PostgresError`.
    @inline(never)
    package func set(_ isGiven: Bool, app: String, account: Account) async throws -> Consent {
        try await pool.withTransaction { connection in
            let result = try await connection.query(
                """
                INSERT INTO account_consents AS k (app, account, consented) VALUES (\(app), \(account), \(isGiven))
                ON CONFLICT (account, app) DO UPDATE SET consented = excluded.consented,
                    changed_at = CASE WHEN k.consented = excluded.consented AND NOT EXISTS (
                        SELECT FROM forget_requests r
                        WHERE r.account = k.account AND r.app = k.app AND r.requested_at >= k.changed_at)
                    THEN k.changed_at ELSE now() END
                RETURNING changed_at
                """)
            try await AppleCallStore.reconsider(app: app, account: account, on: connection)
            guard let row = result.rows.first else {
                throw PostgresError(code: .decodingFailed, reason: "account_consents gave no row")
            }
            return Consent(isGiven: isGiven, changedAt: try row.decode(Date.self))
        }
    }

    /// What an account said; nil where nobody said anything.
    static func consent(
        _ account: Account, app: String, on connection: PostgresConnection
    ) async throws -> Consent? {
        try await connection.query(
            "SELECT consented AS is_given, changed_at FROM account_consents WHERE account = \(account) AND app = \(app)"
        ).map(Consent.init).first
    }
}
