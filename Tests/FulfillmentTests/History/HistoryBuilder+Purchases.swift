import Foundation
import PurchaseModel

/// What is sold in a history.
enum HistoryProducts {
    static let consumables = ["gems.100", "gold.50", "ticket", "chest"]
    static let subscriptions = ["basic.monthly", "plus.monthly", "plus.yearly", "max.monthly"]

    static func type(of product: String) -> ProductType {
        if consumables.contains(product) { return .consumable }
        if subscriptions.contains(product) { return .autoRenewable }
        return product == "season" ? .nonRenewing : .nonConsumable
    }

    /// The length of a paid period.
    static func period(of product: String) -> TimeInterval {
        (product.hasSuffix("yearly") ? 365 : 30) * History.day
    }
}

/// Everything that is no subscription.
extension HistoryBuilder {
    /// One lineage of any kind, with all that becomes of it.
    mutating func addLineage() {
        switch Int.random(in: 0..<10, using: &chance) {
        case 0...2: addConsumable()
        case 3: addNonConsumable()
        case 4: addFamilyShare()
        case 5: addSeason()
        default: addSubscription()
        }
    }

    private mutating func somewhen() -> Date { History.start.addingTimeInterval(days(0...220)) }

    private mutating func addConsumable() {
        let lineage = newLineage()
        let product = HistoryProducts.consumables.randomElement(using: &chance) ?? "ticket"
        let date = somewhen()
        var transaction = purchase(lineage, id: lineage.originalId, product: product, at: date)
        transaction.quantity = Int.random(in: 1...3, using: &chance)
        record(transaction, as: "ONE_TIME_CHARGE")
        refundPerhaps(transaction, after: date, probability: 0.6)
    }

    private mutating func addNonConsumable() {
        let lineage = newLineage()
        let date = somewhen()
        let product = isChosen(0.5) ? "pro" : "skin"
        let transaction = purchase(lineage, id: lineage.originalId, product: product, at: date)
        record(transaction, as: "ONE_TIME_CHARGE")
        refundPerhaps(transaction, after: date, probability: 0.4)
    }

    private mutating func addSeason() {
        let lineage = newLineage()
        let date = somewhen()
        let transaction = purchase(lineage, id: lineage.originalId, product: "season", at: date)
        record(transaction, as: "ONE_TIME_CHARGE")
        refundPerhaps(transaction, after: date, probability: 0.4)
    }

    /// What one of a family bought, and another may use until the family ends.
    private mutating func addFamilyShare() {
        let lineage = newLineage(isFamily: true)
        let date = somewhen()
        let transaction = purchase(lineage, id: lineage.originalId, product: "skin", at: date)
        record(transaction, as: "ONE_TIME_CHARGE")
        guard isChosen(0.6) else { return }
        revokeFamily(transaction.transactionId, at: date.addingTimeInterval(days(1...60)))
    }

    mutating func revokeFamily(_ id: String, at date: Date) {
        changeOne(id, at: date, as: "REVOKE") { transaction in
            transaction.revocationDate = date
            transaction.revocationReason = 0
            transaction.revocationType = "FAMILY_REVOKE"
        }
    }

    /// A refund, whole or in part, its reversal, and perhaps a second refund.
    mutating func refundPerhaps(_ bought: Transaction, after date: Date, probability: Double) {
        guard isChosen(probability) else { return }
        var last = date.addingTimeInterval(days(0...20) + 60)
        for _ in 0..<(isChosen(0.2) ? 2 : 1) {
            let date = last
            let percentage: Int64 = isChosen(0.4) ? Int64(Int.random(in: 1...99, using: &chance)) * 1_000 : 100_000
            changeOne(bought.transactionId, at: date, as: "REFUND") { transaction in
                transaction.revocationDate = date
                transaction.revocationReason = 1
                transaction.revocationType = percentage == 100_000 ? "REFUND_FULL" : "REFUND_PRORATED"
                transaction.revocationPercentage = percentage
            }
            guard isChosen(0.5) else { return }
            last += days(1...20)
            changeOne(bought.transactionId, at: last, as: "REFUND_REVERSED") { transaction in
                transaction.revocationDate = nil
                transaction.revocationReason = nil
                transaction.revocationType = nil
                transaction.revocationPercentage = nil
            }
            last += days(1...20)
        }
    }
}
