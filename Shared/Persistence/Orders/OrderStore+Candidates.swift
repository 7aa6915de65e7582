import Foundation
package import Postgres
package import PurchaseModel

/// Orders that may be granted now: because somebody registered their token, or an operator claims them.
///
/// None of them is locked: their lineages are locked before.
extension OrderStore {
    /// A parked order that may be granted now, or a refund that may become somebody's.
    package struct Candidate: Sendable {
        /// Its key.
        package let key: OrderKey
        /// The lineage that it belongs to.
        package private(set) var lineage: LineageKey
        /// The app's bundle id.
        package let app: String
        /// The product.
        package let productId: String
        /// Its type by Apple, or unstated.
        package let productType: ProductType

        /// Of ``candidateColumns``.
        init(
            environment: StoreEnvironment, transactionId: String, originalTransactionId: String, app: String,
            productId: String, productType: String
        ) {
            key = OrderKey(environment: environment, transactionId: transactionId)
            lineage = LineageKey(environment: environment, originalTransactionId: originalTransactionId)
            self.app = app
            self.productId = productId
            self.productType = ProductType(appleName: productType)
        }

        /// The same under the lineage's own original id.
        package func under(_ lineage: LineageKey) -> Candidate {
            var candidate = self
            candidate.lineage = lineage
            return candidate
        }
    }

    /// What operators claim and is still nobody's, sorted by key.
    ///
    /// - Throws: `PostgresError`.
    package static func candidates(
        claimed keys: [OrderKey], on connection: PostgresConnection
    ) async throws -> [Candidate] {
        guard !keys.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT \(candidateColumns) FROM orders
            WHERE (environment, transaction_id) IN (SELECT * FROM \(SQL.rows(of: keys)))
                AND state = 'parked' AND account IS NULL
            ORDER BY environment, transaction_id
            """)
        return try result.map(Candidate.init)
    }

    /// What waits for a token that is registered: parked orders, and what Apple took back before it was known whose it
    /// was, if Apple says the environment: its lineage is its payer's all the same.
    ///
    /// - Parameter limit: the most orders of each request to read, from where it is.
    /// - Returns: the candidates, those of each request, and how far the requests are that have more orders.
    /// - Throws: `PostgresError`.
    package static func candidates(
        of requests: [ReleaseRequestStore.Request], limit: Int, on connection: PostgresConnection
    ) async throws -> (candidates: [Candidate], byRequest: [Int64: Set<OrderKey>], unfinished: [Int64: OrderKey]) {
        guard !requests.isEmpty else { return ([], [:], [:]) }
        // OFFSET 0: one look into the index for each, whatever the planner expects.
        let result = try await connection.query(
            """
            SELECT asked.id AS request, o.*
            FROM unnest(\(requests.map(\.id)), \(requests.map(\.token.app)), \(requests.map(\.token.token)),
                \(requests.map { $0.after?.environment.rawValue ?? "" }), \(requests.map { $0.after?.transactionId ?? "" }))
                AS asked (id, app, token, environment, transaction_id)
            CROSS JOIN LATERAL (
                SELECT FROM account_tokens t WHERE t.app = asked.app AND t.token = asked.token OFFSET 0) registered
            CROSS JOIN LATERAL (
                SELECT \(candidateColumns), state = 'parked' OR transaction ? 'environment' AS is_candidate FROM orders
                WHERE \(isNobodysByToken) AND orders.app = asked.app AND app_account_token = asked.token
                    AND (orders.environment, orders.transaction_id) > (asked.environment, asked.transaction_id)
                ORDER BY orders.environment, orders.transaction_id LIMIT \(limit)) o
            ORDER BY asked.id, o.environment, o.transaction_id
            """)
        let found = try result.map {
            (
                request: Int64, environment: StoreEnvironment, transactionId: String, originalTransactionId: String,
                app: String, productId: String, productType: String, isCandidate: Bool
            ) in
            let candidate = Candidate(
                environment: environment, transactionId: transactionId, originalTransactionId: originalTransactionId,
                app: app, productId: productId, productType: productType)
            return (request: request, candidate: candidate, isCandidate: isCandidate)
        }
        var ends: [Int64: (count: Int, last: OrderKey)] = [:]
        for (request, candidate, _) in found {
            ends[request] = (ends[request, default: (0, candidate.key)].count + 1, candidate.key)
        }
        let candidates = found.filter(\.isCandidate)
        let byRequest = Dictionary(candidates.map { ($0.request, [$0.candidate.key] as Set) }) { $0.union($1) }
        return (candidates.map(\.candidate), byRequest, ends.filter { $0.value.count == limit }.mapValues(\.last))
    }

    /// A place among the orders of nobody's tokens.
    package struct TokenPlace: Sendable, Hashable {
        package let token: AppToken
        package let key: OrderKey
    }

    /// The next orders of nobody's tokens in the order of their tokens, and which of these are registered after all.
    ///
    /// - Parameters:
    ///   - place: where the look before ended; nil for the beginning.
    ///   - limit: the most orders to read.
    /// - Returns: the registered tokens, and where to go on; nil at the end.
    /// - Throws: `PostgresError`.
    package static func registeredTokens(
        after place: TokenPlace?, limit: Int, on connection: PostgresConnection
    ) async throws -> (tokens: Set<AppToken>, last: TokenPlace?) {
        let result = try await connection.query(
            """
            SELECT o.*, registered.token IS NOT NULL AS is_registered FROM (
                SELECT app, app_account_token, environment, transaction_id FROM orders
                WHERE \(isNobodysByToken)
                    AND (app, app_account_token, environment, transaction_id)
                        > (\(place?.token.app ?? ""),
                            coalesce(\(place?.token.token), '00000000-0000-0000-0000-000000000000'::uuid),
                            \(place?.key.environment.rawValue ?? ""), \(place?.key.transactionId ?? ""))
                ORDER BY app, app_account_token, environment, transaction_id LIMIT \(limit)) o
            LEFT JOIN LATERAL (
                SELECT token FROM account_tokens t WHERE t.app = o.app AND t.token = o.app_account_token OFFSET 0
            ) registered ON true
            ORDER BY o.app, o.app_account_token, o.environment, o.transaction_id
            """)
        let places = try result.map {
            (
                app: String, appAccountToken: UUID, environment: StoreEnvironment, transactionId: String,
                isRegistered: Bool
            ) in
            (
                place: TokenPlace(
                    token: AppToken(app: app, token: appAccountToken),
                    key: OrderKey(environment: environment, transactionId: transactionId)), isRegistered: isRegistered
            )
        }
        let tokens = places.filter(\.isRegistered).map(\.place.token)
        return (Set(tokens), places.count == limit ? places.last?.place : nil)
    }

    /// Orders that nobody's token keeps from having an account; the words of the index orders_nobodys_by_token.
    private static let isNobodysByToken: SQL = """
        account IS NULL AND app_account_token IS NOT NULL
            AND (state = 'revoked' OR state = 'parked' AND reason = 'account_token_unknown')
        """

    static let candidateColumns: SQL = """
        orders.environment, orders.transaction_id, original_transaction_id, orders.app, product_id, product_type
        """
}
