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
    /// - Throws: `PostgresError`.
    package func compared(of id: Int64, after line: Int64, limit: Int) async throws -> [Compared] {
        try await pool.query(Self.comparing(id, after: line, limit)).map(Self.comparison)
    }

    private static func comparison(
        _ line: Int64, _ transactionId: String?, _ productId: String?, _ quantity: Int32?,
        _ items: JSONColumn<[String: Int64]>?, _ isGranted: Bool, _ account: Account?,
        _ submissionState: SubmissionState, _ submissionReason: ReasonCode?, _ environment: StoreEnvironment?,
        _ orderId: String?, _ state: OrderState?, _ reason: ReasonCode?, _ owner: Account?,
        _ orderedProductId: String?, _ orderedQuantity: Int32?, _ isShared: Bool
    ) -> Compared {
        var claim = Claim()
        claim.transactionId = transactionId
        claim.productId = productId
        claim.quantity = quantity
        claim.items = items?.value
        claim.isGranted = isGranted
        var order: Compared.Order?
        if let environment, let orderId, let state, let orderedProductId, let orderedQuantity {
            order = Compared.Order(
                key: OrderKey(environment: environment, transactionId: orderId), state: state, reason: reason,
                account: owner, isShared: isShared, productId: orderedProductId, quantity: orderedQuantity)
        }
        return Compared(
            line: line, account: account, claim: claim, submissionState: submissionState,
            submissionReason: submissionReason, order: order)
    }

    // Of what a line names by a number, that order alone; else all that its proof holds.
    private static func comparing(_ id: Int64, after line: Int64, _ limit: Int) -> SQL {
        """
        WITH lines AS MATERIALIZED (
            SELECT * FROM import_lines WHERE import_id = \(id) AND line > \(line) AND submission_id IS NOT NULL
            ORDER BY line LIMIT \(limit)
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
            l.quantity AS line_quantity, l.items, l.is_granted, nullif(s.account, '') AS line_account,
            coalesce(s.state, 'rejected') AS submission_state, s.reason AS submission_reason, o.environment, o.transaction_id, o.state,
            o.reason, o.account, o.product_id, o.quantity, EXISTS (
                SELECT FROM lineage_shares h WHERE h.account = s.account AND h.app = s.app
                    AND (h.environment, h.original_transaction_id) = (o.environment, o.original_transaction_id)
            ) AS is_shared
        -- What was rejected is removed in time; all else stays.
        FROM lines l LEFT JOIN submissions s ON s.id = l.submission_id
        LEFT JOIN named n ON n.line = l.line
        LEFT JOIN orders o ON (o.environment, o.transaction_id) = (n.environment, n.order_transaction_id)
        ORDER BY l.line, o.environment, o.transaction_id
        """
    }

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
            SELECT i.environment, i.order_transaction_id AS transaction_id,
                (array_agg(DISTINCT n.line))[:20] AS lines, count(DISTINCT n.line) AS count
            FROM (\(Self.named(by: id))) n JOIN import_lines l USING (import_id, line)
            JOIN order_transactions i
                ON (i.environment, i.transaction_id) = (n.environment, n.transaction_id)
            WHERE l.is_granted AND n.line_transaction_id = n.transaction_id
            GROUP BY 1, 2 HAVING count(DISTINCT n.line) > 1 ORDER BY 1, 2 LIMIT \(limit)
            """)
        return try result.map { (environment: StoreEnvironment, id: String, lines: [Int64], count: Int64) in
            Repeated(key: OrderKey(environment: environment, transactionId: id), lines: lines, count: count)
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
                WHERE m.app = \(app)
            )
            SELECT o.environment, o.transaction_id, o.account, o.product_id
            FROM orders o LEFT JOIN named n USING (environment, transaction_id)
            WHERE o.app = \(app) AND o.granted_elsewhere AND o.state = 'granted' AND n.transaction_id IS NULL
            ORDER BY 1, 2 LIMIT \(limit)
            """)
        return try result.map { (environment: StoreEnvironment, id: String, account: Account?, productId: String) in
            Unnamed(
                key: OrderKey(environment: environment, transactionId: id), account: account, productId: productId)
        }
    }
}
