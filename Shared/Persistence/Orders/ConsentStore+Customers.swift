package import Foundation
package import Postgres
package import PurchaseModel

// Whose a consent is: one customer of Apple's may have several ids in an app, and periods of one subscription may differ in it.

extension ConsentStore {
    /// A name that Apple's data gives a customer in an app.
    package struct Name: Sendable, Hashable, Comparable {
        package let environment: StoreEnvironment
        package let app: String
        /// `a:` and Apple's id of him in the app, or `t:` and the own original id of a lineage of his.
        package let customer: String

        fileprivate init(environment: StoreEnvironment, app: String, customer: String) {
            self.environment = environment
            self.app = app
            self.customer = customer
        }

        /// Apple's id of him in the app.
        package init(environment: StoreEnvironment, app: String, appTransactionId: String) {
            self.init(environment: environment, app: app, customer: "a:\(appTransactionId)")
        }

        /// A lineage of his.
        package init(_ lineage: LineageKey, app: String) {
            self.init(environment: lineage.environment, app: app, customer: "t:\(lineage.originalTransactionId)")
        }

        package static func < (left: Name, right: Name) -> Bool {
            (left.environment.rawValue, left.app, left.customer)
                < (right.environment.rawValue, right.app, right.customer)
        }
    }

    /// That consent to a customer's use of an app was withdrawn.
    package struct Withdrawal: Sendable, Hashable {
        package let name: Name
        package let signedDate: Date

        package init(name: Name, signedDate: Date) {
            self.name = name
            self.signedDate = signedDate
        }

        /// As its row has it.
        init(environment: StoreEnvironment, app: String, customer: String, signedDate: Date) {
            self.init(name: Name(environment: environment, app: app, customer: customer), signedDate: signedDate)
        }

        /// As Apple signed it.
        package init(_ consent: RescindedConsent) {
            self.init(
                name: Name(
                    environment: consent.environment, app: consent.bundleId,
                    appTransactionId: consent.appTransactionId), signedDate: consent.signedDate)
        }
    }

    /// Names that are one customer's.
    package struct CustomerNames: Sendable, Hashable {
        package let names: Set<Name>
        /// Says whose it is where Apple's data has no id of the customer's.
        fileprivate let token: AppToken?

        /// The customer who made a purchase.
        package init(of transaction: Transaction, in lineage: LineageKey) {
            let id = transaction.appTransactionId.map {
                Name(environment: lineage.environment, app: transaction.bundleId, appTransactionId: $0)
            }
            // What is used up is in no lineage.
            let own = transaction.productType == .consumable ? nil : Name(lineage, app: transaction.bundleId)
            names = Set([id, own].compactMap(\.self))
            token = id == nil ? transaction.appToken : nil
        }

        /// The customer of two lineages that are one.
        package init(of join: LineageStore.Join) {
            names = [Name(join.into, app: join.app), Name(join.from, app: join.app)]
            token = nil
        }
    }

    /// What is withdrawn under one name of a customer's, and not yet, or only by an older word, under another.
    ///
    /// - Returns: what ``rescind(_:on:)`` has to be given, in a transaction that takes up consents.
    /// - Throws: `PostgresError`.
    package static func following(
        _ customers: Set<CustomerNames>, on connection: PostgresConnection
    ) async throws -> [Withdrawal] {
        let tokens = try await withdrawn(
            customers.compactMap { customer in
                customer.token.flatMap { token in
                    customer.names.first.map { Token(environment: $0.environment, token: token) }
                }
            }, on: connection)
        let list = customers.filter { !$0.names.isEmpty && ($0.names.count > 1 || $0.token != nil) }
        guard !list.isEmpty else { return [] }
        let known = try await known(Array(Set(list.flatMap(\.names))), on: connection)
        return list.flatMap { customer -> [Withdrawal] in
            let byToken = customer.token.flatMap { token in
                customer.names.first.flatMap { tokens[Token(environment: $0.environment, token: token)] }
            }
            guard let date = (customer.names.compactMap { known[$0] } + [byToken].compactMap(\.self)).max() else {
                return []
            }
            return customer.names.filter { known[$0] ?? .distantPast < date }
                .map { Withdrawal(name: $0, signedDate: date) }
        }
    }

    private static func known(_ asked: [Name], on connection: PostgresConnection) async throws -> [Name: Date] {
        let result = try await connection.query(
            """
            SELECT environment, app, customer, signed_date
            FROM unnest(\(names(asked))) AS asked (environment, app, customer)
            JOIN rescinded_consents c USING (environment, app, customer)
            """)
        let known = try result.map(Withdrawal.init(environment:app:customer:signedDate:))
        return Dictionary(known.map { ($0.name, $0.signedDate) }) { first, _ in first }
    }

    // MARK: - By token

    /// A token of an app's accounts, in an environment.
    private struct Token: Hashable {
        let environment: StoreEnvironment
        let token: AppToken
    }

    /// Tokens with which only customers bought whose consent is withdrawn, and when the last one was.
    ///
    /// With a token that another customer has, too, as parents and their child may, nothing says who bought.
    private static func withdrawn(
        _ tokens: [Token], on connection: PostgresConnection
    ) async throws -> [Token: Date] {
        let tokens = Array(Set(tokens))
        guard !tokens.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT asked.environment, asked.app, asked.token, max(c.signed_date) AS signed_date
            FROM unnest(\(tokens.map(\.environment)), \(tokens.map(\.token.app)), \(tokens.map(\.token.token)))
                AS asked (environment, app, token)
            JOIN orders o ON (o.app_account_token, o.app, o.environment) = (asked.token, asked.app, asked.environment)
            LEFT JOIN rescinded_consents c ON (c.environment, c.app, c.customer)
                = (o.environment, o.app, 'a:' || o.app_transaction_id)
            WHERE o.app_transaction_id IS NOT NULL
            GROUP BY 1, 2, 3 HAVING bool_and(c.app IS NOT NULL)
            """)
        let dates = try result.map { (environment: StoreEnvironment, app: String, token: UUID, signedDate: Date) in
            (Token(environment: environment, token: AppToken(app: app, token: token)), signedDate)
        }
        return Dictionary(dates) { first, _ in first }
    }

    // MARK: - Orders

    /// An order of a customer's whose consent is withdrawn.
    struct Reached: Sendable {
        let key: OrderKey
        /// Under all its names.
        let withdrawals: [Withdrawal]
    }

    /// The orders that have one of the names; and those without Apple's id of the customer that have the token of one.
    static func orders(
        of withdrawals: [Withdrawal], on connection: PostgresConnection
    ) async throws -> [Reached] {
        let rows: SQL = "\(names(withdrawals.map(\.name))), \(withdrawals.map(\.signedDate))"
        let asked: SQL = "unnest(\(rows)) AS c (environment, app, customer, signed_date)"
        let result = try await connection.query(
            """
            WITH named AS MATERIALIZED (
                SELECT o.environment, o.transaction_id, o.app, o.app_account_token, c.signed_date
                FROM \(asked) JOIN orders o ON (o.environment, o.app, o.app_transaction_id)
                    = (c.environment, c.app, substr(c.customer, 3)) WHERE c.customer LIKE 'a:%'
                UNION SELECT o.environment, o.transaction_id, o.app, o.app_account_token, c.signed_date
                FROM \(asked) JOIN orders o ON (o.environment, o.original_transaction_id)
                    = (c.environment, substr(c.customer, 3))
                WHERE c.customer LIKE 't:%' AND o.app = c.app AND o.product_type <> 'consumable'
            ), tokens AS MATERIALIZED (
                SELECT environment, app, app_account_token, max(signed_date) AS signed_date FROM named n
                WHERE app_account_token IS NOT NULL AND NOT EXISTS (
                    SELECT FROM orders o WHERE (o.app_account_token, o.app, o.environment)
                        = (n.app_account_token, n.app, n.environment) AND o.app_transaction_id IS NOT NULL
                        AND NOT EXISTS (SELECT FROM rescinded_consents c WHERE (c.environment, c.app, c.customer)
                            = (o.environment, o.app, 'a:' || o.app_transaction_id)))
                GROUP BY 1, 2, 3
            ), reached AS (
                SELECT environment, transaction_id, signed_date FROM named
                UNION SELECT o.environment, o.transaction_id, t.signed_date FROM tokens t
                JOIN orders o USING (environment, app, app_account_token) WHERE o.app_transaction_id IS NULL
            )
            SELECT o.environment, o.transaction_id, o.app, o.app_transaction_id, o.original_transaction_id,
                o.product_type = 'consumable' AS is_consumable, max(r.signed_date) AS signed_date
            FROM reached r JOIN orders o USING (environment, transaction_id)
            GROUP BY o.environment, o.transaction_id
            """)
        return try result.map {
            (
                environment: StoreEnvironment, transactionId: String, app: String, appTransactionId: String?,
                originalTransactionId: String, isConsumable: Bool, signedDate: Date
            ) in
            var names: [Name] = []
            if let appTransactionId {
                names.append(Name(environment: environment, app: app, appTransactionId: appTransactionId))
            }
            if !isConsumable {
                let lineage = LineageKey(environment: environment, originalTransactionId: originalTransactionId)
                names.append(Name(lineage, app: app))
            }
            return Reached(
                key: OrderKey(environment: environment, transactionId: transactionId),
                withdrawals: names.map { Withdrawal(name: $0, signedDate: signedDate) })
        }
    }

    // MARK: - Columns

    /// Whether consent to the use of what an order `o` brings was withdrawn after it was bought, in SQL.
    static let isWithdrawn: SQL = """
        EXISTS (SELECT FROM rescinded_consents c WHERE (c.environment, c.app) = (o.environment, o.app)
            AND c.customer IN ('a:' || o.app_transaction_id, 't:' || o.original_transaction_id)
            AND c.signed_date >= o.purchase_date)
        """

    /// The columns of names, for `unnest(…)`.
    static func names(_ names: [Name]) -> SQL {
        "\(names.map(\.environment)), \(names.map(\.app)), \(names.map(\.customer))"
    }
}
