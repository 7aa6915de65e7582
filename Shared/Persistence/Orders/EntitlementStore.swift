package import Foundation
package import Postgres
package import PurchaseModel

/// The tables `entitlements` and `lineage_shares`: what orders let accounts use.
///
/// It is changed in transactions that have `ConsentStore.lock(takesUp:on:)`.
package enum EntitlementStore {
    /// Whose entitlements by which order.
    package struct Recipient: Sendable, Hashable, Comparable {
        /// The order.
        package let key: OrderKey
        /// The account.
        package let customer: Customer

        /// By order, then by account.
        package static func < (left: Recipient, right: Recipient) -> Bool {
            left.key == right.key ? left.customer < right.customer : left.key < right.key
        }
    }

    /// Why entitlements are taken back.
    package enum Cause: String, PostgresEncodable, Sendable, Hashable {
        /// A refund.
        case refund
        /// Family Sharing ended.
        case familyRevoke = "family_revoke"
        /// It turned out to be a family member's copy, of a product that gives those nothing.
        case familyCopy = "family_copy"
    }

    /// Takes the entitlements of orders back, in the caller's transaction.
    ///
    /// - Returns: what each account may use no more; not what had ended before, nor what another order still gives it.
    /// - Throws: `PostgresError`.
    package static func revoke(
        _ orders: [(key: OrderKey, cause: Cause)], on connection: PostgresConnection
    ) async throws -> [Recipient: [String]] {
        guard !orders.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            WITH old AS (
                SELECT e.account, e.app, e.environment, e.entitlement, e.transaction_id, new.cause,
                    e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > now()) AS is_usable
                FROM entitlements e
                JOIN unnest(\(orders.map(\.key.environment)), \(orders.map(\.key.transactionId)), \(orders.map(\.cause)))
                    AS new (environment, transaction_id, cause) USING (environment, transaction_id)
            ), lost AS (
                UPDATE entitlements e SET revoked_at = coalesce(e.revoked_at, now()),
                    revoked_because = CASE WHEN e.revoked_because = 'family_copy' THEN 'family_copy' ELSE old.cause END
                FROM old
                WHERE (e.account, e.app, e.environment, e.entitlement, e.transaction_id)
                    = (old.account, old.app, old.environment, old.entitlement, old.transaction_id)
            )
            SELECT environment, transaction_id, app, account, entitlement FROM old WHERE is_usable AND NOT EXISTS (
                SELECT FROM entitlements e
                WHERE (e.account, e.app, e.environment, e.entitlement)
                    = (old.account, old.app, old.environment, old.entitlement)
                    AND e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > now())
                    AND (e.environment, e.transaction_id) NOT IN (SELECT * FROM \(SQL.rows(of: orders.map(\.key)))))
            ORDER BY entitlement
            """)
        return try names(result)
    }

    /// Gives the entitlements of orders back after a reversal, in the caller's transaction; what a guardian's word
    /// froze stays frozen.
    ///
    /// - Returns: what each account may use again.
    /// - Throws: `PostgresError`.
    package static func restore(
        _ keys: [OrderKey], on connection: PostgresConnection
    ) async throws -> [Recipient: [String]] {
        guard !keys.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            WITH given AS (
                UPDATE entitlements e
                SET revoked_at = CASE WHEN frozen.is_frozen THEN e.revoked_at END,
                    revoked_because = CASE WHEN frozen.is_frozen THEN 'consent_rescinded' END
                FROM \(SQL.rows(of: keys)) AS asked (environment, transaction_id)
                JOIN orders o USING (environment, transaction_id)
                CROSS JOIN LATERAL (SELECT \(ConsentStore.isWithdrawn) AS is_frozen OFFSET 0) frozen
                WHERE (e.environment, e.transaction_id) = (o.environment, o.transaction_id)
                    AND e.revoked_because IN ('refund', 'family_revoke')
                RETURNING e.environment, e.transaction_id, e.app, e.account, e.entitlement, e.revoked_at, e.expires_at
            )
            SELECT environment, transaction_id, app, account, entitlement FROM given
            WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
            ORDER BY entitlement
            """)
        return try names(result)
    }

    /// Lets the entitlements of orders end when the order's period does, in the caller's transaction.
    ///
    /// An end that was told and now lies later is told again when it comes.
    ///
    /// - Throws: `PostgresError`.
    package static func moveEnds(
        _ ends: [(key: OrderKey, expiresDate: Date)], on connection: PostgresConnection
    ) async throws {
        guard !ends.isEmpty else { return }
        _ = try await connection.query(
            """
            UPDATE entitlements e SET expires_at = new.expires_at,
                end_told_at = CASE WHEN new.expires_at <= e.expires_at THEN e.end_told_at END
            FROM unnest(\(ends.map(\.key.environment)), \(ends.map(\.key.transactionId)), \(ends.map(\.expiresDate)))
                AS new (environment, transaction_id, expires_at)
            WHERE (e.environment, e.transaction_id) = (new.environment, new.transaction_id)
            """)
    }

    static func names(_ result: PostgresResult) throws -> [Recipient: [String]] {
        let names = try result.map {
            (environment: StoreEnvironment, transactionId: String, app: String, account: Account, entitlement: String)
            in
            (
                Recipient(
                    key: OrderKey(environment: environment, transactionId: transactionId),
                    customer: Customer(environment: environment, app: app, account: account)), [entitlement]
            )
        }
        return Dictionary(names, uniquingKeysWith: +)
    }
}
