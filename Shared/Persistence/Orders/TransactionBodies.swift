package import PurchaseModel

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
