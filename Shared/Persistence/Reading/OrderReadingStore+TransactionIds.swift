package import Foundation
import Postgres
import PurchaseModel

/// Apple's transaction ids of an order: all of them find it, and one is its own.
extension OrderReadingStore {
    /// One of Apple's transaction ids of an order's purchase.
    package struct TransactionId: Sendable, Hashable {
        /// Apple's id.
        package let text: String
        /// The submission that told of it first.
        package let submissionId: String
        /// When it was recorded.
        package let createdAt: Date
    }

    /// Finds the order's own id by any of its ids.
    static func ownId(_ anyKey: OrderKey) -> SQL {
        """
        (SELECT order_transaction_id FROM order_transactions
            WHERE environment = \(anyKey.environment) AND transaction_id = \(anyKey.transactionId))
        """
    }

    /// The ids of an order, the own one first, the others sorted.
    ///
    /// - Parameter key: the order's own.
    static func transactionIds(_ key: OrderKey, on connection: PostgresConnection) async throws -> [TransactionId] {
        // Two indexes: the primary key has the own id, a smaller one the few others.
        let result = try await connection.query(
            """
            SELECT transaction_id AS text, submission_id, created_at FROM (
                SELECT transaction_id, submission_id, created_at FROM order_transactions
                WHERE environment = \(key.environment) AND transaction_id = \(key.transactionId)
                UNION ALL
                SELECT transaction_id, submission_id, created_at FROM order_transactions
                WHERE environment = \(key.environment) AND order_transaction_id = \(key.transactionId) AND transaction_id <> order_transaction_id) ids
            ORDER BY transaction_id <> \(key.transactionId), transaction_id COLLATE "C" LIMIT \(rowsMaximum)
            """)
        return try result.map(TransactionId.init)
    }
}
