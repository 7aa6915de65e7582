package import Foundation

/// Where a subscription stands, worked out of what Apple signed and of the clock, and of nothing else.
///
/// It does not matter in which order statements came, how often, or with what: the same set gives the same standing.
extension SubscriptionStanding {
    /// Works it out.
    ///
    /// - Parameters:
    ///   - transactions: the periods of one lineage, each once, as everything that was signed about it says together;
    ///     the current one alone is enough. What is no period of a subscription is passed over.
    ///   - renewal: the newest that Apple signed about the next renewal; of another period it says nothing.
    ///   - now: the instant that is asked about. An end is over when it comes: what expires at noon is expired at noon.
    /// - Returns: nil where there is no period.
    package static func derived(
        from transactions: [Transaction], renewal: RenewalStatement?, at now: Date
    ) -> SubscriptionStanding? {
        guard let current = transactions.periods.last, let expiresDate = current.expiresDate else { return nil }
        let said = renewal.flatMap { $0.isAbout(current) ? $0 : nil }
        var standing = SubscriptionStanding(
            originalTransactionId: current.originalTransactionId, transactionId: current.transactionId,
            productId: current.productId, state: .active, purchaseDate: current.purchaseDate, expiresDate: expiresDate)
        standing.subscriptionGroupId = current.subscriptionGroupId
        standing.offerType = current.offerType
        standing.offerIdentifier = current.offerIdentifier
        standing.offerDiscountType = current.offerDiscountType
        standing.ownership = current.ownership
        standing.commitment = current.commitment
        standing.willRenew = said?.willRenew
        standing.renewalProductId = said?.renewalProductId.flatMap { $0 == current.productId ? nil : $0 }
        standing.renewalDate = said?.renewalDate
        standing.renewalPriceMilliunits = said?.renewalPriceMilliunits
        standing.renewalCurrency = said?.currency
        standing.renewalOfferType = said?.offerType
        standing.renewalOfferIdentifier = said?.offerIdentifier
        standing.renewalBillingPlan = said?.renewalBillingPlan
        standing.expirationIntent = said?.expirationIntent
        standing.priceIncreaseStatus = said?.priceIncreaseStatus
        // What was said of a commitment holds in all of its periods.
        standing.commitmentRenewal = (said ?? (current.continuesCommitment ? renewal : nil))?.commitment
        let failure = said.flatMap { $0.tellsFailure(after: current, until: expiresDate) ? $0 : nil }
        if let grace = failure?.gracePeriodExpiresDate, grace > expiresDate { standing.gracePeriodExpiresDate = grace }
        standing.state = state(of: current, standing, failure: failure, at: now)
        return standing
    }

    private static func state(
        of current: Transaction, _ standing: SubscriptionStanding, failure: RenewalStatement?, at now: Date
    ) -> SubscriptionState {
        if current.revocationDate != nil { return .revoked }
        if now < standing.expiresDate { return .active }
        if now < standing.accessUntil { return .gracePeriod }
        return failure?.isRetried == true ? .billingRetry : .expired
    }

    /// When the clock alone changes the state next; nil where only Apple can.
    package var changesAt: Date? {
        switch state {
        case .active: expiresDate
        case .gracePeriod: accessUntil
        case .billingRetry, .expired, .revoked: nil
        }
    }
}

extension RenewalStatement {
    /// Whether it speaks of the renewal that follows this period, and not of an earlier one.
    ///
    /// A period that was paid for ahead begins after the statement that was signed with it; its product and the date of
    /// its renewal tell then (`renewalDate` is when the newest purchase ends). What was said of a period that an upgrade
    /// cut short says nothing of the one that took its place.
    /// Source: developer.apple.com/documentation/appstoreserverapi/renewaldate.
    func isAbout(_ period: Transaction) -> Bool {
        if signedDate >= period.purchaseDate { return true }
        guard productId == period.productId, let renewalDate, let expiresDate = period.expiresDate else { return false }
        return renewalDate >= expiresDate
    }

    /// Whether it can tell that the payment for the period after this one failed: only once this one has begun.
    ///
    /// A period that was paid for in grace may begin when the one before ended, and so before the word of that failure:
    /// grace that does not go beyond the period was the other's.
    func tellsFailure(after period: Transaction, until expiresDate: Date) -> Bool {
        signedDate >= period.purchaseDate && gracePeriodExpiresDate.map { $0 > expiresDate } ?? true
    }

    /// Whether the App Store still tries to charge: not where it ended for another reason than a failed payment.
    var isRetried: Bool {
        isInBillingRetry == true && (expirationIntent ?? Intent.billingError) == Intent.billingError
    }

    private enum Intent {
        /// Source: developer.apple.com/documentation/appstoreserverapi/expirationintent.
        static let billingError = 2
    }
}

extension Transaction {
    /// Whether it is a period of a subscription that Apple renews.
    ///
    /// Receipts do not state the type, and have the end of a period for these subscriptions only.
    /// Source: developer.apple.com/documentation/appstorereceipts/responsebody/latest_receipt_info, `expires_date`.
    package var isSubscriptionPeriod: Bool {
        expiresDate != nil && (productType == .autoRenewable || productType == .unstated)
    }

    /// Whether it is a later period of a commitment that runs.
    var continuesCommitment: Bool { (commitment?.billingPeriod ?? 1) > 1 }

    /// Whether the period after it took its place before it ended: an upgrade, or a crossgrade that takes effect now.
    ///
    /// Apple says so in a newer statement (`isUpgraded`), which may come late or never. The dates say it, too: another
    /// product was bought while this one ran, and of one lineage only one runs at a time.
    package func isSuperseded(by next: Transaction) -> Bool {
        guard let expiresDate, next.purchaseDate < expiresDate else { return false }
        return isUpgraded == true || next.productId != productId
    }
}

extension [Transaction] {
    /// The periods among them in the order in which they were bought; the last is the current one.
    ///
    /// Not the one that ends last: a year that was upgraded to a month ends long after it.
    package var periods: [Transaction] {
        filter(\.isSubscriptionPeriod).sorted { left, right in
            if left.purchaseDate != right.purchaseDate { return left.purchaseDate < right.purchaseDate }
            if left.expiresDate != right.expiresDate {
                return (left.expiresDate ?? .distantPast) < (right.expiresDate ?? .distantPast)
            }
            return left.transactionId < right.transactionId
        }
    }

    /// The ids of the periods whose place another has taken before they ended.
    ///
    /// The rule for readers and tests: over a subscription's rows the database applies it
    /// (`EntitlementStore`), and shuffled histories hold the two to each other.
    package var supersededPeriods: Set<String> {
        let periods = periods
        return Set(
            zip(periods, periods.dropFirst()).filter { $0.isSuperseded(by: $1) }.map(\.0.transactionId))
    }
}
