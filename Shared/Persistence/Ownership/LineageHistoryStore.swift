package import Foundation
package import Postgres
package import PurchaseModel

/// The table `lineage_claims`, and what else decides whether a lineage goes to an account that claims it.
package enum LineageHistoryStore {
    /// What is known of lineages that the caller's transaction holds locked, but for their orders.
    ///
    /// - Parameters:
    ///   - accounts: those that claim the lineages now.
    ///   - now: when entitlements are in force.
    /// - Throws: `PostgresError`.
    package static func histories(
        of lineages: [LineageKey], claimedBy accounts: Set<Account>, now: Date, on connection: PostgresConnection
    ) async throws -> [LineageKey: LineageHistory] {
        guard !lineages.isEmpty else { return [:] }
        let result = try await connection.query(asking(lineages, claimedBy: accounts.sorted(), now: now))
        let histories = try result.map {
            (
                environment: StoreEnvironment, originalTransactionId: String, claimIds: [String], claimDates: [Date],
                claimAccounts: [Account], transfers: [Date], isInUse: Bool
            ) in
            guard claimIds.count == claimDates.count, claimIds.count == claimAccounts.count else {
                throw PostgresError(code: .decodingFailed, reason: "lineage_claims gave columns of different lengths")
            }
            var history = LineageHistory()
            for index in claimIds.indices {
                history.appliedClaims.insert(
                    LineageClaim.Identity(
                        account: claimAccounts[index], transactionId: claimIds[index], signedDate: claimDates[index]))
            }
            history.transfers = transfers
            history.isInUse = isInUse
            return (LineageKey(environment: environment, originalTransactionId: originalTransactionId), history)
        }
        return Dictionary(histories) { $1 }
    }

    /// Remembers who claimed what; a refused claim may become a better one, never the other way.
    ///
    /// - Throws: `PostgresError`.
    package static func note(_ claims: [LineageClaim], on connection: PostgresConnection) async throws {
        // Of the same claims the last counts: the first may have been refused, and heard again.
        let last = Dictionary(claims.map { (Place(lineage: $0.lineage, claim: $0.identity), $0) }) { $1 }
        guard !last.isEmpty else { return }
        let list = Array(last.values)
        _ = try await connection.query(
            """
            INSERT INTO lineage_claims (environment, original_transaction_id, account, transaction_id, signed_date,
                submission_id, refused)
            SELECT * FROM unnest(\(list.map(\.lineage.environment)), \(list.map(\.lineage.originalTransactionId)),
                \(list.map(\.account)), \(list.map(\.transactionId)), \(list.map(\.signedDate)),
                \(list.map(\.submissionId)), \(list.map(\.refused)))
            ON CONFLICT (environment, original_transaction_id, account, transaction_id, signed_date)
                DO UPDATE SET refused = excluded.refused
                WHERE lineage_claims.refused IS NOT NULL AND lineage_claims.refused IS DISTINCT FROM excluded.refused
            """)
    }

    private struct Place: Hashable {
        let lineage: LineageKey
        let claim: LineageClaim.Identity
    }

    private static func asking(_ lineages: [LineageKey], claimedBy accounts: [Account], now: Date) -> SQL {
        """
        SELECT asked.*, claims.*,
            ARRAY(SELECT h.created_at FROM (
                    SELECT asked.original_transaction_id AS id
                    UNION ALL SELECT m.original_transaction_id FROM lineage_members m
                    WHERE (m.environment, m.lineage_id) = (asked.environment, asked.original_transaction_id)) ids
                JOIN binding_history h ON h.environment = asked.environment AND h.original_transaction_id = ids.id
                WHERE h.cause = 'transfer' ORDER BY h.created_at) AS transfers,
            EXISTS(SELECT FROM orders o JOIN entitlements e
                    ON e.environment = o.environment AND e.transaction_id = o.transaction_id
                        AND e.account = o.account AND e.app = o.app
                WHERE o.environment = asked.environment AND o.original_transaction_id = asked.original_transaction_id
                    AND e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > \(now))) AS is_in_use
        FROM \(SQL.rows(of: lineages)) AS asked (environment, original_transaction_id)
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(c.transaction_id ORDER BY c.transaction_id, c.signed_date, c.account), '{}')
                    AS claim_ids,
                coalesce(array_agg(c.signed_date ORDER BY c.transaction_id, c.signed_date, c.account), '{}')
                    AS claim_dates,
                coalesce(array_agg(c.account ORDER BY c.transaction_id, c.signed_date, c.account), '{}')
                    AS claim_accounts
            FROM lineage_claims c
            WHERE c.environment = asked.environment AND c.original_transaction_id = asked.original_transaction_id
                AND c.account = ANY(\(accounts)) AND c.refused IS NULL
        ) claims
        """
    }
}
