package import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// Entitlements that end, and the column `entitlements.end_told_at`: which ends that came by the clock are told.
extension EntitlementStore {
    /// What one order, or a person, gave to one account, and which has ended.
    package struct Ended: Sendable {
        /// The order; of what a person gave, no order's.
        package let key: OrderKey
        /// The app's bundle id.
        package let app: String
        /// The account.
        package let account: Account
        /// What the account may use no more, sorted; not what another order still gives it.
        package let entitlements: [String]
        /// Of the order, or of the act.
        package let correlationId: String
        /// What was bought, without its evidence; nil for what a person gave.
        package let transaction: Transaction?
        /// Whether it is the current period of a subscription, of which the subscription's own events tell.
        package let isCurrentPeriod: Bool
    }

    /// Takes what has ended and was not told, and marks it as told, in the caller's transaction; each is taken once.
    ///
    /// What was taken back is none that ends. An order's entitlements end together and are taken together: whoever has
    /// the first of them has the others. What another has taken is passed over.
    ///
    /// - Parameters:
    ///   - now: nil for the database's clock, by which entitlements are read, too.
    ///   - limit: the most orders to take.
    /// - Throws: `PostgresError`; `DecodingError`, for an order that nobody of us wrote.
    package static func takeEnded(
        at now: Date?, limit: Int, on connection: PostgresConnection
    ) async throws -> [Ended] {
        try await connection.query(taking(at: now, limit: limit)).map(ended)
    }

    /// What accounts lost of orders whose place an upgrade took, and which had not ended.
    ///
    /// - Parameters:
    ///   - orders: as `endPeriods(_:on:)` returned them.
    ///   - now: nil for the database's clock.
    /// - Throws: `PostgresError`; `DecodingError`, for an order that nobody of us wrote.
    package static func superseded(
        _ orders: [OrderKey], at now: Date?, on connection: PostgresConnection
    ) async throws -> [Ended] {
        guard !orders.isEmpty else { return [] }
        return try await connection.query(
            """
            WITH lost AS (
                SELECT e.* FROM entitlements e
                JOIN \(SQL.rows(of: orders)) AS asked (environment, transaction_id) USING (environment, transaction_id)
                WHERE e.revoked_because = 'upgraded' AND e.expires_at > coalesce(\(now), now())
            )
            \(select(from: "lost", at: "\(now)"))
            """
        ).map(ended)
    }

    private static func ended(
        _ environment: StoreEnvironment, _ id: String, _ app: String, _ account: Account, _ entitlements: [String],
        _ correlationId: String, _ transaction: JSONColumn<Transaction>?, _ isCurrentPeriod: Bool
    ) -> Ended {
        Ended(
            key: OrderKey(environment: environment, transactionId: id), app: app, account: account,
            entitlements: entitlements, correlationId: correlationId, transaction: transaction?.value,
            isCurrentPeriod: isCurrentPeriod)
    }

    private static func taking(at now: Date?, limit: Int) -> SQL {
        """
        WITH ended AS (
            SELECT environment, app, account, transaction_id FROM entitlements e
            WHERE expires_at <= coalesce(\(now), now()) AND end_told_at IS NULL AND revoked_at IS NULL
                AND entitlement = (
                    SELECT min(s.entitlement) FROM entitlements s
                    WHERE s.environment = e.environment AND s.transaction_id = e.transaction_id AND s.app = e.app
                        AND s.account = e.account)
            ORDER BY expires_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        ), told AS (
            UPDATE entitlements e SET end_told_at = now() FROM ended
            WHERE e.environment = ended.environment AND e.transaction_id = ended.transaction_id
                AND e.app = ended.app AND e.account = ended.account AND e.revoked_at IS NULL
            RETURNING e.environment, e.transaction_id, e.app, e.account, e.entitlement, e.expires_at, e.audit_id
        )
        \(select(from: "told", at: "e.expires_at"))
        """
    }

    /// What ended by the clock is told unless another order gave it on from that instant: of a subscription that was over
    /// long before anybody heard of it, not every period has an end.
    ///
    /// - Parameters:
    ///   - rows: the name of those rows of `entitlements` that have ended, as `e`.
    ///   - time: when it is asked what other orders give.
    private static func select(from rows: SQL, at time: SQL) -> SQL {
        """
        SELECT e.environment, e.transaction_id, e.app, e.account,
            coalesce(array_agg(e.entitlement ORDER BY e.entitlement)
                FILTER (WHERE \(isOnlyByIt(at: time))), '{}') AS entitlements,
            coalesce(o.correlation_id, 'adjustment_' || max(e.audit_id)) AS correlation_id,
            (o.transaction - 'evidence')::text AS transaction,
            coalesce(\(SubscriptionStore.isPeriod) AND o.transaction_id IS NOT DISTINCT FROM s.transaction_id, false)
                AS is_current_period
        FROM \(rows) e LEFT JOIN orders o ON o.environment = e.environment AND o.transaction_id = e.transaction_id
        LEFT JOIN subscriptions s ON s.environment = o.environment
            AND s.original_transaction_id = o.original_transaction_id
        GROUP BY e.environment, e.transaction_id, e.app, e.account, o.environment, o.transaction_id, s.transaction_id
        ORDER BY e.account, e.environment, e.transaction_id
        """
    }
}
