/// Why a renewal date is not extended; the App Store Server API has an error code for each.
enum RenewalExtensionRefusal: Error, Sendable {
    /// There is no such subscription (4040005).
    case unknown
    /// Not 1 to 90 days (4000009).
    case days
    /// Expired, in billing retry or grace, refunded, or in a free period (4030004).
    case ineligible
    /// Two extensions in the last 365 days already (4030005).
    case maximum
    /// A family member's share: it follows the buyer's (4030007).
    case familyShared
}

extension StoreState {
    enum ExtensionLimit {
        /// Days of one extension (Apple: extendByDays).
        static let days = 1...90
        /// Extensions within ``window``.
        static let count = 2
        /// 365 days, in milliseconds.
        static let window: Int64 = 365 * BillingCalendar.day
    }

    /// Moves a subscription's renewal to a later day, for the subscriber and the family: RENEWAL_EXTENDED.
    ///
    /// - Parameters:
    ///   - reason: Apple's `extendReasonCode`; nothing depends on it.
    ///   - requestIdentifier: the developer's; nothing depends on it.
    ///   - notifies: false for a mass extension, which is summed up instead.
    /// - Returns: the new renewal date, milliseconds since 1970.
    @discardableResult
    mutating func extendRenewal(
        _ id: String, days: Int, reason: Int, requestIdentifier: String, notifies: Bool = true, now: Int64
    ) throws(RenewalExtensionRefusal) -> Int64 {
        guard ExtensionLimit.days.contains(days) else { throw .days }
        settle(id, now: now)
        guard var record = subscriptions[id], let transaction = transactions[record.transactionId] else {
            throw .unknown
        }
        guard !record.isFamilyShared else { throw .familyShared }
        guard record.status == .active, transaction.offer?.discount != .freeTrial else { throw .ineligible }
        record.extensions.removeAll { $0 <= now - ExtensionLimit.window }
        guard record.extensions.count < ExtensionLimit.count else { throw .maximum }
        let end = record.renewalDate + Int64(days) * BillingCalendar.day
        changePurchase(record.transactionId, now: now) { $0.expiresDate = end }
        record.extensions.append(now)
        record.renewalDate = end
        record.dueDate = end
        record.billingDay = BillingCalendar.dayOfMonth(end)
        keep(record, now: now)
        if notifies { announce(.renewalExtended, of: id, now: now) }
        return end
    }
}
