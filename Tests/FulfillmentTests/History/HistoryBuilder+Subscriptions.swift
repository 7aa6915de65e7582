import Foundation
import PurchaseModel

/// Subscriptions: renewals, changes of plan, failed payments, ends and returns.
extension HistoryBuilder {
    /// Where the making of one subscription stands.
    struct Running {
        var lineage: Lineage
        var current: Transaction
        var renewal: RenewalStatement
        /// When something was last said of it.
        var date: Date

        /// When the current period ends, by Apple.
        var expires: Date { current.expiresDate ?? date }
    }

    mutating func addSubscription() {
        let isFamily = isChosen(0.15)
        let lineage = newLineage(isFamily: isFamily)
        let product = HistoryProducts.subscriptions.randomElement(using: &chance) ?? "basic.monthly"
        let date = History.start.addingTimeInterval(days(0...150))
        var first = period(lineage, id: lineage.originalId, product: product, at: date)
        if isChosen(0.4) { giveOffer(&first) }
        var running = Running(
            lineage: lineage, current: first, renewal: renewalInfo(of: first, token: lineage.token), date: date)
        record(first, renewal: running.renewal, as: "SUBSCRIBED")
        for _ in 0..<Int.random(in: 1...6, using: &chance) {
            for _ in 0..<Int.random(in: 0...2, using: &chance) { changeDuring(&running) }
            guard end(&running) else { break }
        }
        if isFamily, isChosen(0.4) {
            revokeFamily(running.current.transactionId, at: running.date.addingTimeInterval(days(1...10)))
        }
    }

    private func period(
        _ lineage: Lineage, id: String, product: String, at date: Date
    ) -> Transaction {
        var transaction = purchase(lineage, id: id, product: product, at: date)
        transaction.expiresDate = date.addingTimeInterval(HistoryProducts.period(of: product))
        // A family member's may have none.
        if !lineage.isFamily { transaction.webOrderLineItemId = "line.\(id)" }
        return transaction
    }

    private mutating func giveOffer(_ transaction: inout Transaction) {
        transaction.offerType = Int.random(in: 1...3, using: &chance)
        transaction.offerIdentifier = transaction.offerType == 1 ? nil : "offer"
        transaction.offerDiscountType = "FREE_TRIAL"
        transaction.offerPeriod = "P1M"
        transaction.priceMilliunits = 0
    }

    private func renewalInfo(of transaction: Transaction, token: UUID?) -> RenewalStatement {
        var renewal = RenewalStatement(
            environment: transaction.environment ?? .production,
            originalTransactionId: transaction.originalTransactionId, productId: transaction.productId,
            signedDate: transaction.purchaseDate)
        renewal.renewalProductId = transaction.productId
        renewal.willRenew = true
        renewal.isInBillingRetry = false
        renewal.renewalDate = transaction.expiresDate
        renewal.recentSubscriptionStartDate = transaction.originalPurchaseDate
        renewal.renewalPriceMilliunits = 4_990
        renewal.currency = "EUR"
        renewal.appAccountToken = token
        return renewal
    }

    /// Something in the middle of a period.
    private mutating func changeDuring(_ running: inout Running) {
        let room = running.expires.timeIntervalSince(running.date)
        guard room > 2 * History.day else { return }
        let date = running.date.addingTimeInterval(seconds(3_600...Int(room / 2)))
        running.date = date
        switch Int.random(in: 0..<8, using: &chance) {
        case 0:
            running.renewal.willRenew = running.renewal.willRenew != true
            say(running, as: "DID_CHANGE_RENEWAL_STATUS")
        case 1:
            running.renewal.renewalProductId = HistoryProducts.subscriptions.randomElement(using: &chance)
            say(running, as: "DID_CHANGE_RENEWAL_PREF")
        case 2, 3: changePlan(&running)
        case 4:
            let later = running.expires.addingTimeInterval(days(1...30))
            running.current.expiresDate = later
            running.renewal.renewalDate = later
            record(running.renewal, at: date)
            change(running.current.transactionId, at: date, as: "RENEWAL_EXTENDED") { $0.expiresDate = later }
        case 5:
            running.renewal.priceIncreaseStatus = running.renewal.priceIncreaseStatus == 0 ? 1 : 0
            running.renewal.renewalPriceMilliunits = 5_990
            say(running, as: "PRICE_INCREASE")
        default:
            // Refunds come when they come: of this period, and later than the periods that follow, too.
            refundPerhaps(running.current, after: date, probability: 0.5)
        }
    }

    private mutating func say(_ running: Running, as type: String) {
        record(running.renewal, at: running.date)
        tell(running.current.transactionId, at: running.date, as: type)
    }

    /// An upgrade, or a plan of the same level, which begins now; perhaps from another account of the game.
    private mutating func changePlan(_ running: inout Running) {
        let others = HistoryProducts.subscriptions.filter { $0 != running.current.productId }
        let product = others.randomElement(using: &chance) ?? "basic.monthly"
        change(running.current.transactionId, at: running.date, as: "DID_CHANGE_RENEWAL_PREF") { old in
            old.isUpgraded = true
        }
        if running.lineage.owner == .token, product == "basic.monthly", isChosen(0.5) { passOn(&running.lineage) }
        running.current = period(running.lineage, id: newId(), product: product, at: running.date)
        if isChosen(0.2) { giveOffer(&running.current) }
        running.renewal = renewalInfo(of: running.current, token: running.lineage.token)
        record(running.current, renewal: running.renewal, as: "DID_CHANGE_RENEWAL_PREF")
    }

    /// The end of a period: the next one, or a failed payment, or the end of all.
    ///
    /// - Returns: false when nothing follows.
    private mutating func end(_ running: inout Running) -> Bool {
        guard running.expires < History.end else { return false }
        running.date = running.expires
        if running.renewal.willRenew != true || running.renewal.priceIncreaseStatus == 0 {
            return expire(&running, intent: running.renewal.willRenew == true ? 3 : 1)
        }
        if isChosen(0.25) { return failPayment(&running) }
        renew(&running, at: running.expires, as: "DID_RENEW")
        return true
    }

    private mutating func renew(_ running: inout Running, at date: Date, as type: String) {
        let product = running.renewal.renewalProductId ?? running.current.productId
        running.date = date
        running.current = period(running.lineage, id: newId(), product: product, at: date)
        running.renewal = renewalInfo(of: running.current, token: running.lineage.token)
        record(running.current, renewal: running.renewal, as: type)
    }

    /// A payment fails: with or without grace; it is made up for in grace, later, or never.
    private mutating func failPayment(_ running: inout Running) -> Bool {
        let failed = running.expires
        running.renewal.isInBillingRetry = true
        running.renewal.expirationIntent = 2
        if isChosen(0.5) {
            running.renewal.gracePeriodExpiresDate = failed.addingTimeInterval(16 * History.day)
        }
        say(running, as: "DID_FAIL_TO_RENEW")
        if isChosen(0.6) {
            renew(&running, at: failed.addingTimeInterval(days(1...50)), as: "DID_RENEW")
            return true
        }
        running.date = failed.addingTimeInterval(60 * History.day)
        running.renewal.gracePeriodExpiresDate = nil
        return expire(&running, intent: 2)
    }

    /// The end; perhaps the customer comes back by a win-back offer.
    private mutating func expire(_ running: inout Running, intent: Int) -> Bool {
        running.renewal.willRenew = false
        running.renewal.isInBillingRetry = false
        running.renewal.expirationIntent = intent
        running.renewal.renewalDate = nil
        say(running, as: "EXPIRED")
        guard isChosen(0.4) else { return false }
        running.date += days(1...40)
        running.current = period(
            running.lineage, id: newId(), product: running.current.productId, at: running.date)
        running.current.offerType = 4
        running.current.offerIdentifier = "back"
        running.current.transactionReason = "PURCHASE"
        running.renewal = renewalInfo(of: running.current, token: running.lineage.token)
        running.renewal.recentSubscriptionStartDate = running.date
        record(running.current, renewal: running.renewal, as: "SUBSCRIBED")
        return true
    }
}
