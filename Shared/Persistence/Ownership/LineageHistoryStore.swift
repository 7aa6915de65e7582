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
        let result = try await connection.query(
            historyStatement,
            [
                .textArray(lineages.map(\.environment.rawValue)), .textArray(lineages.map(\.originalTransactionId)),
                .textArray(accounts.map(\.text).sorted()), .timestamptz(now),
            ])
        var histories: [LineageKey: LineageHistory] = [:]
        for row in result.rows {
            let key = try row.lineageKey()
            var history = LineageHistory()
            let ids: [String] = try row.decode("claim_ids")
            let dates: [Date] = try row.decode("claim_dates")
            let claimants = try row.decode("claim_accounts", as: [String].self).map(Account.init(stored:))
            guard ids.count == dates.count, ids.count == claimants.count else {
                throw PostgresError(code: .decodingFailed, reason: "lineage_claims gave columns of different lengths")
            }
            for index in ids.indices {
                history.appliedClaims.insert(
                    LineageClaim.Identity(
                        account: claimants[index], transactionId: ids[index],
                        signedDate: dates[index]))
            }
            history.transfers = try row.decode("transfers")
            history.isInUse = try row.decode("is_in_use")
            histories[key] = history
        }
        return histories
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
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[])
            ON CONFLICT (environment, original_transaction_id, account, transaction_id, signed_date)
                DO UPDATE SET refused = excluded.refused
                WHERE lineage_claims.refused IS NOT NULL AND lineage_claims.refused IS DISTINCT FROM excluded.refused
            """,
            [
                .textArray(list.map(\.lineage.environment.rawValue)),
                .textArray(list.map(\.lineage.originalTransactionId)), .textArray(list.map(\.account.text)),
                .textArray(list.map(\.transactionId)), .timestamptzArray(list.map(\.signedDate)),
                .textArray(list.map(\.submissionId)), .textArray(list.map(\.refused?.rawValue)),
            ])
    }

    private struct Place: Hashable {
        let lineage: LineageKey
        let claim: LineageClaim.Identity
    }

    private static let historyStatement = """
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
                    AND e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > $4)) AS is_in_use
        FROM unnest($1::text[], $2::text[]) AS asked (environment, original_transaction_id)
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(c.transaction_id ORDER BY c.transaction_id, c.signed_date, c.account), '{}')
                    AS claim_ids,
                coalesce(array_agg(c.signed_date ORDER BY c.transaction_id, c.signed_date, c.account), '{}')
                    AS claim_dates,
                coalesce(array_agg(c.account ORDER BY c.transaction_id, c.signed_date, c.account), '{}')
                    AS claim_accounts
            FROM lineage_claims c
            WHERE c.environment = asked.environment AND c.original_transaction_id = asked.original_transaction_id
                AND c.account = ANY($3) AND c.refused IS NULL
        ) claims
        """
}
