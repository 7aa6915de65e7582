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
            FROM (SELECT * FROM unnest($1::text[], $2::text[]) AS products (app, product_id)
                CROSS JOIN unnest($3::text[]) AS reasons (reason)) asked
            CROSS JOIN LATERAL (
                SELECT FROM orders
                WHERE \(isInDoubt) AND orders.app = asked.app AND orders.product_id = asked.product_id
                    AND orders.reason = asked.reason LIMIT 1) found
            """,
            [
                .textArray(products.map(\.app)), .textArray(products.map(\.productId)),
                .textArray(catalogueReasons.map(\.rawValue)),
            ])
        return try result.rows.map(doubt)
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
            SELECT \(candidateColumns), reason, quantity, \(undecided) AS transaction FROM orders
            WHERE \(isInDoubt) AND app = $1 AND product_id = $2 AND reason = $3
                AND (environment, transaction_id) > ($4, $5)
            ORDER BY environment, transaction_id LIMIT $6
            """,
            [
                .text(doubt.product.app), .text(doubt.product.productId), .text(doubt.reason.rawValue),
                .text(key?.environment.rawValue ?? ""), .text(key?.transactionId ?? ""), .int8(Int64(limit)),
            ])
        return try candidates(in: result.rows, endedBy: product, limit: limit)
    }

    // Not inlined, as below.
    @inline(never)
    private static func candidates(
        in rows: [PostgresRow], endedBy product: Catalogue.Product, limit: Int
    ) throws -> (candidates: [Candidate], last: OrderKey?) {
        let candidates = try rows.filter { try isEnded($0, by: product) }.map(candidate)
        return (candidates, rows.count == limit ? try rows.last?.orderKey() : nil)
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
            SELECT app, product_id, reason, environment, transaction_id, product_type, quantity,
                \(undecided) AS transaction
            FROM orders
            WHERE \(isInDoubt) AND (app, product_id, reason, environment, transaction_id) > ($1, $2, $3, $4, $5)
            ORDER BY app, product_id, reason, environment, transaction_id LIMIT $6
            """,
            [
                .text(place?.doubt.product.app ?? ""), .text(place?.doubt.product.productId ?? ""),
                .text(place?.doubt.reason.rawValue ?? ""), .text(place?.key.environment.rawValue ?? ""),
                .text(place?.key.transactionId ?? ""), .int8(Int64(limit)),
            ])
        return try doubtsEnded(in: result.rows, by: catalogue, limit: limit)
    }

    @inline(never)
    private static func doubtsEnded(
        in rows: [PostgresRow], by catalogue: Catalogue, limit: Int
    ) throws -> (products: Set<AppProduct>, last: DoubtPlace?) {
        var products: Set<AppProduct> = []
        for row in rows {
            let key = try doubt(row).product
            if let product = catalogue.product(key), try isEnded(row, by: product) { products.insert(key) }
        }
        let last = rows.count == limit ? rows.last : nil
        return (products, try last.map { DoubtPlace(doubt: try doubt($0), key: try $0.orderKey()) })
    }

    /// Whether a product of the catalogue ends the doubt that an order is parked for.
    private static func isEnded(_ row: PostgresRow, by product: Catalogue.Product) throws -> Bool {
        switch ReasonCode(rawValue: try row.decode("reason")) {
        case .productUnknown: true
        case .productTypeMismatch: ProductType(rawValue: try row.decode("product_type")) == product.type
        case .amountTooLarge:
            Int64(try row.decode("quantity", as: Int32.self)) <= OrderDecision.quantityMaximum(of: product)
        case .vocabularyUnknown:
            Vocabulary.holding(try row.json("transaction", as: Transaction.self), by: product) == nil
        // A token's, which no catalogue ends.
        default: false
        }
    }

    private static func doubt(_ row: PostgresRow) throws -> Doubt {
        Doubt(
            product: AppProduct(app: try row.decode("app"), productId: try row.decode("product_id")),
            reason: ReasonCode(rawValue: try row.decode("reason")))
    }

    /// The words of the index orders_in_doubt_by_cause.
    private static let isInDoubt = """
        state = 'parked' AND reason IN
            ('product_unknown', 'account_token_unknown', 'product_type_mismatch', 'amount_too_large', 'vocabulary_unknown')
        """

    /// What Apple signed of an order that is held for a word of it.
    private static let undecided = "CASE WHEN reason = 'vocabulary_unknown' THEN transaction END"
}
