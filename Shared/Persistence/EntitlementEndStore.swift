public import Foundation
import Messages
public import Postgres
public import PurchaseModel

/// The column `entitlements.end_told_at`: which ends that came by the clock are told.
public enum EntitlementEndStore {
    /// What one order gave to one account, and which has ended.
    public struct Ended: Sendable {
        /// The order.
        public let key: OrderKey
        /// The app's bundle id.
        public let app: String
        /// The account.
        public let account: String
        /// What the account may use no more because of this order, sorted.
        public let entitlements: [String]
        /// Of the order.
        public let correlationId: String
        /// What was bought, without its evidence.
        public let transaction: PurchasedTransaction
        /// Whether it is a period of a subscription, of which the subscription's own events tell.
        public let isSubscriptionPeriod: Bool
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
    public static func take(at now: Date?, limit: Int, on connection: PostgresConnection) async throws -> [Ended] {
        let result = try await connection.query(
            takeStatement, [.timestamptz(now), .int8(Int64(limit))])
        return try result.rows.compactMap { row in
            guard let key = try OrderStore.key(row) else { return nil }
            let transaction: String = try row.decode("transaction")
            return Ended(
                key: key, app: try row.decode("app"), account: try row.decode("account"),
                entitlements: try row.decode("entitlements"), correlationId: try row.decode("correlation_id"),
                transaction: try MessageCoding.decode(PurchasedTransaction.self, from: Array(transaction.utf8)),
                isSubscriptionPeriod: try row.decode("is_period"))
        }
    }

    private static let takeStatement = """
        WITH ended AS (
            SELECT environment, app, account, transaction_id FROM entitlements e
            WHERE expires_at <= coalesce($1, now()) AND end_told_at IS NULL AND revoked_at IS NULL
                AND entitlement = (
                    SELECT min(s.entitlement) FROM entitlements s
                    WHERE s.environment = e.environment AND s.transaction_id = e.transaction_id AND s.app = e.app
                        AND s.account = e.account)
            ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ), told AS (
            UPDATE entitlements e SET end_told_at = now() FROM ended
            WHERE e.environment = ended.environment AND e.transaction_id = ended.transaction_id
                AND e.app = ended.app AND e.account = ended.account AND e.revoked_at IS NULL
            RETURNING e.environment, e.transaction_id, e.app, e.account, e.entitlement
        )
        SELECT told.environment, told.transaction_id, told.app, told.account, o.correlation_id,
            array_agg(told.entitlement ORDER BY told.entitlement) AS entitlements,
            (o.transaction - 'evidence')::text AS transaction, \(SubscriptionStore.isPeriod) AS is_period
        FROM told JOIN orders o ON o.environment = told.environment AND o.transaction_id = told.transaction_id
        GROUP BY told.environment, told.transaction_id, told.app, told.account, o.environment, o.transaction_id
        ORDER BY told.account, told.environment, told.transaction_id
        """
}
