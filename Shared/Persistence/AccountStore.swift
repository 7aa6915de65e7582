public import Foundation
public import Postgres
import PurchaseModel

/// What an account has, read for who asks: entitlements, balances and transactions, all of one moment.
public struct AccountStore: Sendable {
    /// The most entitlements that are read: far above what any account uses at a time.
    public static let entitlementsMaximum = 1000
    /// The most balances that are read: one for each kind of item.
    public static let balancesMaximum = 1000

    let pool: PostgresPool

    /// Works on the database of a pool.
    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// An account as it stood at one moment.
    public struct Account: Sendable {
        /// The number of its newest event; 0 before the first.
        public let version: Int64
        /// What it may use, by name; of those that have ended only where they were asked for.
        public let entitlements: [Entitlement]
        /// Its total of each item, by name.
        public let balances: [Balance]
        /// False when there are more entitlements or balances than are read.
        public let isComplete: Bool
    }

    /// Something that an account may use, because of one order.
    public struct Entitlement: Sendable, Hashable {
        /// Its name in the catalogue.
        public let name: String
        /// The order that gave it.
        public let transactionId: String
        /// Since when.
        public let grantedAt: Date
        /// Until when, by Apple; nil for ever.
        public let expiresAt: Date?
        /// Whether it has not ended, by the database's clock.
        public let isActive: Bool
    }

    /// An account's total of one item.
    public struct Balance: Sendable, Hashable {
        /// The item.
        public let item: String
        /// How many.
        public let amount: Int64
    }

    /// What an account has; one that nothing is known of has nothing, at version 0.
    ///
    /// It is one snapshot: version, entitlements and balances are of the same moment, so that who has seen event
    /// `version` finds all of its effects here, and none of a later one.
    ///
    /// - Parameter includesExpired: whether entitlements that have ended are read too.
    /// - Throws: `PostgresError`.
    public func account(_ customer: EventStore.Customer, includesExpired: Bool = false) async throws -> Account {
        let key = Self.key(customer)
        return try await pool.withTransaction { connection in
            try await Snapshot.begin(on: connection)
            let version = try await connection.query(Self.versionStatement, key)
            let entitlements = try await connection.query(
                Self.entitlementsStatement,
                key + [.bool(includesExpired), .int8(Int64(Self.entitlementsMaximum) + 1)])
            let balances = try await connection.query(
                Self.balancesStatement, key + [.int8(Int64(Self.balancesMaximum) + 1)])
            return Account(
                version: try version.rows.first?.decode("last_sequence") ?? 0,
                entitlements: try entitlements.rows.prefix(Self.entitlementsMaximum).map(Self.entitlement),
                balances: try balances.rows.prefix(Self.balancesMaximum).map { row in
                    Balance(item: try row.decode("item"), amount: try row.decode("amount"))
                },
                isComplete: entitlements.rows.count <= Self.entitlementsMaximum
                    && balances.rows.count <= Self.balancesMaximum)
        }
    }

    /// The number of an account's newest event; 0 before the first.
    ///
    /// - Throws: `PostgresError`.
    public func version(of customer: EventStore.Customer) async throws -> Int64 {
        let result = try await pool.query(Self.versionStatement, Self.key(customer))
        return try result.rows.first?.decode("last_sequence") ?? 0
    }

    /// `$1` to `$3` of every statement here.
    static func key(_ customer: EventStore.Customer) -> [PostgresValue] {
        [.text(customer.account), .text(customer.app), .text(customer.environment.rawValue)]
    }

    private static func entitlement(_ row: PostgresRow) throws -> Entitlement {
        Entitlement(
            name: try row.decode("entitlement"), transactionId: try row.decode("transaction_id"),
            grantedAt: try row.decode("granted_at"), expiresAt: try row.decodeIfPresent("expires_at"),
            isActive: try row.decode("is_active"))
    }

    private static let versionStatement = """
        SELECT last_sequence FROM account_sequences WHERE account = $1 AND app = $2 AND environment = $3
        """

    // What is in use comes first, so that it is there even when there are more rows than are read.
    private static let entitlementsStatement = """
        SELECT entitlement, transaction_id, granted_at, expires_at,
            expires_at IS NULL OR expires_at > now() AS is_active
        FROM entitlements WHERE account = $1 AND app = $2 AND environment = $3
            AND ($4 OR expires_at IS NULL OR expires_at > now())
        ORDER BY is_active DESC, entitlement, granted_at DESC, transaction_id LIMIT $5
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
