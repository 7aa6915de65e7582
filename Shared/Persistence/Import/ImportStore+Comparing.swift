import Postgres
package import PurchaseModel

/// What an older system says of its grants, beside what is in the books.
extension ImportStore {
    /// A line, and one of the orders that it leads to.
    package struct Compared: Sendable {
        package let line: Int64
        /// Whose it is there; nil where the file does not say.
        package let account: Account?
        package let claim: Claim
        package let submissionState: SubmissionState
        package let submissionReason: ReasonCode?
        /// Nil where the line leads to none.
        package let order: Order?

        package init(
            line: Int64, account: Account?, claim: Claim, submissionState: SubmissionState,
            submissionReason: ReasonCode?, order: Order?
        ) {
            self.line = line
            self.account = account
            self.claim = claim
            self.submissionState = submissionState
            self.submissionReason = submissionReason
            self.order = order
        }

        /// An order, as far as it is compared.
        package struct Order: Sendable {
            package let key: OrderKey
            package let state: OrderState
            package let reason: ReasonCode?
            /// Whose it is here.
            package let account: Account?
            /// Whether the account of the line may use it, too, by the restore policy `share`.
            package let isShared: Bool
            package let productId: String
            package let quantity: Int32

            package init(
                key: OrderKey, state: OrderState, reason: ReasonCode?, account: Account?, isShared: Bool,
                productId: String, quantity: Int32
            ) {
                self.key = key
                self.state = state
                self.reason = reason
                self.account = account
                self.isShared = isShared
                self.productId = productId
                self.quantity = quantity
            }
        }
    }

    /// Lines of an import with their orders, in the order of the lines.
    ///
    /// - Parameters:
    ///   - line: the last one before.
    ///   - limit: the most lines; each may have several orders, as a receipt does.
    /// - Throws: `PostgresError`; `DecodingError` for items that no import wrote.
    package func compared(of id: Int64, after line: Int64, limit: Int) async throws -> [Compared] {
        let result = try await pool.query(Self.comparedStatement, [.int8(id), .int8(line), .int8(Int64(limit))])
        return try result.rows.map(Self.compared)
    }

    private static func compared(_ row: PostgresRow) throws -> Compared {
        var claim = Claim()
        claim.transactionId = try row.decodeIfPresent("line_transaction_id")
        claim.productId = try row.decodeIfPresent("line_product_id")
        claim.quantity = try row.decodeIfPresent("line_quantity")
        claim.items = try row.jsonIfPresent("items", as: [String: Int64].self)
        claim.isGranted = try row.decode("is_granted")
        let account = try row.decode("line_account", as: String.self)
        let order = try row.decodeIfPresent("transaction_id", as: String.self).map { id in
            Compared.Order(
                key: OrderKey(environment: try row.environment(), transactionId: id), state: try row.orderState(),
                reason: try row.decodeIfPresent("reason", as: String.self).map(ReasonCode.init),
                account: try row.accountIfPresent(), isShared: try row.decode("is_shared"),
                productId: try row.decode("product_id"), quantity: try row.decode("quantity"))
        }
        return Compared(
            line: try row.decode("line"), account: account.isEmpty ? nil : Account(stored: account), claim: claim,
            submissionState: try row.known("submission_state"),
            submissionReason: try row.decodeIfPresent("submission_reason", as: String.self).map(ReasonCode.init),
            order: order)
    }

    // Of what a line names by a number, that order alone; else all that its proof holds.
    private static let comparedStatement = """
        WITH lines AS MATERIALIZED (
            SELECT * FROM import_lines WHERE import_id = $1 AND line > $2 AND submission_id IS NOT NULL
            ORDER BY line LIMIT $3
        ), named AS (
            SELECT l.line, i.environment, i.order_transaction_id
            FROM lines l JOIN submissions s ON s.id = l.submission_id
            CROSS JOIN LATERAL jsonb_to_recordset(s.outcome -> 'transactions')
                AS t (environment text, transaction_id text)
            JOIN order_transactions i
                ON (i.environment, i.transaction_id) = (coalesce(t.environment, 'production'), t.transaction_id)
            WHERE l.transaction_id IS NULL OR l.transaction_id = t.transaction_id
            GROUP BY 1, 2, 3
        )
        SELECT l.line, l.transaction_id AS line_transaction_id, l.product_id AS line_product_id,
            l.quantity AS line_quantity, l.items, l.is_granted, s.account AS line_account,
            s.state AS submission_state, s.reason AS submission_reason, o.environment, o.transaction_id, o.state,
            o.reason, o.account, o.product_id, o.quantity, EXISTS (
                SELECT FROM lineage_shares h WHERE h.account = s.account AND h.app = s.app
                    AND (h.environment, h.original_transaction_id) = (o.environment, o.original_transaction_id)
            ) AS is_shared
        FROM lines l JOIN submissions s ON s.id = l.submission_id
        LEFT JOIN named n ON n.line = l.line
        LEFT JOIN orders o ON (o.environment, o.transaction_id) = (n.environment, n.order_transaction_id)
        ORDER BY l.line, o.environment, o.transaction_id
        """

    /// A purchase that several lines name.
    package struct Repeated: Sendable, Hashable {
        package let key: OrderKey
        /// The first 20, in order.
        package let lines: [Int64]
        package let count: Int64
    }

    /// Purchases that several lines of an import say were granted, each by its number.
    ///
    /// - Throws: `PostgresError`.
    package func grantedRepeatedly(in id: Int64, limit: Int) async throws -> [Repeated] {
        let result = try await pool.query(
            """
            SELECT i.environment, i.order_transaction_id AS transaction_id, count(DISTINCT n.line) AS count,
                (array_agg(DISTINCT n.line))[:20] AS lines
            FROM (\(Self.named)) n JOIN import_lines l USING (import_id, line)
            JOIN order_transactions i
                ON (i.environment, i.transaction_id) = (n.environment, n.transaction_id)
            WHERE l.is_granted AND n.line_transaction_id = n.transaction_id
            GROUP BY 1, 2 HAVING count(DISTINCT n.line) > 1 ORDER BY 1, 2 LIMIT $2
            """, [.int8(id), .int8(Int64(limit))])
        return try result.rows.map { row in
            Repeated(key: try row.orderKey(), lines: try row.decode("lines"), count: try row.decode("count"))
        }
    }

    /// An order that no line of an app's imports names.
    package struct Unnamed: Sendable, Hashable {
        package let key: OrderKey
        package let account: Account?
        package let productId: String
    }

    /// Orders of an app that were granted, by its older system as far as anybody knows, and that no line of its imports
    /// names.
    ///
    /// - Throws: `PostgresError`.
    package func ungrantedThere(app: String, limit: Int) async throws -> [Unnamed] {
        let result = try await pool.query(
            """
            WITH named AS MATERIALIZED (
                SELECT DISTINCT i.environment, i.order_transaction_id AS transaction_id
                FROM imports m JOIN import_lines l ON l.import_id = m.id JOIN submissions s ON s.id = l.submission_id
                CROSS JOIN LATERAL jsonb_to_recordset(s.outcome -> 'transactions')
                    AS t (environment text, transaction_id text)
                JOIN order_transactions i
                    ON (i.environment, i.transaction_id) = (coalesce(t.environment, 'production'), t.transaction_id)
                WHERE m.app = $1
            )
            SELECT o.environment, o.transaction_id, o.account, o.product_id
            FROM orders o LEFT JOIN named n USING (environment, transaction_id)
            WHERE o.app = $1 AND o.granted_elsewhere AND o.state = 'granted' AND n.transaction_id IS NULL
            ORDER BY 1, 2 LIMIT $2
            """, [.text(app), .int8(Int64(limit))])
        return try result.rows.map { row in
            Unnamed(
                key: try row.orderKey(), account: try row.accountIfPresent(), productId: try row.decode("product_id"))
        }
    }
}
