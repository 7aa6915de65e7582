/// One subscription of one account: where it stands, and what happens to it next.
///
/// The dates are milliseconds since 1970.
struct SubscriptionRecord: Codable, Sendable, Identifiable {
    /// Apple's `status` (apple-facts C7).
    enum Status: Int64, Codable, Sendable {
        case active = 1
        case expired = 2
        case billingRetry = 3
        case gracePeriod = 4
        case revoked = 5
    }

    /// Apple's `expirationIntent`.
    enum ExpirationIntent: Int64, Codable, Sendable {
        case cancelled = 1
        case billingError = 2
        case noConsentToPriceIncrease = 3
        case productNotForSale = 4
        case other = 5
    }

    var id: String { originalTransactionId }
    var originalTransactionId: String
    var bundleId: String
    var subscriptionGroupIdentifier: String
    var accountId: String
    var environment: StoreEnvironment
    /// True for a family member's share.
    var isFamilyShared = false
    /// What runs now.
    var productId: String
    /// What it renews to: another product after a downgrade.
    var autoRenewProductId: String
    var autoRenews: Bool
    var status: Status
    var expirationIntent: ExpirationIntent?
    var gracePeriodExpiresDate: Int64?
    /// When the billing attempts end (60 days, apple-facts C15).
    var billingRetryEndsDate: Int64?
    /// Set while a price rise waits for consent, or was consented to.
    var priceIncrease: PriceIncrease?
    var recentSubscriptionStartDate: Int64
    var renewalDate: Int64
    /// The latest transaction.
    var transactionId: String
    var appAccountToken: String?
    /// What the next periods cost instead, and for how many more periods.
    var nextOffer: Offer?
    var nextOfferPeriodsLeft = 0
    /// The price of the next renewal without an offer; milliunits.
    var renewalPrice: Int64
    var currency: String
    /// Whether this subscription's payments fail, whatever the account's do.
    var paymentFails = false
    /// Offers that an inactive subscriber may have.
    var eligibleWinBackOfferIds: [String] = []
    /// How often it was extended in the last 365 days: when (ms); at most two, 90 days each.
    var extensions: [Int64] = []
    /// When something happens to it by itself: renewal, end of grace, end of retry.
    ///
    /// Nil when it is over.
    var dueDate: Int64?
    /// Advanced Commerce information, JSON that is passed on as it is.
    var advancedCommerceInfo: String?
    /// What its renewal info says otherwise than the record: a merge patch, JSON (RFC 7396).
    var signs: String?
    /// The day of the month that periods end on where the month has it; 31 after a start on 31 January.
    var billingDay: Int?
    /// Original transaction ids of the family members' shares.
    var familyCopies: [String] = []

    struct PriceIncrease: Codable, Sendable {
        var price: Int64
        /// Whether the customer must agree.
        var needsConsent: Bool
        var hasConsent: Bool
        /// Renewals from then on cost more.
        var effectiveDate: Int64
    }
}
