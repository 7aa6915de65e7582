package import Postgres
package import PurchaseModel

/// Orders that are parked for the catalogue's sake, and that another catalogue releases.
extension OrderStore {
    /// What the catalogue does not say, or says otherwise than Apple, of the orders of a product.
    package struct Doubt: Sendable, Hashable {
        package let product: AppProduct
        /// One of ``catalogueReasons``.
        package let reason: ReasonCode
    }

    /// The reasons that a catalogue ends.
    package static let catalogueReasons: [ReasonCode] = [
        .productUnknown, .productTypeMismatch, .amountTooLarge, .vocabularyUnknown,
    ]

    /// A place among the orders that are in doubt.
    package struct DoubtPlace: Sendable, Hashable {
        package let doubt: Doubt
        package let key: OrderKey
    }

    /// Why orders of these products are parked; a look into an index for each product and reason.
    ///
    /// - Throws: `PostgresError`.
    package static func doubts(
        about products: Set<AppProduct>, on connection: PostgresConnection
    ) async throws -> [Doubt] {
        guard !products.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT asked.app, asked.product_id, asked.reason
            FROM (SELECT * FROM unnest(\(products.map(\.app)), \(products.map(\.productId))) AS products (app, product_id)
                CROSS JOIN unnest(\(catalogueReasons)) AS reasons (reason)) asked
            CROSS JOIN LATERAL (
                SELECT FROM orders
                WHERE \(isInDoubt) AND orders.app = asked.app AND orders.product_id = asked.product_id
                    AND orders.reason = asked.reason LIMIT 1) found
            """)
        return try result.map { (app: String, productId: String, reason: ReasonCode) in
            Doubt(product: AppProduct(app: app, productId: productId), reason: reason)
        }
    }

    /// The next orders that are parked for a doubt, sorted by key, and those of them that a product releases.
    ///
    /// - Parameters:
    ///   - product: what the catalogue says by now.
    ///   - key: where the look before ended; nil for the beginning.
    ///   - limit: the most orders to read.
    /// - Returns: the candidates, and where to go on; nil at the end.
    /// - Throws: `PostgresError`.
    package static func candidates(
        in doubt: Doubt, endedBy product: Catalogue.Product, after key: OrderKey?, limit: Int,
        on connection: PostgresConnection
    ) async throws -> (candidates: [Candidate], last: OrderKey?) {
        let result = try await connection.query(
            """
            SELECT \(parkedColumns) FROM orders
            WHERE \(isInDoubt) AND app = \(doubt.product.app) AND product_id = \(doubt.product.productId)
                AND reason = \(doubt.reason)
                AND (environment, transaction_id) > (\(key?.environment.rawValue ?? ""), \(key?.transactionId ?? ""))
            ORDER BY environment, transaction_id LIMIT \(limit)
            """)
        return try candidates(in: result, endedBy: product, limit: limit)
    }

    // Not inlined, as below.
    @inline(never)
    private static func candidates(
        in result: PostgresResult, endedBy product: Catalogue.Product, limit: Int
    ) throws -> (candidates: [Candidate], last: OrderKey?) {
        let parked = try result.map(Parked.init)
        let candidates = parked.filter { $0.isEnded(by: product) }.map(\.candidate)
        return (candidates, parked.count == limit ? parked.last?.candidate.key : nil)
    }

    /// The next orders that are in doubt in the order of their products, and the products that release one after all.
    ///
    /// - Parameters:
    ///   - catalogue: the one in use.
    ///   - place: where the look before ended; nil for the beginning.
    ///   - limit: the most orders to read.
    /// - Returns: the products, and where to go on; nil at the end.
    /// - Throws: `PostgresError`.
    package static func doubtsEnded(
        by catalogue: Catalogue, after place: DoubtPlace?, limit: Int, on connection: PostgresConnection
    ) async throws -> (products: Set<AppProduct>, last: DoubtPlace?) {
        let result = try await connection.query(
            """
            SELECT \(parkedColumns) FROM orders
            WHERE \(isInDoubt) AND (app, product_id, reason, environment, transaction_id)
                > (\(place?.doubt.product.app ?? ""), \(place?.doubt.product.productId ?? ""),
                    \(place?.doubt.reason.rawValue ?? ""), \(place?.key.environment.rawValue ?? ""),
                    \(place?.key.transactionId ?? ""))
            ORDER BY app, product_id, reason, environment, transaction_id LIMIT \(limit)
            """)
        return try doubtsEnded(in: result, by: catalogue, limit: limit)
    }

    @inline(never)
    private static func doubtsEnded(
        in result: PostgresResult, by catalogue: Catalogue, limit: Int
    ) throws -> (products: Set<AppProduct>, last: DoubtPlace?) {
        let parked = try result.map(Parked.init)
        let ended = parked.filter { order in
            catalogue.product(order.doubt.product).map { order.isEnded(by: $0) } ?? false
        }
        let last = parked.count == limit ? parked.last : nil
        return (Set(ended.map(\.doubt.product)), last.map { DoubtPlace(doubt: $0.doubt, key: $0.candidate.key) })
    }

    /// An order that is parked for a doubt.
    private struct Parked {
        let candidate: Candidate
        let doubt: Doubt
        let quantity: Int32
        /// What Apple signed, where it is held for a word of that.
        let transaction: Transaction?

        /// Of ``parkedColumns``.
        init(
            environment: StoreEnvironment, transactionId: String, originalTransactionId: String, app: String,
            productId: String, productType: String, reason: ReasonCode, quantity: Int32,
            transaction: JSONColumn<Transaction>?
        ) {
            candidate = Candidate(
                environment: environment, transactionId: transactionId, originalTransactionId: originalTransactionId,
                app: app, productId: productId, productType: productType)
            doubt = Doubt(product: AppProduct(app: app, productId: productId), reason: reason)
            self.quantity = quantity
            self.transaction = transaction?.value
        }

        /// Whether a product of the catalogue ends the doubt.
        func isEnded(by product: Catalogue.Product) -> Bool {
            switch doubt.reason {
            case .productUnknown: true
            case .productTypeMismatch: candidate.productType == product.type
            case .amountTooLarge: Int64(quantity) <= OrderDecision.quantityMaximum(of: product)
            case .vocabularyUnknown: transaction.map { Vocabulary.holding($0, by: product) == nil } ?? false
            // A token's, which no catalogue ends.
            default: false
            }
        }
    }

    private static let parkedColumns: SQL = """
        \(candidateColumns), reason, quantity, CASE WHEN reason = 'vocabulary_unknown' THEN transaction END AS transaction
        """

    /// The words of the index orders_in_doubt_by_cause.
    private static let isInDoubt: SQL = """
        state = 'parked' AND reason IN
            ('product_unknown', 'account_token_unknown', 'product_type_mismatch', 'amount_too_large', 'vocabulary_unknown')
        """
}
