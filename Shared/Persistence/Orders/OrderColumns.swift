import Messages
import Postgres
package import PurchaseModel

/// The columns of `orders` that follow from an `OrderTransition`, written down once: inserting and updating are made of them.
struct OrderColumn: Sendable {
    let name: String
    /// The values of rows, as an array.
    let values: @Sendable (OrderRows) throws -> PostgresValue
    /// What an update does with it.
    var update = Update.replaced

    enum Update: Sendable {
        case replaced
        /// Written when the order is granted for the first time, and never again.
        case atGrant
        /// It follows from the row, but stays where the purchase contradicts another order, which may have that key.
        case key
        /// The same, and a second that Apple states otherwise by a day at most, as when daylight saving time ends, stays the first:
        /// another period may have the new one.
        case keyByDate
        /// Part of the order's key.
        case never
    }

    static let all: [OrderColumn] = [
        OrderColumn(
            name: "environment", values: { .textArray($0.map(\.key.environment.rawValue)) },
            update: .never),
        OrderColumn(
            name: "transaction_id", values: { .textArray($0.map(\.key.transactionId)) },
            update: .never),
        OrderColumn(name: "state") { .textArray($0.map(\.state.rawValue)) },
        OrderColumn(name: "reason") { .textArray($0.map(\.reason?.rawValue)) },
        OrderColumn(name: "account") { .textArray($0.map(\.account?.text)) },
        text("app", \.bundleId), text("product_id", \.productId), text("product_type", \.productType.rawValue),
        OrderColumn(name: "quantity") {
            .int4Array($0.map { Int32(clamping: $0.transaction.quantity) })
        },
        text("original_transaction_id", \.originalTransactionId),
        OrderColumn(name: "purchase_date") {
            .timestamptzArray($0.map(\.transaction.purchaseDate))
        },
        OrderColumn(name: "expires_date") {
            .timestamptzArray($0.map(\.transaction.expiresDate))
        },
        OrderColumn(name: "revocation_date") {
            .timestamptzArray($0.map(\.transaction.revocationDate))
        },
        text("revocation_type", \.revocationType),
        OrderColumn(name: "revocation_percentage") {
            .int8Array($0.map(\.transaction.revocationPercentage))
        },
        OrderColumn(name: "signed_date") { .timestamptzArray($0.map(\.transaction.signedDate)) },
        OrderColumn(name: "app_account_token") { .uuidArray($0.map(\.transaction.appAccountToken)) },
        OrderColumn(name: "price_milliunits") { .int8Array($0.map(\.transaction.priceMilliunits)) },
        text("currency", \.currency), text("storefront", \.storefront), text("ownership", \.ownership),
        OrderColumn(name: "original_purchase_date") {
            .timestamptzArray($0.map(\.transaction.originalPurchaseDate))
        },
        text("app_transaction_id", \.appTransactionId), text("web_order_line_item_id", \.lineItem),
        OrderColumn(
            name: "purchase_key", values: { .textArray($0.map(\.purchaseKeys.key?.text)) },
            update: .key),
        OrderColumn(
            name: "fallback_key", values: { .textArray($0.map(\.purchaseKeys.fallback?.text)) },
            update: .keyByDate),
        // In production nobody pays nothing, whatever a message says.
        OrderColumn(name: "test_purchase") {
            .textArray($0.map { $0.key.environment == .sandbox ? $0.transaction.testPurchase?.rawValue : nil })
        },
        OrderColumn(name: "transaction") { rows in
            .jsonbArray(try rows.map { try rows.bodies.body(of: $0.transaction) })
        },
        OrderColumn(name: "submission_id", values: { .textArray($0.map(\.source.submissionId)) }),
        OrderColumn(name: "correlation_id", values: { .textArray($0.map(\.source.correlationId)) }),
        OrderColumn(
            name: "catalogue_version", values: { .int8Array($0.map(\.decision?.catalogueVersion)) },
            update: .atGrant),
        OrderColumn(
            name: "is_price_expected", values: { .boolArray($0.map(\.decision?.isPriceExpected)) },
            update: .atGrant),
        OrderColumn(name: "granted_elsewhere") { .boolArray($0.map(\.isGrantedElsewhere)) },
    ]

    /// All names, with commas between them.
    static let names = all.map(\.name).joined(separator: ", ")

    /// `unnest(…) AS new (environment, …)`.
    static func rows(_ rows: OrderRows) throws -> SQL {
        "unnest(\(try arrays(rows))) AS new (\(unescaped: names))"
    }

    /// The same with one more column, whether it is granted for the first time.
    static func rowsWithGrant(_ rows: OrderRows) throws -> SQL {
        "unnest(\(try arrays(rows)), \(rows.map(\.isGrant))) AS new (\(unescaped: names), is_grant)"
    }

    private static func arrays(_ rows: OrderRows) throws -> SQL {
        try all.map { column -> SQL in "\(try column.values(rows))" }.joined(separator: ", ")
    }

    private static func text(_ name: String, _ path: any KeyPath<Transaction, String> & Sendable) -> OrderColumn {
        OrderColumn(name: name) { .textArray($0.map { $0.transaction[keyPath: path] }) }
    }

    private static func text(_ name: String, _ path: any KeyPath<Transaction, String?> & Sendable) -> OrderColumn {
        OrderColumn(name: name) { .textArray($0.map { $0.transaction[keyPath: path] }) }
    }
}

/// Orders that are written, with the JSON of what Apple signed.
struct OrderRows: Sendable {
    let transitions: [OrderTransition]
    let bodies: TransactionBodies

    func map<Value>(_ transform: (OrderTransition) throws -> Value) rethrows -> [Value] {
        try transitions.map(transform)
    }
}

extension OrderTransition {
    /// The keys that its row has: none where it contradicts, or contradicted, another order that may have them.
    fileprivate var purchaseKeys: PurchaseKeys {
        conflict == nil && before?.hasKeys ?? true ? PurchaseKeys(of: transaction) : .none
    }
}

extension Transaction {
    /// What is kept of it beside its columns, as JSON.
    var body: String {
        get throws { String(decoding: try MessageCoding.encode(self), as: UTF8.self) }
    }
}

/// The JSON of transactions: what a batch says is compared with what is stored, and then stored, but written as JSON once.
package struct TransactionBodies: Sendable {
    private let known: [String: (transaction: Transaction, body: String)]

    package static let none = TransactionBodies()

    private init() {
        known = [:]
    }

    /// - Throws: `EncodingError`, which no transaction causes.
    package init(of transactions: [Transaction]) throws {
        known = Dictionary(
            try transactions.map { ($0.transactionId, ($0, try $0.body)) }
        ) { first, _ in first }
    }

    func body(of transaction: Transaction) throws -> String {
        if let known = known[transaction.transactionId], known.transaction == transaction { return known.body }
        return try transaction.body
    }
}
