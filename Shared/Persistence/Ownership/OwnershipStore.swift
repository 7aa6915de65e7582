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
        let found = try await pool.query(
            """
            SELECT environment, original_transaction_id, app, account, cause, ARRAY(
                SELECT account FROM lineage_shares s
                WHERE (s.environment, s.original_transaction_id) = (l.environment, l.original_transaction_id)
                ORDER BY account LIMIT $3) AS shared_with
            FROM lineages l
            WHERE environment = $1 AND original_transaction_id IN (
                $2, (
                    SELECT lineage_id FROM lineage_members
                    WHERE (environment, original_transaction_id) = ($1, $2)), (
                    SELECT o.original_transaction_id FROM order_transactions i
                    JOIN orders o ON (o.environment, o.transaction_id) = (i.environment, i.order_transaction_id)
                    WHERE i.environment = $1 AND i.transaction_id = $2))
            ORDER BY original_transaction_id = $2 LIMIT 1
            """, [.text(environment.rawValue), .text(transactionId), .int8(Int64(Limit.rows))])
        guard let row = found.rows.first else { return nil }
        let original: String = try row.decode("original_transaction_id")
        return Lineage(
            environment: try row.decode("environment"), originalTransactionId: original, app: try row.decode("app"),
            account: try row.decodeIfPresent("account"), cause: try row.decodeIfPresent("cause"),
            sharedWith: try row.decode("shared_with"), history: try await history(environment, original))
    }

    private func history(_ environment: StoreEnvironment, _ original: String) async throws -> [Binding] {
        let result = try await pool.query(
            """
            SELECT from_account, to_account, cause, policy, submission_id, audit_id,
                to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS created_at
            FROM binding_history
            WHERE environment = $1 AND original_transaction_id = ANY(\(LineageStore.originals))
            ORDER BY id LIMIT $3
            """, [.text(environment.rawValue), .text(original), .int8(Int64(Limit.rows))])
        return try result.rows.map { row in
            Binding(
                from: try row.decodeIfPresent("from_account"), to: try row.decode("to_account"),
                cause: try row.decode("cause"), policy: try row.decodeIfPresent("policy"),
                submissionId: try row.decodeIfPresent("submission_id"), auditId: try row.decodeIfPresent("audit_id"),
                createdAt: try row.decode("created_at"))
        }
    }

    /// What has become of a claim by now.
    ///
    /// - Returns: nil when no claim has this id.
    /// - Throws: `PostgresError`.
    package func outcome(ofClaim auditId: Int64) async throws -> ClaimOutcome? {
        let result = try await pool.query(
            """
            SELECT c.due_at IS NOT NULL AS is_pending, o.state, o.reason, o.account
            FROM operator_claims c JOIN orders o USING (environment, transaction_id) WHERE c.audit_id = $1
            """, [.int8(auditId)])
        return try result.rows.first.map { row in
            ClaimOutcome(
                isPending: try row.decode("is_pending"), state: try row.orderState(),
                reason: try row.decodeIfPresent("reason"), account: try row.decodeIfPresent("account"))
        }
    }
}
