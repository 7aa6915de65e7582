package import Foundation
import Postgres
import PurchaseModel

/// Whose an order came to be and by what, where its subscription stands, and what its price brings.
extension OrderReadingStore {
    /// One line of a lineage's history of owners.
    package struct Binding: Sendable {
        /// Who had it; nil where nobody did.
        package let from: String?
        /// Who has it since, or may use it, too.
        package let to: String
        /// Why, see `BindingChange.Cause`.
        package let cause: String
        /// The restore policy, where one decided.
        package let policy: String?
        /// The submission that brought it about.
        package let submissionId: String?
        /// When.
        package let createdAt: Date
    }

    /// An operator's word whose the order is.
    package struct OperatorClaim: Sendable {
        /// The account.
        package let account: String
        /// Who said it.
        package let actor: String
        /// Why, in the operator's words.
        package let reason: String
        /// When it was said.
        package let createdAt: Date
        /// Whether fulfillment has still to take it up.
        package let isPending: Bool
    }

    /// What the price brings, as estimated; in milliunits of the order's currency.
    package struct Proceeds: Sendable {
        /// The price.
        package let gross: Int64
        /// The customer's tax within it.
        package let tax: Int64
        /// Apple's commission.
        package let commission: Int64
        /// What remains.
        package let estimated: Int64
        /// What of that a refund took.
        package let refunded: Int64
        /// Whether the storefront's tax is known; else none was taken off.
        package let isTaxKnown: Bool
    }

    static func bindings(
        _ key: OrderKey, _ app: String, _ originalTransactionId: String, on connection: PostgresConnection
    ) async throws -> [Binding] {
        let result = try await connection.query(
            """
            SELECT from_account AS "from", to_account AS "to", cause, policy, submission_id, created_at FROM binding_history
            WHERE environment = \(key.environment) AND app = \(app) AND original_transaction_id
                = ANY(\(LineageStore.originals(of: originalTransactionId, in: key.environment)))
            ORDER BY id LIMIT \(rowsMaximum)
            """)
        return try result.map(Binding.init)
    }

    static func claims(_ key: OrderKey, on connection: PostgresConnection) async throws -> [OperatorClaim] {
        let result = try await connection.query(
            """
            SELECT c.account, a.actor, a.reason, c.created_at, c.due_at IS NOT NULL AS is_pending
            FROM operator_claims c JOIN audit_log a ON a.id = c.audit_id
            WHERE c.environment = \(key.environment) AND c.transaction_id = \(key.transactionId) ORDER BY c.audit_id LIMIT \(rowsMaximum)
            """)
        return try result.map(OperatorClaim.init)
    }

    static func subscription(
        _ key: OrderKey, _ app: String, _ originalTransactionId: String, on connection: PostgresConnection
    ) async throws -> AccountStore.Subscription? {
        let result = try await connection.query(
            """
            SELECT standing, false AS is_shared, changed_at FROM subscriptions
            WHERE environment = \(key.environment) AND original_transaction_id = \(originalTransactionId) AND app = \(app)
            """)
        return try result.map(AccountStore.Subscription.init).first
    }

    static func proceeds(
        _ key: OrderKey, _ app: String, on connection: PostgresConnection
    ) async throws -> Proceeds? {
        // The view knows of production only: nobody pays in the sandbox.
        guard key.environment == .production else { return nil }
        let result = try await connection.query(
            """
            SELECT gross, tax, commission, estimated_proceeds AS estimated, coalesce(refunded_proceeds, 0) AS refunded,
                tax_known AS is_tax_known
            FROM order_proceeds
            WHERE transaction_id = \(key.transactionId) AND app = \(app) AND estimated_proceeds IS NOT NULL
            """)
        return try result.map(Proceeds.init).first
    }
}
