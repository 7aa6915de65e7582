package import Foundation
package import Postgres
package import PurchaseModel

/// What the periods of subscriptions let accounts use, in the table `entitlements`.
extension EntitlementStore {
    /// Where a subscription's periods end.
    package struct Ends: Sendable {
        /// Which.
        package let lineage: LineageKey
        /// The order of the current period.
        package let transactionId: String
        /// Until when that one is good: its own end, or that of grace.
        package let accessUntil: Date

        /// Says where they end.
        package init(lineage: LineageKey, transactionId: String, accessUntil: Date) {
            self.lineage = lineage
            self.transactionId = transactionId
            self.accessUntil = accessUntil
        }
    }

    /// Has the entitlements of all periods end when they should, for every account that has them.
    ///
    /// The current period's end with access, the others' when Apple says that they did. Those of a period whose place
    /// another took (`Transaction.isSuperseded`) are taken back because `upgraded`, and given back should it
    /// turn out otherwise; what was taken back for another reason stays so. Only rows that are otherwise are written.
    /// An end that was told and now lies later is told again when it comes.
    ///
    /// - Returns: the orders whose place was taken just now.
    /// - Throws: `PostgresError`.
    package static func endPeriods(_ ends: [Ends], on connection: PostgresConnection) async throws -> [OrderKey] {
        guard !ends.isEmpty else { return [] }
        let written = try await connection.query(ending(ends)).map {
            (environment: StoreEnvironment, id: String, isSupersededNow: Bool) in
            (order: OrderKey(environment: environment, transactionId: id), isSupersededNow: isSupersededNow)
        }
        return Set(written.filter(\.isSupersededNow).map(\.order)).sorted()
    }

    /// What the order of a current period gives to one account: to the owner, or to one who shares the lineage.
    package struct Bearing: Sendable {
        /// Whose it is.
        package let account: Account
        /// What may be used because of the order as long as it is in force, sorted; not what a guardian's word froze.
        package let entitlements: [String]
        /// What of it nothing else gives to the account, and so is lost when the order is not in force.
        package let onlyByIt: [String]
    }

    /// What orders of current periods give to accounts; an order that gives nothing is left out.
    ///
    /// - Parameter now: what is in force is so by this time; nil for the database's clock.
    /// - Throws: `PostgresError`.
    package static func bearings(
        of orders: [OrderKey], at now: Date?, on connection: PostgresConnection
    ) async throws -> [OrderKey: [Bearing]] {
        guard !orders.isEmpty else { return [:] }
        let result = try await connection.query(selectBearings(of: orders, at: now))
        var bearings: [OrderKey: [Bearing]] = [:]
        for row in result.rows {
            let (environment, id, account, entitlements, onlyByIt) = try row.decode(
                (StoreEnvironment, String, Account, [String], [String]).self)
            bearings[OrderKey(environment: environment, transactionId: id), default: []].append(
                Bearing(account: account, entitlements: entitlements, onlyByIt: onlyByIt))
        }
        return bearings
    }

    private static func selectBearings(of orders: [OrderKey], at now: Date?) -> SQL {
        """
        SELECT e.environment, e.transaction_id, e.account,
            array_agg(e.entitlement ORDER BY e.entitlement) AS entitlements,
            coalesce(array_agg(e.entitlement ORDER BY e.entitlement) FILTER (WHERE \(isOnlyByIt(at: "\(now)"))), '{}')
                AS only_by_it
        FROM \(SQL.rows(of: orders)) AS asked (environment, transaction_id)
        JOIN entitlements e USING (environment, transaction_id)
        WHERE e.revoked_because IS DISTINCT FROM 'consent_rescinded'
        GROUP BY e.environment, e.transaction_id, e.account
        ORDER BY e.environment, e.transaction_id, e.account COLLATE "C"
        """
    }

    /// Whether no other order gives the account what a row `e` of `entitlements` does.
    ///
    /// - Parameter now: the parameter that has the time; null for the database's clock.
    static func isOnlyByIt(at now: SQL) -> SQL {
        """
        NOT EXISTS (
            SELECT FROM entitlements other
            WHERE (other.account, other.app, other.environment, other.entitlement)
                = (e.account, e.app, e.environment, e.entitlement) AND other.transaction_id <> e.transaction_id
                AND other.revoked_at IS NULL
                AND (other.expires_at IS NULL OR other.expires_at > coalesce(\(now)::timestamptz, now())))
        """
    }

    // What an upgrade does not take away any more, a guardian's word still may.
    private static let cause: SQL = """
        CASE WHEN e.revoked_because <> 'upgraded' THEN e.revoked_because
            WHEN due.is_superseded THEN 'upgraded'
            WHEN e.revoked_because IS NOT NULL AND EXISTS (
                SELECT FROM orders o WHERE (o.environment, o.transaction_id) = (e.environment, e.transaction_id)
                    AND \(ConsentStore.isWithdrawn)) THEN 'consent_rescinded' END
        """

    // Whether Apple says `upgraded` is in the kept transaction, and looked at only where the next period began before
    // this one ended, which few do.
    private static func ending(_ ends: [Ends]) -> SQL {
        """
        WITH periods AS (
            SELECT o.environment, o.transaction_id, o.product_id,
                CASE WHEN o.transaction_id = ends.transaction_id THEN ends.access_until
                    ELSE o.expires_date END AS ends_at,
                lead(o.product_id) OVER bought AS next_product_id,
                lead(o.purchase_date) OVER bought < o.expires_date AS is_overtaken
            FROM unnest(
                \(ends.map(\.lineage.environment)), \(ends.map(\.lineage.originalTransactionId)),
                \(ends.map(\.transactionId)), \(ends.map(\.accessUntil))
            ) AS ends (environment, original_transaction_id, transaction_id, access_until)
            JOIN orders o ON o.environment = ends.environment
                AND o.original_transaction_id = ends.original_transaction_id AND \(SubscriptionStore.isOwnedPeriod)
            WINDOW bought AS (
                PARTITION BY o.environment, o.original_transaction_id
                ORDER BY o.purchase_date, o.expires_date, o.transaction_id COLLATE "C")
        ), due AS (
            SELECT environment, transaction_id, ends_at,
                CASE WHEN is_overtaken IS NOT TRUE THEN false WHEN product_id <> next_product_id THEN true
                    ELSE (SELECT o.transaction -> 'upgraded' IS NOT DISTINCT FROM 'true'::jsonb FROM orders o
                        WHERE o.environment = periods.environment AND o.transaction_id = periods.transaction_id)
                END AS is_superseded
            FROM periods
        )
        UPDATE entitlements e SET expires_at = due.ends_at,
            end_told_at = CASE WHEN due.ends_at <= e.expires_at THEN e.end_told_at END,
            revoked_at = CASE WHEN \(cause) IS NOT NULL THEN coalesce(e.revoked_at, now()) END,
            revoked_because = \(cause)
        FROM due
        WHERE e.environment = due.environment AND e.transaction_id = due.transaction_id
            AND (e.expires_at IS DISTINCT FROM due.ends_at
                OR (e.revoked_at IS NULL AND due.is_superseded)
                OR (e.revoked_because = 'upgraded' AND NOT due.is_superseded))
        RETURNING e.environment, e.transaction_id,
            e.revoked_because IS NOT DISTINCT FROM 'upgraded' AND e.revoked_at = now() AS is_superseded_now
        """
    }
}
