package import Foundation

/// What comes next for a subscription, as Apple signed it: renewal info in Countersign's own terms.
///
/// It names no app: it belongs to the subscription of its original transaction id, in its environment.
/// Source: developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload.
package struct RenewalStatement: Codable, Sendable, Hashable {
    /// Production or sandbox.
    package var environment: StoreEnvironment
    /// The subscription: the id of its first transaction.
    package var originalTransactionId: String
    /// The product that is subscribed to now.
    package var productId: String
    /// The product that renews next.
    package var renewalProductId: String?
    /// Whether it will renew.
    package var willRenew: Bool?
    /// What Apple wrote in its place where it is neither yes nor no: a number of tomorrow.
    package var unknownRenewStatus: Int64?
    /// Why it expired: 1 cancelled, 2 billing error, 3 no consent to a price rise, 4 product unavailable, 5 other.
    package var expirationIntent: Int?
    /// Whether the App Store still tries to charge for an expired subscription.
    package var isInBillingRetry: Bool?
    /// Whether the customer agreed to a higher price: 0 asked, 1 agreed or told.
    package var priceIncreaseStatus: Int?
    /// Until when access goes on though the payment failed.
    package var gracePeriodExpiresDate: Date?
    /// Which kind of offer applies to the next renewal: 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    package var offerType: Int?
    /// The offer's id or code.
    package var offerIdentifier: String?
    /// When the latest run of periods began.
    package var recentSubscriptionStartDate: Date?
    /// When the next period begins, if it does.
    package var renewalDate: Date?
    /// The price of the next period, in milliunits of ``currency``.
    package var renewalPriceMilliunits: Int64?
    /// ISO 4217.
    package var currency: String?
    /// How the next period is billed, as Apple wrote it: `MONTHLY`, `BILLED_UPFRONT`.
    package var renewalBillingPlan: String?
    /// What comes after the commitment of a subscription that is billed in instalments; nil for every other.
    package var commitment: Commitment?
    /// The UUID that the app set.
    package var appAccountToken: UUID?
    /// As `Transaction.unknownFields`.
    package var unknownFields: [String]?
    /// When Apple signed this statement.
    package var signedDate: Date
    /// The verified payload as JSON text.
    package var evidence: String?

    /// Makes a statement from its required parts; the rest is set afterwards.
    package init(
        environment: StoreEnvironment, originalTransactionId: String, productId: String, signedDate: Date
    ) {
        self.environment = environment
        self.originalTransactionId = originalTransactionId
        self.productId = productId
        self.signedDate = signedDate
    }

    /// The subscription that it is about.
    package var lineage: LineageKey {
        LineageKey(environment: environment, originalTransactionId: originalTransactionId)
    }

    enum CodingKeys: String, CodingKey {
        case environment, currency, commitment, evidence
        case originalTransactionId = "original_transaction_id"
        case productId = "product_id"
        case renewalProductId = "renewal_product_id"
        case willRenew = "will_renew"
        case unknownRenewStatus = "unknown_renew_status"
        case expirationIntent = "expiration_intent"
        case isInBillingRetry = "in_billing_retry"
        case priceIncreaseStatus = "price_increase_status"
        case gracePeriodExpiresDate = "grace_period_expires_at"
        case offerType = "offer_type"
        case offerIdentifier = "offer_id"
        case recentSubscriptionStartDate = "recent_subscription_started_at"
        case renewalDate = "renews_at"
        case renewalPriceMilliunits = "renewal_price_milliunits"
        case renewalBillingPlan = "renewal_billing_plan"
        case appAccountToken = "app_account_token"
        case unknownFields = "unknown_fields"
        case signedDate = "signed_at"
    }

    /// What comes after a commitment.
    ///
    /// Who cancels in the middle of a commitment cancels the next one: ``RenewalStatement/willRenew`` stays true, since
    /// the periods that are left are billed and served, and only ``willRenew`` here turns false.
    /// Sources: developer.apple.com/documentation/appstoreserverapi/renewalcommitmentinfo; storekit, "Managing the life
    /// cycle of monthly subscriptions with a 12-month commitment".
    package struct Commitment: Codable, Sendable, Hashable {
        /// Whether another commitment, or what ``productId`` is, follows.
        package var willRenew: Bool?
        /// The product that follows.
        package var productId: String?
        /// When it does.
        package var renewalDate: Date?
        /// Its price, in milliunits of ``RenewalStatement/currency``.
        package var priceMilliunits: Int64?
        /// How it is billed, as Apple wrote it.
        package var billingPlan: String?

        /// Makes a word of what follows; all of it may be unsaid.
        package init(
            willRenew: Bool? = nil, productId: String? = nil, renewalDate: Date? = nil, priceMilliunits: Int64? = nil,
            billingPlan: String? = nil
        ) {
            self.willRenew = willRenew
            self.productId = productId
            self.renewalDate = renewalDate
            self.priceMilliunits = priceMilliunits
            self.billingPlan = billingPlan
        }

        enum CodingKeys: String, CodingKey {
            case willRenew = "will_renew"
            case productId = "product_id"
            case renewalDate = "renews_at"
            case priceMilliunits = "price_milliunits"
            case billingPlan = "billing_plan"
        }
    }
}
