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

    /// Finds the order's own id by any of its ids; `$1` is the environment, `$2` the id.
    static let ownId = """
        (SELECT order_transaction_id FROM order_transactions WHERE environment = $1 AND transaction_id = $2)
        """

    /// The ids of an order, the own one first, the others sorted.
    ///
    /// - Parameter key: the order's own.
    static func transactionIds(_ key: OrderKey, on connection: PostgresConnection) async throws -> [TransactionId] {
        // Two indexes: the primary key has the own id, a smaller one the few others.
        let result = try await connection.query(
            """
            SELECT transaction_id, submission_id, created_at FROM (
                SELECT transaction_id, submission_id, created_at FROM order_transactions
                WHERE environment = $1 AND transaction_id = $2
                UNION ALL
                SELECT transaction_id, submission_id, created_at FROM order_transactions
                WHERE environment = $1 AND order_transaction_id = $2 AND transaction_id <> order_transaction_id) ids
            ORDER BY transaction_id <> $2, transaction_id COLLATE "C" LIMIT $3
            """, parameters(key) + [.int8(Int64(rowsMaximum))])
        return try result.rows.map { row in
            TransactionId(
                text: try row.decode("transaction_id"), submissionId: try row.decode("submission_id"),
                createdAt: try row.decode("created_at"))
        }
    }
}
