package import Postgres
package import PurchaseModel

/// What migration 6 found: orders that were one purchase, and orders that contradict each other.
package struct MergeReport: Sendable {
    /// The orders that took others in, and how many they took in.
    package let purchases: Int64
    package let mergedOrders: Int64
    /// Contradictions that nobody has resolved, the oldest first, as many as were asked for.
    package let conflicts: [Conflict]
    /// How many there are.
    package let conflictCount: Int64

    /// Two orders that share a key and are no one purchase.
    package struct Conflict: Sendable {
        package let order: OrderKey
        /// The own id of the order that it contradicts.
        package let otherId: String
        package let cause: PurchaseConflict
    }

    /// Reads it.
    ///
    /// - Parameter conflictsMaximum: the most contradictions to name.
    /// - Throws: `PostgresError`.
    package static func read(conflictsMaximum: Int, pool: PostgresPool) async throws -> MergeReport {
        let counts = try await pool.query(
            """
            SELECT count(*) AS merged, count(DISTINCT (environment, order_transaction_id)) AS purchases,
                (SELECT count(*) FROM purchase_conflicts WHERE resolved_at IS NULL) AS conflicts
            FROM merged_orders
            """)
        let conflicts = try await pool.query(
            """
            SELECT environment, transaction_id, order_transaction_id, cause FROM purchase_conflicts
            WHERE resolved_at IS NULL ORDER BY id LIMIT $1
            """, [.int8(Int64(conflictsMaximum))])
        return MergeReport(
            purchases: try counts.rows.first?.decode("purchases") ?? 0,
            mergedOrders: try counts.rows.first?.decode("merged") ?? 0,
            conflicts: try conflicts.rows.map { row in
                Conflict(
                    order: try row.orderKey(), otherId: try row.decode("order_transaction_id"),
                    cause: try row.known("cause"))
            },
            conflictCount: try counts.rows.first?.decode("conflicts") ?? 0)
    }
}
