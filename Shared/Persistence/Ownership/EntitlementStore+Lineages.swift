package import Foundation
package import Postgres
package import PurchaseModel

/// Entitlements that move to another account with their lineage, and those that accounts share.
///
/// Ledger entries stay: they say who got the items.
extension EntitlementStore {
    /// A lineage that one account had, and another has now.
    package struct Move: Sendable, Hashable {
        /// The lineage.
        package let lineage: LineageKey
        /// Who had it.
        package let from: Account
        /// Who has it now.
        package let to: Account

        /// Says what goes where.
        package init(lineage: LineageKey, from: Account, to: Account) {
            self.lineage = lineage
            self.from = from
            self.to = to
        }
    }

    /// A lineage that one more account may use.
    package struct Share: Sendable, Hashable {
        /// The lineage.
        package let lineage: LineageKey
        /// The app's bundle id.
        package let app: String
        /// Whose it is.
        package let owner: Account
        /// Who may use it, too.
        package let account: Account

        /// Says who shares what with whom.
        package init(lineage: LineageKey, app: String, owner: Account, account: Account) {
            self.lineage = lineage
            self.app = app
            self.owner = owner
            self.account = account
        }
    }

    /// Moves entitlements, once the rows of the orders are locked.
    ///
    /// Subscriptions are worked out anew later, with their owner.
    ///
    /// - Throws: `PostgresError`.
    package static func move(_ moves: [Move], on connection: PostgresConnection) async throws {
        guard !moves.isEmpty else { return }
        let rows: SQL = """
            moves AS (
                SELECT * FROM unnest(\(moves.map(\.lineage.environment)), \(moves.map(\.lineage.originalTransactionId)),
                    \(moves.map(\.from)), \(moves.map(\.to)))
                    AS moves (environment, original_transaction_id, from_account, to_account)
            )
            """
        // Who shared it until now, and owns it from now on, has the same rows already.
        _ = try await connection.query(
            """
            WITH \(rows), shares AS (
                DELETE FROM lineage_shares s USING moves m
                WHERE s.environment = m.environment AND s.original_transaction_id = m.original_transaction_id
                    AND s.account = m.to_account
            )
            DELETE FROM entitlements e USING moves m, orders o
            WHERE o.environment = m.environment AND o.original_transaction_id = m.original_transaction_id
                AND o.product_type <> 'consumable' AND e.environment = o.environment AND e.app = o.app
                AND e.transaction_id = o.transaction_id AND e.account = m.to_account
            """)
        _ = try await connection.query(
            """
            WITH \(rows)
            UPDATE entitlements e SET account = m.to_account FROM moves m, orders o
            WHERE o.environment = m.environment AND o.original_transaction_id = m.original_transaction_id
                AND o.product_type <> 'consumable' AND e.environment = o.environment AND e.app = o.app
                AND e.transaction_id = o.transaction_id AND e.account = m.from_account
            """)
    }

    /// Lets accounts use lineages no more that shared them until now, and are not their owners.
    ///
    /// That comes about where one of them owned it for a moment, within the caller's transaction.
    ///
    /// - Throws: `PostgresError`.
    package static func unshare(
        _ shares: [(lineage: LineageKey, account: Account)], on connection: PostgresConnection
    ) async throws {
        guard !shares.isEmpty else { return }
        _ = try await connection.query(
            """
            WITH gone AS (
                DELETE FROM lineage_shares s
                USING unnest(\(shares.map(\.lineage.environment)), \(shares.map(\.lineage.originalTransactionId)),
                    \(shares.map(\.account))) AS old (environment, original_transaction_id, account)
                WHERE (s.environment, s.original_transaction_id, s.account)
                    = (old.environment, old.original_transaction_id, old.account)
                RETURNING s.environment, s.original_transaction_id, s.account
            )
            DELETE FROM entitlements e USING gone, orders o
            WHERE (o.environment, o.original_transaction_id) = (gone.environment, gone.original_transaction_id)
                AND o.product_type <> 'consumable' AND e.environment = o.environment AND e.app = o.app
                AND e.transaction_id = o.transaction_id AND e.account = gone.account
            """)
    }

    /// Lets further accounts use lineages: each gets the entitlements that the owner has, as they stand.
    ///
    /// - Throws: `PostgresError`.
    package static func share(_ shares: [Share], on connection: PostgresConnection) async throws {
        guard !shares.isEmpty else { return }
        _ = try await connection.query(
            """
            WITH new AS (
                SELECT * FROM unnest(\(shares.map(\.lineage.environment)), \(shares.map(\.lineage.originalTransactionId)),
                    \(shares.map(\.app)), \(shares.map(\.owner)), \(shares.map(\.account)))
                    AS new (environment, original_transaction_id, app, owner, account)
            ), kept AS (
                INSERT INTO lineage_shares (environment, original_transaction_id, app, account)
                SELECT environment, original_transaction_id, app, account FROM new ON CONFLICT DO NOTHING
            )
            INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, expires_at, revoked_at,
                revoked_because, end_told_at)
            SELECT e.environment, e.app, new.account, e.entitlement, e.transaction_id, e.expires_at, e.revoked_at,
                e.revoked_because, e.end_told_at
            FROM new
            JOIN orders o ON o.environment = new.environment
                AND o.original_transaction_id = new.original_transaction_id AND o.product_type <> 'consumable'
            JOIN entitlements e ON e.environment = o.environment AND e.transaction_id = o.transaction_id
                AND e.app = o.app AND e.account = new.owner
            ON CONFLICT DO NOTHING
            """)
    }

    /// The names of the entitlements of lineages that are in force for an account, sorted.
    ///
    /// - Throws: `PostgresError`.
    package static func entitlements(
        of lineages: Set<LineageKey>, at now: Date, on connection: PostgresConnection
    ) async throws -> [LineageKey: [String]] {
        guard !lineages.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT DISTINCT o.environment, o.original_transaction_id, e.entitlement
            FROM \(SQL.rows(of: Array(lineages))) AS asked (environment, original_transaction_id)
            JOIN orders o USING (environment, original_transaction_id)
            JOIN entitlements e ON e.environment = o.environment AND e.transaction_id = o.transaction_id
                AND e.app = o.app AND e.account = o.account
            WHERE e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > \(now))
            ORDER BY 1, 2, 3
            """)
        let names = try result.map {
            (environment: StoreEnvironment, originalTransactionId: String, entitlement: String) in
            (LineageKey(environment: environment, originalTransactionId: originalTransactionId), [entitlement])
        }
        return Dictionary(names, uniquingKeysWith: +)
    }
}
