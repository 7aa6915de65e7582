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
            SELECT from_account, to_account, cause, policy, submission_id, created_at FROM binding_history
            WHERE environment = $1 AND original_transaction_id = ANY(\(LineageStore.originals)) AND app = $3
            ORDER BY id LIMIT $4
            """,
            [
                .text(key.environment.rawValue), .text(originalTransactionId), .text(app), .int8(Int64(rowsMaximum)),
            ])
        return try result.rows.map { row in
            Binding(
                from: try row.decodeIfPresent("from_account"), to: try row.decode("to_account"),
                cause: try row.decode("cause"), policy: try row.decodeIfPresent("policy"),
                submissionId: try row.decodeIfPresent("submission_id"), createdAt: try row.decode("created_at"))
        }
    }

    static func claims(_ key: OrderKey, on connection: PostgresConnection) async throws -> [OperatorClaim] {
        let result = try await connection.query(
            """
            SELECT c.account, a.actor, a.reason, c.created_at, c.due_at IS NOT NULL AS is_pending
            FROM operator_claims c JOIN audit_log a ON a.id = c.audit_id
            WHERE c.environment = $1 AND c.transaction_id = $2 ORDER BY c.audit_id LIMIT $3
            """, parameters(key) + [.int8(Int64(rowsMaximum))])
        return try result.rows.map { row in
            OperatorClaim(
                account: try row.decode("account"), actor: try row.decode("actor"), reason: try row.decode("reason"),
                createdAt: try row.decode("created_at"), isPending: try row.decode("is_pending"))
        }
    }

    static func subscription(
        _ key: OrderKey, _ app: String, _ originalTransactionId: String, on connection: PostgresConnection
    ) async throws -> AccountStore.Subscription? {
        let result = try await connection.query(
            """
            SELECT standing, false AS is_shared, changed_at FROM subscriptions
            WHERE environment = $1 AND original_transaction_id = $2 AND app = $3
            """, [.text(key.environment.rawValue), .text(originalTransactionId), .text(app)])
        return try result.rows.first.map(AccountStore.Subscription.init)
    }

    static func proceeds(
        _ key: OrderKey, _ app: String, on connection: PostgresConnection
    ) async throws -> Proceeds? {
        // The view knows of production only: nobody pays in the sandbox.
        guard key.environment == .production else { return nil }
        let result = try await connection.query(
            """
            SELECT gross, tax, commission, estimated_proceeds, refunded_proceeds, tax_known FROM order_proceeds
            WHERE transaction_id = $1 AND app = $2 AND estimated_proceeds IS NOT NULL
            """, [.text(key.transactionId), .text(app)])
        return try result.rows.first.map { row in
            Proceeds(
                gross: try row.decode("gross"), tax: try row.decode("tax"), commission: try row.decode("commission"),
                estimated: try row.decode("estimated_proceeds"),
                refunded: try row.decodeIfPresent("refunded_proceeds") ?? 0, isTaxKnown: try row.decode("tax_known"))
        }
    }
}
