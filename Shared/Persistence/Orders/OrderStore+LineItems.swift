import Messages
package import Postgres
package import PurchaseModel

/// Locks of line items: one period under two original ids, in two batches at the same moment, is still one order.
///
/// The lineages of such batches are two, so that no other lock keeps them apart, and a unique index cannot: a family member's
/// copy may have the payer's line item, and Apple may say later that it was paid for.
extension OrderStore {
    private enum LineItemLock {
        /// The first number of the advisory lock of all line items: shared by who locks some, alone for who locks many.
        static let all: Int32 = 0x4C_49_4E_45
        /// The first number of those of single line items; the second is a hash.
        static let each: Int32 = 0x4C_49_4E_46
        /// The most that one transaction locks singly: PostgreSQL has room for some thousands in all
        /// (`max_locks_per_transaction`).
        static let singlyMaximum = 200
    }

    /// Locks the line items of periods until the transaction of the database ends; after lineages, before orders are matched.
    ///
    /// - Throws: `PostgresError`.
    package static func lockLineItems(
        of statements: [(environment: StoreEnvironment, transaction: Transaction)], on connection: PostgresConnection
    ) async throws {
        let items = Set(
            statements.compactMap { environment, transaction -> String? in
                guard transaction.isAutoRenewable, let lineItem = transaction.lineItem else { return nil }
                // A control character is in no bundle id.
                return "\(environment.rawValue)\n\(transaction.bundleId)\n\(lineItem)"
            })
        guard !items.isEmpty else { return }
        guard items.count <= LineItemLock.singlyMaximum else {
            _ = try await connection.query("SELECT pg_advisory_xact_lock(\(LineItemLock.all), 0)::text")
            return
        }
        _ = try await connection.query(
            """
            SELECT pg_advisory_xact_lock_shared(\(LineItemLock.all), 0)::text
            UNION ALL
            SELECT pg_advisory_xact_lock(\(LineItemLock.each), hash)::text
            FROM (SELECT DISTINCT hashtext(item) AS hash FROM unnest(\(items.sorted())) AS item ORDER BY hash) AS items
            """)
    }
}
