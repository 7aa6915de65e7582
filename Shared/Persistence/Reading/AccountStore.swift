package import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// What an account has, read for who asks: entitlements, balances, subscriptions and transactions, all of one moment.
package struct AccountStore: Sendable {
    /// The most entitlements that are read: far above what any account uses at a time.
    package static let entitlementsMaximum = 1000
    /// The most balances that are read: one for each kind of item.
    package static let balancesMaximum = 1000
    /// The most subscriptions that are read: ended ones stay, but few accounts ever had a dozen.
    package static let subscriptionsMaximum = 100

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// An account as it stood at one moment.
    package struct Account: Sendable {
        /// The number of its newest event; 0 before the first.
        package let version: Int64
        /// What it may use, by name; of those that have ended only where they were asked for.
        package let entitlements: [Entitlement]
        /// Its total of each item, by name.
        package let balances: [Balance]
        /// Its subscriptions and those shared with it, ended ones too; those that run longest come first.
        package let subscriptions: [Subscription]
        /// Whether Apple may be told how much of a purchase was used; nil until somebody says.
        package let consent: AccountConsentStore.Consent?
        /// False when there are more entitlements, balances or subscriptions than are read.
        package let isComplete: Bool
    }

    /// Something that an account may use, because of one order.
    package struct Entitlement: Sendable, Hashable {
        /// Its name in the catalogue.
        package let name: String
        /// The order that gave it.
        package let transactionId: String
        /// Since when.
        package let grantedAt: Date
        /// Until when, by Apple; nil for ever.
        package let expiresAt: Date?
        /// When it was taken back; it is no entitlement any more.
        package let revokedAt: Date?
        /// Why it was taken back: `refund`, `family_revoke`, `family_copy`, `consent_rescinded`, `upgraded`.
        package let revokedBecause: String?
        /// Whether it may be used: neither ended, by the database's clock, nor taken back.
        package let isActive: Bool

        /// The columns that ``init(_:)`` reads.
        static let columns = """
            entitlement, transaction_id, granted_at, expires_at, revoked_at, revoked_because,
            revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS is_active
            """

        init(_ row: PostgresRow) throws {
            name = try row.decode("entitlement")
            transactionId = try row.decode("transaction_id")
            grantedAt = try row.decode("granted_at")
            expiresAt = try row.decodeIfPresent("expires_at")
            revokedAt = try row.decodeIfPresent("revoked_at")
            revokedBecause = try row.decodeIfPresent("revoked_because")
            isActive = try row.decode("is_active")
        }
    }

    /// A subscription that an account may use, or could.
    package struct Subscription: Sendable, Hashable {
        /// Where it stood when it changed last; the clock ends it by a change of its own.
        package let standing: SubscriptionStanding
        /// Whether it is another account's, and shared with this one.
        package let isShared: Bool
        /// When it came to stand there.
        package let changedAt: Date

        init(_ row: PostgresRow) throws {
            let standing = try row.decode("standing", as: String.self)
            self.standing = try MessageCoding.decode(SubscriptionStanding.self, from: Array(standing.utf8))
            isShared = try row.decode("is_shared")
            changedAt = try row.decode("changed_at")
        }
    }

    /// An account's total of one item.
    package struct Balance: Sendable, Hashable {
        /// The item.
        package let item: String
        /// How many; below zero is a debt that later grants repay.
        package let amount: Int64
    }

    /// What an account has; one that nothing is known of has nothing, at version 0.
    ///
    /// It is one snapshot: version, entitlements, balances and subscriptions are of the same moment, so that who has
    /// seen event `version` finds all of its effects here, and none of a later one.
    ///
    /// - Parameter includesExpired: whether entitlements that have ended or were taken back are read too.
    /// - Throws: `PostgresError`; `DecodingError` for a standing that no fulfillment wrote.
    package func account(_ customer: Customer, includesExpired: Bool = false) async throws -> Account {
        let key = Self.key(customer)
        return try await pool.withTransaction { connection in
            try await Snapshot.begin(on: connection)
            let version = try await connection.query(Self.versionStatement, key)
            let entitlements = try await connection.query(
                Self.entitlementsStatement,
                key + [.bool(includesExpired), .int8(Int64(Self.entitlementsMaximum) + 1)])
            let balances = try await connection.query(
                Self.balancesStatement, key + [.int8(Int64(Self.balancesMaximum) + 1)])
            let subscriptions = try await connection.query(
                Self.subscriptionsStatement, key + [.int8(Int64(Self.subscriptionsMaximum) + 1)])
            let consent = try await connection.query(AccountConsentStore.statement, Array(key.prefix(2)))
            return Account(
                version: try version.rows.first?.decode("last_sequence") ?? 0,
                entitlements: try entitlements.rows.prefix(Self.entitlementsMaximum).map(Entitlement.init),
                balances: try balances.rows.prefix(Self.balancesMaximum).map { row in
                    Balance(item: try row.decode("item"), amount: try row.decode("amount"))
                },
                subscriptions: try subscriptions.rows.prefix(Self.subscriptionsMaximum).map(Subscription.init),
                consent: try consent.rows.first.map(AccountConsentStore.consent),
                isComplete: entitlements.rows.count <= Self.entitlementsMaximum
                    && balances.rows.count <= Self.balancesMaximum
                    && subscriptions.rows.count <= Self.subscriptionsMaximum)
        }
    }

    /// The number of an account's newest event; 0 before the first.
    ///
    /// - Throws: `PostgresError`.
    package func version(of customer: Customer) async throws -> Int64 {
        let result = try await pool.query(Self.versionStatement, Self.key(customer))
        return try result.rows.first?.decode("last_sequence") ?? 0
    }

    /// `$1` to `$3` of every statement here.
    static func key(_ customer: Customer) -> [PostgresValue] {
        [.text(customer.account.text), .text(customer.app), .text(customer.environment.rawValue)]
    }

    private static let versionStatement = """
        SELECT last_sequence FROM account_sequences WHERE account = $1 AND app = $2 AND environment = $3
        """

    // What is in use comes first, so that it is there even when there are more rows than are read.
    private static let entitlementsStatement = """
        SELECT \(Entitlement.columns)
        FROM entitlements WHERE account = $1 AND app = $2 AND environment = $3
            AND ($4 OR revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
        ORDER BY is_active DESC, entitlement, granted_at DESC, transaction_id LIMIT $5
        """

    // Own ones and shared ones are found by an index each; none is both, since an owner has no share.
    private static let subscriptionsStatement = """
        SELECT standing, is_shared, changed_at FROM (
            SELECT standing, false AS is_shared, changed_at, access_until, original_transaction_id
            FROM subscriptions WHERE account = $1 AND app = $2 AND environment = $3
            UNION ALL
            SELECT s.standing, true, s.changed_at, s.access_until, s.original_transaction_id
            FROM lineage_shares l JOIN subscriptions s USING (environment, original_transaction_id)
            WHERE l.account = $1 AND l.app = $2 AND l.environment = $3 AND s.app = l.app
                AND s.account IS DISTINCT FROM l.account
        ) AS found
        ORDER BY access_until DESC, original_transaction_id LIMIT $4
        """

    private static let balancesStatement = """
        SELECT item, amount FROM balances WHERE account = $1 AND app = $2 AND environment = $3 ORDER BY item LIMIT $4
        """
}

/// One moment of the database for several statements.
enum Snapshot {
    /// Has every statement of the caller's transaction see the same moment; nothing may have been read before.
    static func begin(on connection: PostgresConnection) async throws {
        _ = try await connection.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    }
}
