import Foundation
import PurchaseModel

/// The further transaction ids that Apple gives a purchase: restored, granted again, or seen by another device.
extension HistoryBuilder {
    /// A purchase under another transaction id.
    struct Copy {
        /// The purchase's first id, `x` and a digit: so that states can be compared whichever id came first.
        let id: String
        /// When Apple gave it.
        let date: Date
        /// Whether it tells of refunds that name another id.
        let tellsRefunds: Bool
        /// Whether the purchase is dated by the restore, as some sources have it of non-consumables.
        let isDatedByRestore: Bool
        let hasLineItem: Bool

        func apply(to transaction: inout Transaction) {
            transaction.transactionId = id
            if isDatedByRestore { transaction.purchaseDate = date }
            transaction.originalPurchaseDate = date
            if !hasLineItem { transaction.webOrderLineItemId = nil }
        }
    }

    /// The purchase's first id; itself where it is that.
    static func firstId(of id: String) -> String { id.split(separator: "x").first.map(String.init) ?? id }

    /// Gives a purchase up to four further ids; what is bought anew each time has one.
    mutating func copyPerhaps(_ transaction: Transaction) {
        let isDurable = transaction.productType == .nonConsumable
        guard isDurable || transaction.productType == .autoRenewable, isChosen(0.4) else { return }
        copies[transaction.transactionId] = (1...Int.random(in: 1...4, using: &chance)).map { number in
            Copy(
                id: "\(transaction.transactionId)x\(number)",
                date: transaction.purchaseDate.addingTimeInterval(isChosen(0.5) ? seconds(0...60) : days(0...30)),
                tellsRefunds: isChosen(0.5), isDatedByRestore: isDurable && isChosen(0.5), hasLineItem: isChosen(0.8))
        }
    }

    /// All ids that the purchase has by then.
    func allIds(of id: String, at date: Date) -> [String] {
        [id] + (copies[id] ?? []).filter { $0.date <= date }.map(\.id)
    }

    /// One of them.
    mutating func anyId(of id: String, at date: Date) -> String {
        allIds(of: id, at: date).randomElement(using: &chance) ?? id
    }

    /// Whether what Apple signs under an id shows a change.
    func isSeen(_ change: Change, by id: String, _ copy: Copy?) -> Bool {
        guard let named = change.named, named != id else { return true }
        return copy.map(\.tellsRefunds) ?? true
    }
}
