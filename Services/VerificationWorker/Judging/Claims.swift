import PurchaseModel
import ServiceRuntime

/// Which transactions of a receipt are the poster's: a receipt holds all that an Apple ID bought in an app, whoever
/// played when.
struct Claims: Sendable, Hashable {
    /// The ids that the poster claims; nil claims all.
    var ids: [String]?
    /// As `VerdictMessage.claimsAreUnproven`.
    var areUnproven = false

    /// What the poster claims of a receipt.
    ///
    /// The named transaction stands for its whole lineage (the renewals of one subscription). A receipt of a single
    /// lineage needs no name. A name that is not in the receipt is claimed alone, and so found out.
    ///
    /// What Apple's servers add to the signed bytes of a receipt is claimed only where nothing of the lineage stands in
    /// them, and then without a proof. Beside proven claims it needs none: it is its lineage's owner's.
    ///
    /// - Parameters:
    ///   - named: the transaction that the app names as its account's.
    ///   - added: ids that do not stand in the signed bytes, by bytes; empty where the app takes a number for a proof.
    static func of(_ transactions: [Transaction], named: String?, added: Set<[UInt8]> = []) -> Claims {
        let claimed: [Transaction]
        if let named {
            guard let lineage = lineage(of: named, in: transactions) else { return Claims(ids: [named]) }
            claimed = transactions.filter { isSame($0.originalTransactionId, lineage) }
        } else {
            guard Set(transactions.map { Array($0.originalTransactionId.utf8) }).count <= 1 else {
                return Claims(ids: [])
            }
            claimed = transactions
        }
        let proven = added.isEmpty ? claimed : claimed.filter { !added.contains(Array($0.transactionId.utf8)) }
        let areUnproven = proven.isEmpty && !claimed.isEmpty
        let ids = (areUnproven ? claimed : proven).map(\.transactionId)
        return Claims(ids: named == nil && ids.count == transactions.count ? nil : ids, areUnproven: areUnproven)
    }

    /// Whether a transaction, or the first of its lineage, is among these.
    static func holds(_ transactions: [Transaction], _ named: String) -> Bool {
        lineage(of: named, in: transactions) != nil
    }

    private static func lineage(of named: String, in transactions: [Transaction]) -> String? {
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
