package import Foundation
import Postgres
import PurchaseModel

/// Entitlements that a person gave: rows without an order, one for each name, whose end a person sets.
///
/// They end by the clock as others do: what is taken away ends now. A withdrawn consent does not reach them, so they are written
/// without its lock.
extension EntitlementStore {
    /// What an account may use by a person's word.
    package struct ByHand: Sendable, Hashable {
        /// The name in the catalogue.
        package let entitlement: String
        /// Until when; nil for ever.
        package let expiresAt: Date?

        /// Makes one.
        package init(entitlement: String, expiresAt: Date?) {
            self.entitlement = entitlement
            self.expiresAt = expiresAt
        }
    }

    /// Gives entitlements, or moves their ends, in the caller's transaction.
    ///
    /// - Parameters:
    ///   - given: each name once, with an end that is yet to come.
    ///   - auditId: the act, in `audit_log`.
    /// - Throws: `PostgresError`.
    static func give(
        _ given: [ByHand], to customer: Customer, auditId: Int64, on connection: PostgresConnection
    ) async throws {
        guard !given.isEmpty else { return }
        _ = try await connection.query(
            """
            INSERT INTO entitlements AS e (environment, app, account, entitlement, transaction_id, expires_at, audit_id)
            SELECT \(customer.environment), \(customer.app), \(customer.account), new.entitlement,
                'by-hand:' || new.entitlement, new.expires_at, \(auditId)
            FROM unnest(\(given.map(\.entitlement)), \(given.map(\.expiresAt))) AS new (entitlement, expires_at)
            ORDER BY new.entitlement
            ON CONFLICT (account, app, environment, entitlement, transaction_id) DO UPDATE SET
                granted_at = CASE WHEN e.expires_at <= now() THEN now() ELSE e.granted_at END,
                expires_at = excluded.expires_at, end_told_at = NULL, audit_id = excluded.audit_id
            """)
    }

    /// Those of names that are not in force by a person's word; the others are locked in the caller's transaction.
    ///
    /// - Throws: `PostgresError`.
    static func missing(
        _ names: [String], of customer: Customer, on connection: PostgresConnection
    ) async throws -> [String] {
        guard !names.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT entitlement FROM entitlements WHERE \(isInForce(names, of: customer)) ORDER BY entitlement FOR UPDATE
            """)
        return Set(names).subtracting(try result.map { (name: String) in name }).sorted()
    }

    /// Ends entitlements now that were given by hand, in the caller's transaction; ``takeEnded(at:limit:on:)`` tells of it.
    ///
    /// - Throws: `PostgresError`.
    static func end(
        _ names: [String], of customer: Customer, auditId: Int64, on connection: PostgresConnection
    ) async throws {
        guard !names.isEmpty else { return }
        _ = try await connection.query(
            """
            UPDATE entitlements SET expires_at = now(), audit_id = \(auditId) WHERE \(isInForce(names, of: customer))
            """)
    }

    private static func isInForce(_ names: [String], of customer: Customer) -> SQL {
        """
        \(AccountStore.isOf(customer)) AND entitlement = ANY(\(names)) AND audit_id IS NOT NULL
            AND (expires_at IS NULL OR expires_at > now())
        """
    }
}
