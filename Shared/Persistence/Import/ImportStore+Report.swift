import Postgres
package import PurchaseModel

/// What became of an import's lines.
extension ImportStore {
    /// What became of a line.
    package enum Fate: String, Codable, Sendable, Hashable, CaseIterable, PostgresDecodable {
        /// Genuine, and recorded because of the import.
        case recorded
        /// Genuine, and in the books before.
        case known
        /// The same as a line before.
        case repeated
        /// Genuine, and held for a doubt.
        case inDoubt = "in_doubt"
        /// Refused by a verdict: not genuine, or another account's.
        case rejected
        /// No purchase could be read in it.
        case refused
        /// Nothing is known yet.
        case undecided
    }

    /// Lines of one fate, for one reason.
    package struct Group: Sendable, Hashable {
        package let fate: Fate
        /// Of what is not in the books: why.
        package let reason: String?
        package let count: Int64
        /// The first of them.
        package let firstLine: Int64
    }

    /// The lines of an import, counted.
    ///
    /// - Throws: `PostgresError`.
    package func groups(of id: Int64) async throws -> [Group] {
        let result = try await pool.query(
            """
            WITH lines AS (\(Self.fates(of: id)))
            SELECT fate, reason, count(*) AS count, min(line) AS first_line FROM lines
            GROUP BY fate, reason ORDER BY count(*) DESC, fate, reason
            """)
        return try result.map(Group.init)
    }

    /// Orders that an import brought, by how they stand.
    package struct Brought: Sendable, Hashable {
        package let state: OrderState
        package let isGrantedElsewhere: Bool
        package let count: Int64
    }

    /// The orders that an import brought, counted.
    ///
    /// - Throws: `PostgresError`.
    package func brought(by id: Int64) async throws -> [Brought] {
        let result = try await pool.query(
            """
            SELECT o.state, o.granted_elsewhere AS is_granted_elsewhere, count(*) AS count
            FROM (SELECT DISTINCT i.environment, i.order_transaction_id FROM (\(Self.named(by: id))) n
                JOIN order_transactions i USING (environment, transaction_id)
                WHERE i.submission_id = n.submission_id) brought
            JOIN orders o ON (o.environment, o.transaction_id) = (brought.environment, brought.order_transaction_id)
            GROUP BY 1, 2 ORDER BY 1, 2
            """)
        return try result.map(Brought.init)
    }

    /// A line that is not in the books, and why.
    package struct Unrecorded: Sendable, Hashable {
        package let line: Int64
        package let fate: Fate
        package let reason: String
        package let detail: String
        package let transactionId: String?
        package let submissionId: String?
    }

    /// Lines of an import that are not in the books, in their order.
    ///
    /// - Parameters:
    ///   - line: the last one before.
    ///   - limit: the most.
    /// - Throws: `PostgresError`.
    package func unrecorded(of id: Int64, after line: Int64, limit: Int) async throws -> [Unrecorded] {
        let result = try await pool.query(
            """
            WITH lines AS (\(Self.fates(of: id)))
            SELECT line, fate, coalesce(reason, '') AS reason, coalesce(detail, '') AS detail, transaction_id,
                submission_id
            FROM lines WHERE line > \(line) AND fate IN ('in_doubt', 'rejected', 'refused', 'undecided')
            ORDER BY line LIMIT \(limit)
            """)
        return try result.map(Unrecorded.init)
    }

    /// The transactions that the outcomes of an import's submissions name.
    static func named(by id: Int64) -> SQL {
        """
        SELECT l.import_id, l.line, l.submission_id, l.transaction_id AS line_transaction_id,
            coalesce(t.environment, 'production') AS environment, t.transaction_id
        FROM import_lines l JOIN submissions s ON s.id = l.submission_id
        CROSS JOIN LATERAL jsonb_to_recordset(s.outcome -> 'transactions') AS t (environment text, transaction_id text)
        WHERE l.import_id = \(id)
        """
    }

    /// Each line with what became of it.
    ///
    /// A transaction id has the submission that told of it first.
    private static func fates(of id: Int64) -> SQL {
        """
        SELECT l.line, l.submission_id, l.transaction_id, coalesce(l.flaw, s.reason) AS reason,
            coalesce(l.detail, s.outcome ->> 'detail') AS detail,
            CASE WHEN l.flaw IS NOT NULL THEN 'refused'
                WHEN row_number() OVER (PARTITION BY l.submission_id ORDER BY l.line) > 1 THEN 'repeated'
                WHEN s.state = 'received' THEN 'undecided'
                WHEN s.state = 'parked' THEN 'in_doubt'
                WHEN s.state = 'fulfilled' AND EXISTS (
                    SELECT FROM jsonb_to_recordset(s.outcome -> 'transactions')
                        AS t (environment text, transaction_id text)
                    JOIN order_transactions i
                        ON (i.environment, i.transaction_id) = (coalesce(t.environment, 'production'), t.transaction_id)
                    WHERE i.submission_id = s.id) THEN 'recorded'
                WHEN s.state = 'fulfilled' THEN 'known'
                ELSE 'rejected' END AS fate
        FROM import_lines l LEFT JOIN submissions s ON s.id = l.submission_id
        WHERE l.import_id = \(id)
        """
    }
}
