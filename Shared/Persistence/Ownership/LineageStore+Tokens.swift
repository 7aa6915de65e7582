package import Foundation
package import Postgres
package import PurchaseModel

/// Tokens that Countersign gives to lineages whose purchases have none.
extension LineageStore {
    /// That a lineage has a token from now on, which Apple is going to be told.
    package struct SetToken: Sendable, Hashable {
        package let lineage: LineageKey
        package let token: UUID
        /// Of the purchase that it is set for.
        package let purchaseDate: Date
        package let signedDate: Date

        package init(lineage: LineageKey, token: UUID, purchaseDate: Date, signedDate: Date) {
            self.lineage = lineage
            self.token = token
            self.purchaseDate = purchaseDate
            self.signedDate = signedDate
        }
    }

    /// Those that have no token, and those that are no lineages, such as a consumable's; their rows are the caller's.
    ///
    /// - Throws: `PostgresError`.
    package static func withoutToken(
        _ keys: Set<LineageKey>, on connection: PostgresConnection
    ) async throws -> Set<LineageKey> {
        let result = try await connection.query(
            """
            SELECT environment, original_transaction_id FROM lineages
            WHERE (environment, original_transaction_id) IN (SELECT * FROM \(SQL.rows(of: Array(keys))))
                AND (token IS NOT NULL OR tokens_void_until IS NOT NULL)
            """)
        return keys.subtracting(try result.map(LineageKey.init(environment:originalTransactionId:)))
    }

    /// Writes the tokens of lineages that have none, in the transaction that locked them.
    ///
    /// - Throws: `PostgresError`.
    package static func note(_ tokens: [SetToken], on connection: PostgresConnection) async throws {
        guard !tokens.isEmpty else { return }
        _ = try await connection.query(
            """
            UPDATE lineages l SET token = new.token, token_purchase_date = new.purchase_date,
                token_signed_date = new.signed_date
            FROM unnest(\(tokens.map(\.lineage.environment)), \(tokens.map(\.lineage.originalTransactionId)),
                \(tokens.map(\.token)), \(tokens.map(\.purchaseDate)), \(tokens.map(\.signedDate)))
                AS new (environment, original_transaction_id, token, purchase_date, signed_date)
            WHERE (l.environment, l.original_transaction_id) = (new.environment, new.original_transaction_id)
                AND l.token IS NULL
            """)
    }
}
