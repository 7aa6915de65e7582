package import Foundation
package import Postgres
package import PurchaseModel

/// An account's ledger as it is read: what it was given and what it lost, the newest first.
package struct LedgerReading: Sendable {
    /// A line of one item.
    package struct Line: Sendable {
        package let id: Int64
        /// `grant`, `revocation`, `reversal`, `correction`, `spend` or `adjustment`.
        package let kind: String
        package let item: String
        /// Less than zero was taken.
        package let amount: Int64
        package let createdAt: Date
        /// The order that it is of.
        package let transactionId: String?
        package let spendId: Int64?
        /// The studio's own word for what was bought with it.
        package let reference: String?
        /// Who corrected it by hand.
        package let actor: String?
        /// Why, in the words of who did.
        package let reason: String?

        init(_ row: PostgresRow) throws {
            id = try row.decode("number")
            kind = try row.decode("kind")
            item = try row.decode("item")
            amount = try row.decode("amount")
            createdAt = try row.decode("created_at")
            transactionId = try row.decodeIfPresent("transaction_id")
            spendId = try row.decodeIfPresent("spend_id")
            reference = try row.decodeIfPresent("reference")
            actor = try row.decodeIfPresent("actor")
            reason = try row.decodeIfPresent("reason")
        }
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Reads a page; there may be fewer lines than the limit although there is a next one.
    ///
    /// - Parameter item: one item alone.
    /// - Throws: `PostgresError`.
    package func page(
        of customer: Customer, item: String?, after position: ListPosition?, limit: Int
    ) async throws -> ListPage<Line> {
        try await ListLook.page(after: position, limit: limit, on: pool, Line.init) {
            Self.statement(customer, item, $0)
        }
    }

    static func statement(_ customer: Customer, _ item: String?, _ look: ListLook) -> SQL {
        let rest: SQL = look.position.map { "AND id < \($0.number)" } ?? ""
        let branch: SQL = """
            SELECT id AS number, kind, item, amount, created_at, transaction_id, spend_id, audit_id, '' AS list_id,
                '' AS list_environment
            FROM ledger_entries WHERE \(AccountStore.isOf(customer)) \(rest) ORDER BY id DESC \(look.end)
            """
        return """
            SELECT l.*, s.reference, a.actor, a.reason
            FROM (\(look.statement([branch], where: "(\(item) IS NULL OR item = \(item))"))) l
            LEFT JOIN spends s ON s.id = l.spend_id LEFT JOIN audit_log a ON a.id = l.audit_id
            ORDER BY is_meant DESC, number DESC
            """
    }
}
