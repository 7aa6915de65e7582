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

        static let columns: SQL = """
            entitlement AS name, transaction_id, granted_at, expires_at, revoked_at, revoked_because,
            revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS is_active
            """
    }

    /// A subscription that an account may use, or could.
    package struct Subscription: Sendable, Hashable {
        /// Where it stood when it changed last; the clock ends it by a change of its own.
        package let standing: SubscriptionStanding
        /// Whether it is another account's, and shared with this one.
        package let isShared: Bool
        /// When it came to stand there.
        package let changedAt: Date

        init(_ standing: JSONColumn<SubscriptionStanding>, _ isShared: Bool, _ changedAt: Date) {
            self.standing = standing.value
            self.isShared = isShared
            self.changedAt = changedAt
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
    /// - Throws: `PostgresError`.
    package func account(_ customer: Customer, includesExpired: Bool = false) async throws -> Account {
        try await pool.withTransaction { connection in
            try await Snapshot.begin(on: connection)
            let version = try await connection.query(Self.version(of: customer))
            let entitlements = try await connection.query(Self.entitlements(of: customer, includesExpired))
                .map(Entitlement.init)
            let balances = try await connection.query(
                """
                SELECT item, amount FROM balances WHERE \(Self.isOf(customer))
                ORDER BY item LIMIT \(Self.balancesMaximum + 1)
                """
            ).map(Balance.init)
            let subscriptions = try await connection.query(Self.subscriptions(of: customer)).map(Subscription.init)
            return Account(
                version: try version.rows.first?.decode(Int64.self) ?? 0,
                entitlements: Array(entitlements.prefix(Self.entitlementsMaximum)),
                balances: Array(balances.prefix(Self.balancesMaximum)),
                subscriptions: Array(subscriptions.prefix(Self.subscriptionsMaximum)),
                consent: try await AccountConsentStore.consent(customer.account, app: customer.app, on: connection),
                isComplete: entitlements.count <= Self.entitlementsMaximum && balances.count <= Self.balancesMaximum
                    && subscriptions.count <= Self.subscriptionsMaximum)
        }
    }

    /// The number of an account's newest event; 0 before the first.
    ///
    /// - Throws: `PostgresError`.
    package func version(of customer: Customer) async throws -> Int64 {
        try await pool.query(Self.version(of: customer)).rows.first?.decode(Int64.self) ?? 0
    }

    static func isOf(_ customer: Customer) -> SQL {
        "account = \(customer.account) AND app = \(customer.app) AND environment = \(customer.environment)"
    }

    private static func version(of customer: Customer) -> SQL {
        "SELECT last_sequence FROM account_sequences WHERE \(isOf(customer))"
    }

    // What is in use comes first, so that it is there even when there are more rows than are read.
    private static func entitlements(of customer: Customer, _ includesExpired: Bool) -> SQL {
        """
        SELECT \(Entitlement.columns) FROM entitlements
        WHERE \(isOf(customer)) AND (\(includesExpired) OR revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
        ORDER BY is_active DESC, entitlement, granted_at DESC, transaction_id LIMIT \(entitlementsMaximum + 1)
        """
    }

    // Own ones and shared ones are found by an index each; none is both, since an owner has no share.
    private static func subscriptions(of customer: Customer) -> SQL {
        """
        SELECT standing, is_shared, changed_at FROM (
            SELECT standing, false AS is_shared, changed_at, access_until, original_transaction_id
            FROM subscriptions WHERE \(isOf(customer))
            UNION ALL
            SELECT s.standing, true, s.changed_at, s.access_until, s.original_transaction_id
            FROM lineage_shares l JOIN subscriptions s USING (environment, original_transaction_id)
            WHERE l.account = \(customer.account) AND l.app = \(customer.app) AND l.environment = \(customer.environment)
                AND s.app = l.app AND s.account IS DISTINCT FROM l.account
        ) AS found
        ORDER BY access_until DESC, original_transaction_id LIMIT \(subscriptionsMaximum + 1)
        """
    }
}

/// One moment of the database for several statements.
enum Snapshot {
    /// Has every statement of the caller's transaction see the same moment; nothing may have been read before.
    static func begin(on connection: PostgresConnection) async throws {
        _ = try await connection.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    }
}
