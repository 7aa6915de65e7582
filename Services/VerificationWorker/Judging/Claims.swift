import PurchaseModel

/// Which transactions of a receipt are the poster's: a receipt holds all that an Apple ID bought in an app, whoever
/// played when.
enum Claims {
    /// The ids that the poster claims; nil claims all.
    ///
    /// The named transaction stands for its whole lineage (the renewals of one subscription). A receipt of a single
    /// lineage needs no name. A name that is not in the receipt is claimed alone, and so found out.
    ///
    /// - Parameter named: the transaction that the app names as its account's.
    static func of(_ transactions: [PurchasedTransaction], named: String?) -> [String]? {
        guard let named else {
            let lineages = Set(transactions.map { Array($0.originalTransactionId.utf8) })
            return lineages.count > 1 ? [] : nil
        }
        guard let lineage = lineage(of: named, in: transactions) else { return [named] }
        return transactions.filter { isSame($0.originalTransactionId, lineage) }.map(\.transactionId)
    }

    /// Whether a transaction, or the first of its lineage, is among these.
    static func holds(_ transactions: [PurchasedTransaction], _ named: String) -> Bool {
        lineage(of: named, in: transactions) != nil
    }

    private static func lineage(of named: String, in transactions: [PurchasedTransaction]) -> String? {
        if let found = transactions.first(where: { isSame($0.transactionId, named) }) {
            return found.originalTransactionId
        }
        return transactions.first { isSame($0.originalTransactionId, named) }?.originalTransactionId
    }

    /// By bytes, as all of Apple's ids are compared.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        left.utf8.elementsEqual(right.utf8)
    }
}
