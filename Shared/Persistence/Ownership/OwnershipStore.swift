package import Postgres
package import PurchaseModel

/// Whose a lineage is and ever was, and what became of an operator's claim: what a person at the tool asks.
package struct OwnershipStore: Sendable {
    /// What one answer holds.
    package enum Limit {
        /// Lines of a history and accounts that share: far above what restore policies let come about.
        package static let rows = 10_000
    }

    /// A lineage and its owners.
    package struct Lineage: Codable, Sendable, Hashable {
        /// The environment.
        package let environment: String
        /// The id of its first transaction.
        package let originalTransactionId: String
        /// The app's bundle id.
        package let app: String
        /// Whose it is; nil while nobody's.
        package let account: String?
        /// How it came to that account.
        package let cause: String?
        /// Further accounts that may use it, sorted.
        package let sharedWith: [String]
        /// Every change of owners, oldest first.
        package let history: [Binding]
    }

    /// One line of `binding_history`.
    package struct Binding: Codable, Sendable, Hashable {
        /// Who had it; nil where nobody did.
        package let from: String?
        /// Who has it since, or may use it, too.
        package let to: String
        /// `token`, `possession`, `purchase`, `transfer`, `share`, `operator`.
        package let cause: String
        /// The restore policy, where one decided.
        package let policy: String?
        /// The submission that brought it about.
        package let submissionId: String?
        /// The line in `audit_log`, where a person did.
        package let auditId: Int64?
        /// When, as RFC 3339 in UTC.
        package let createdAt: String
    }

    /// Where an operator's claim stands.
    package struct ClaimOutcome: Sendable, Hashable {
        /// Whether fulfillment has still to take it up.
        package let isPending: Bool
        /// How the order stands.
        package let state: OrderState
        /// Why it is not granted.
        package let reason: String?
        /// Whose it is.
        package let account: String?
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The lineage of a transaction: by any id of an order, or by the lineage's own.
    ///
    /// - Returns: nil where neither is known, and for consumables, which have none.
    /// - Throws: `PostgresError`.
    package func lineage(environment: StoreEnvironment, transactionId: String) async throws -> Lineage? {
        let id = SQL.once(transactionId)
        let found = try await pool.query(
            """
            SELECT original_transaction_id, app, account, cause, ARRAY(
                SELECT account FROM lineage_shares s
                WHERE (s.environment, s.original_transaction_id) = (l.environment, l.original_transaction_id)
                ORDER BY account LIMIT \(Limit.rows)) AS shared_with
            FROM lineages l
            WHERE environment = \(environment) AND original_transaction_id IN (
                \(id), (
                    SELECT lineage_id FROM lineage_members
                    WHERE (environment, original_transaction_id) = (\(environment), \(id))), (
                    SELECT o.original_transaction_id FROM order_transactions i
                    JOIN orders o ON (o.environment, o.transaction_id) = (i.environment, i.order_transaction_id)
                    WHERE i.environment = \(environment) AND i.transaction_id = \(id)))
            ORDER BY original_transaction_id = \(id) LIMIT 1
            """)
        let rows = try found.map {
            (originalTransactionId: String, app: String, account: String?, cause: String?, sharedWith: [String]) in
            (originalTransactionId, app, account, cause, sharedWith)
        }
        guard let (original, app, account, cause, sharedWith) = rows.first else { return nil }
        return Lineage(
            environment: environment.rawValue, originalTransactionId: original, app: app, account: account,
            cause: cause,
            sharedWith: sharedWith, history: try await history(environment, original))
    }

    private func history(_ environment: StoreEnvironment, _ original: String) async throws -> [Binding] {
        let result = try await pool.query(
            """
            SELECT from_account AS "from", to_account AS "to", cause, policy, submission_id, audit_id,
                to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS created_at
            FROM binding_history
            WHERE environment = \(environment)
                AND original_transaction_id = ANY(\(LineageStore.originals(of: original, in: environment)))
            ORDER BY id LIMIT \(Limit.rows)
            """)
        return try result.map(Binding.init)
    }

    /// What has become of a claim by now.
    ///
    /// - Returns: nil when no claim has this id.
    /// - Throws: `PostgresError`.
    package func outcome(ofClaim auditId: Int64) async throws -> ClaimOutcome? {
        let result = try await pool.query(
            """
            SELECT c.due_at IS NOT NULL AS is_pending, o.state, o.reason, o.account
            FROM operator_claims c JOIN orders o USING (environment, transaction_id) WHERE c.audit_id = \(auditId)
            """)
        return try result.map(ClaimOutcome.init).first
    }
}
