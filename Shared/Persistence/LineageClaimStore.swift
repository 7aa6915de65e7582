public import Foundation
public import Postgres
public import PurchaseModel

/// The table `lineage_claims`, and what else decides whether a lineage goes to an account that claims it.
public enum LineageClaimStore {
    /// A submission that claimed a lineage for its account.
    public struct Claim: Sendable, Hashable {
        /// The lineage.
        public let lineage: LineageKey
        /// The submission.
        public let submissionId: String
        /// Who posted it.
        public let account: String
        /// Why the account got nothing; nil where it has, or had, the lineage.
        public let refused: ReasonCode?

        /// Says who claimed what.
        public init(lineage: LineageKey, submissionId: String, account: String, refused: ReasonCode?) {
            self.lineage = lineage
            self.submissionId = submissionId
            self.account = account
            self.refused = refused
        }
    }

    /// What is known of a lineage that several accounts may claim.
    public struct Record: Sendable, Hashable {
        /// The submissions that were heard before, and not refused.
        public var heard: Set<String> = []
        /// When a restore policy moved it.
        public var transfers: [Date] = []
        /// Whether an entitlement of its owner is in force.
        public var isInUse = false
        /// Its orders that are nobody's and have a token, parked or taken back: no possession gets past that.
        public var doubted: Set<String> = []

        /// Nothing is known.
        public init() {}
    }

    /// What was recorded of lineages, locked before by the caller's transaction.
    ///
    /// - Parameters:
    ///   - submissions: those that claim the lineages now.
    ///   - now: when entitlements are in force.
    /// - Throws: `PostgresError`.
    public static func records(
        of lineages: [LineageKey], submissions: Set<String>, now: Date, on connection: PostgresConnection
    ) async throws -> [LineageKey: Record] {
        guard !lineages.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT asked.*,
                ARRAY(SELECT c.submission_id FROM lineage_claims c
                    WHERE c.environment = asked.environment
                        AND c.original_transaction_id = asked.original_transaction_id
                        AND c.submission_id = ANY($3) AND c.refused IS NULL) AS heard,
                ARRAY(SELECT h.created_at FROM binding_history h
                    WHERE h.environment = asked.environment
                        AND h.original_transaction_id = asked.original_transaction_id
                        AND h.cause = 'transfer' ORDER BY h.created_at) AS transfers,
                EXISTS(SELECT FROM orders o JOIN entitlements e
                        ON e.environment = o.environment AND e.transaction_id = o.transaction_id
                            AND e.account = o.account AND e.app = o.app
                    WHERE o.environment = asked.environment
                        AND o.original_transaction_id = asked.original_transaction_id
                        AND e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > $4)) AS is_in_use,
                ARRAY(SELECT o.transaction_id FROM orders o
                    WHERE o.environment = asked.environment
                        AND o.original_transaction_id = asked.original_transaction_id
                        AND o.account IS NULL AND o.app_account_token IS NOT NULL) AS doubted
            FROM unnest($1::text[], $2::text[]) AS asked (environment, original_transaction_id)
            """,
            [
                .textArray(lineages.map(\.environment.rawValue)), .textArray(lineages.map(\.originalTransactionId)),
                .textArray(submissions.sorted()), .timestamptz(now),
            ])
        var records: [LineageKey: Record] = [:]
        for row in result.rows {
            guard let key = try LineageStore.key(row) else { continue }
            var record = Record()
            record.heard = Set(try row.decode("heard", as: [String].self))
            record.transfers = try row.decode("transfers", as: [Date].self)
            record.isInUse = try row.decode("is_in_use")
            record.doubted = Set(try row.decode("doubted", as: [String].self))
            records[key] = record
        }
        return records
    }

    /// Remembers who claimed what; a refused claim may become a better one, never the other way.
    ///
    /// - Throws: `PostgresError`.
    public static func note(_ claims: [Claim], on connection: PostgresConnection) async throws {
        // Of the same submission's claims the last counts: the first may have been refused, and heard again.
        let last = Dictionary(claims.map { (Place(lineage: $0.lineage, submissionId: $0.submissionId), $0) }) { $1 }
        guard !last.isEmpty else { return }
        let list = Array(last.values)
        _ = try await connection.query(
            """
            INSERT INTO lineage_claims (environment, original_transaction_id, submission_id, account, refused)
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
            ON CONFLICT (environment, original_transaction_id, submission_id) DO UPDATE SET refused = excluded.refused
            WHERE lineage_claims.refused IS NOT NULL AND lineage_claims.refused IS DISTINCT FROM excluded.refused
            """,
            [
                .textArray(list.map(\.lineage.environment.rawValue)),
                .textArray(list.map(\.lineage.originalTransactionId)), .textArray(list.map(\.submissionId)),
                .textArray(list.map(\.account)), .textArray(list.map(\.refused?.rawValue)),
            ])
    }

    private struct Place: Hashable {
        let lineage: LineageKey
        let submissionId: String
    }
}
