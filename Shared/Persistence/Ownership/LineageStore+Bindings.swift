package import Postgres
package import PurchaseModel

/// The table `binding_history`: every binding that ever was; append-only.
extension LineageStore {
    /// One row.
    package struct Binding: Sendable, Hashable {
        /// The lineage; of a consumable the order's own id stands for it.
        package let lineage: LineageKey
        /// The app's bundle id.
        package let app: String
        /// From whom, to whom, and why.
        package let change: BindingChange
        /// The submission that led to it; nil where none did.
        package let submissionId: String?
        /// The operator's row in `audit_log`; nil where no operator said it.
        package let auditId: Int64?

        /// Makes a row.
        package init(
            lineage: LineageKey, app: String, change: BindingChange, submissionId: String?, auditId: Int64? = nil
        ) {
            self.lineage = lineage
            self.app = app
            self.change = change
            self.submissionId = submissionId
            self.auditId = auditId
        }
    }

    /// Writes rows in the order they came, in the transaction that locked the lineages.
    ///
    /// A transfer, or a share, that is there for its lineage and submission breaks
    /// `binding_history_once_per_submission`, and with it the whole transaction.
    ///
    /// - Throws: `PostgresError`.
    package static func append(_ bindings: [Binding], on connection: PostgresConnection) async throws {
        guard !bindings.isEmpty else { return }
        _ = try await connection.query(
            """
            INSERT INTO binding_history (environment, original_transaction_id, app, from_account, to_account, cause,
                policy, submission_id, audit_id)
            SELECT environment, original_transaction_id, app, from_account, to_account, cause, policy, submission_id,
                audit_id
            FROM unnest(\(bindings.map(\.lineage.environment)), \(bindings.map(\.lineage.originalTransactionId)),
                \(bindings.map(\.app)), \(bindings.map(\.change.from)), \(bindings.map(\.change.to)),
                \(bindings.map(\.change.cause)), \(bindings.map(\.change.policy)), \(bindings.map(\.submissionId)),
                \(bindings.map(\.auditId))) WITH ORDINALITY AS new (environment, original_transaction_id, app,
                from_account, to_account, cause, policy, submission_id, audit_id, place)
            ORDER BY place
            """)
    }
}
