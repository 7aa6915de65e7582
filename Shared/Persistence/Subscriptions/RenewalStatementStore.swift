import Messages
package import Postgres
package import PurchaseModel

/// The table `renewal_statements`: the newest that Apple signed about each subscription's next renewal.
///
/// A subscription that nothing was signed about has an empty row. The row of a lineage is what stands for it while it
/// is worked out anew: who holds it is alone with the lineage's subscription.
package enum RenewalStatementStore {
    /// Keeps the newest statements, and locks the rows of all subscriptions concerned, sorted, for the transaction.
    ///
    /// - Parameters:
    ///   - statements: of any age, in any order, any number of each lineage; where two were signed at one instant their
    ///     content decides, so that the order of arrival does not.
    ///   - touched: lineages whose orders or owner changed, of any type.
    /// - Returns: the lineages to work out anew: those touched that have periods of a subscription which are
    ///   somebody's, or had some, and those of which a statement is news.
    /// - Throws: `PostgresError`; `EncodingError`, which no statement causes.
    package static func keep(
        _ statements: [RenewalStatement], touched: [LineageKey], on connection: PostgresConnection
    ) async throws -> [LineageKey] {
        guard !statements.isEmpty || !touched.isEmpty else { return [] }
        return try await connection.query(keeping(statements, touched: touched)).map(LineageKey.init)
    }

    /// Whether what is `excluded` counts more than what is `known`.
    static let isNewer: SQL = """
        excluded.signed_date > known.signed_date
            OR (excluded.signed_date IS NOT NULL AND known.signed_date IS NULL)
            OR (excluded.signed_date = known.signed_date
                AND excluded.statement::text COLLATE "C" > known.statement::text COLLATE "C")
        """

    // Of an account that was forgotten no token comes back. A row is locked by DO UPDATE even where its WHERE does not hold; the statement after this one sees what whoever
    // held it before has committed.
    private static func keeping(_ statements: [RenewalStatement], touched: [LineageKey]) throws -> SQL {
        let bodies = try statements.map { String(decoding: try MessageCoding.encode($0), as: UTF8.self) }
        return """
            WITH subscribed AS (
                SELECT environment, original_transaction_id
                FROM \(SQL.rows(of: touched)) AS touched (environment, original_transaction_id)
                WHERE EXISTS (
                    SELECT FROM orders o
                    WHERE o.environment = touched.environment
                        AND o.original_transaction_id = touched.original_transaction_id
                        AND \(SubscriptionStore.isOwnedPeriod))
            ), said AS (
                SELECT environment, original_transaction_id, NULL::timestamptz AS signed_date, NULL::jsonb AS statement
                FROM subscribed
                UNION ALL SELECT * FROM unnest(
                    \(statements.map(\.environment)), \(statements.map(\.originalTransactionId)),
                    \(statements.map(\.signedDate)), \(json: bodies))
            ), kept AS (
                INSERT INTO renewal_statements AS known (environment, original_transaction_id, signed_date, statement)
                SELECT DISTINCT ON (environment, original_transaction_id)
                    environment, original_transaction_id, signed_date,
                    CASE WHEN EXISTS (SELECT FROM lineages l
                        WHERE (l.environment, l.original_transaction_id) = (said.environment, said.original_transaction_id)
                            AND l.tokens_void_until IS NOT NULL)
                        THEN statement - 'app_account_token' - 'evidence' ELSE statement END
                FROM said
                ORDER BY environment, original_transaction_id, signed_date DESC NULLS LAST,
                    statement::text COLLATE "C" DESC
                ON CONFLICT (environment, original_transaction_id)
                    DO UPDATE SET signed_date = excluded.signed_date, statement = excluded.statement
                    WHERE \(isNewer)
                RETURNING environment, original_transaction_id
            )
            SELECT environment, original_transaction_id FROM subscribed
            UNION SELECT environment, original_transaction_id FROM kept
            UNION SELECT environment, original_transaction_id
            FROM \(SQL.rows(of: touched)) AS touched (environment, original_transaction_id)
            JOIN subscriptions s USING (environment, original_transaction_id)
            """
    }
}
