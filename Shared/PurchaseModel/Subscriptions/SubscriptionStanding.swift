package import Foundation

/// Apple's five states of a subscription.
///
/// Source: developer.apple.com/documentation/appstoreserverapi/status.
package enum SubscriptionState: String, Codable, Sendable, Hashable, CaseIterable {
    /// Paid for, and in use.
    case active
    /// Over.
    case expired
    /// Over for now: the App Store still tries to charge.
    case billingRetry = "billing_retry"
    /// The payment failed, and access goes on for a while.
    case gracePeriod = "grace_period"
    /// The current period was taken back: a refund, or a family's end.
    case revoked

    /// Whether what it brings may be used.
    package var hasAccess: Bool { self == .active || self == .gracePeriod }
}

/// Where a subscription stands, as events and answers tell it.
package struct SubscriptionStanding: Codable, Sendable, Hashable {
    /// The id of its first transaction.
    package var originalTransactionId: String
    /// The order of the current period.
    package var transactionId: String
    /// The product of the current period.
    package var productId: String
    /// The group of the subscription.
    package var subscriptionGroupId: String?
    /// One of Apple's five.
    package var state: SubscriptionState
    /// When the current period began.
    package var purchaseDate: Date
    /// When the current period ends, by Apple.
    package var expiresDate: Date
    /// Until when access goes on, or went on, though the payment for the next period failed; nil where it does not.
    package var gracePeriodExpiresDate: Date?
    /// Whether the next period will be billed; nil as long as Apple has not said.
    ///
    /// In a commitment that was cancelled it is true until the last period; see ``commitmentRenewal``.
    package var willRenew: Bool?
    /// The product of the next period, where it is another.
    package var renewalProductId: String?
    /// When the next period begins.
    package var renewalDate: Date?
    /// The price of the next period, in milliunits of ``renewalCurrency``.
    package var renewalPriceMilliunits: Int64?
    /// ISO 4217.
    package var renewalCurrency: String?
    /// Which kind of offer the next period has, as ``offerType``.
    package var renewalOfferType: Int?
    /// That offer's id or code.
    package var renewalOfferIdentifier: String?
    /// How the next period is billed, as Apple wrote it; nil where it is billed as ever.
    package var renewalBillingPlan: String?
    /// Why it expired: 1 cancelled, 2 billing error, 3 no consent to a price rise, 4 product unavailable, 5 other.
    package var expirationIntent: Int?
    /// Whether the customer agreed to a higher price: 0 asked, 1 agreed or told; nil where nothing was asked.
    package var priceIncreaseStatus: Int?
    /// Which kind of offer the current period has: 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    package var offerType: Int?
    /// The offer's id or code.
    package var offerIdentifier: String?
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT` or `ONE_TIME`, as Apple wrote it.
    package var offerDiscountType: String?
    /// `PURCHASED` or `FAMILY_SHARED`.
    package var ownership: String?
    /// The commitment of a subscription that is billed in instalments.
    package var commitment: Transaction.Commitment?
    /// What comes after that commitment.
    package var commitmentRenewal: RenewalStatement.Commitment?

    /// Until when what it brings may be used: the period's end, or that of grace.
    package var accessUntil: Date { max(expiresDate, gracePeriodExpiresDate ?? expiresDate) }

    /// Whether the customer lets it go on after what was agreed: after the commitment, where there is one.
    var goesOn: Bool? { commitmentRenewal?.willRenew == false ? false : willRenew }

    /// The product that the customer has chosen for later, where it is another.
    var plannedProductId: String? {
        renewalProductId ?? commitmentRenewal?.productId.flatMap { $0 == productId ? nil : $0 }
    }

    enum CodingKeys: String, CodingKey {
        case state, ownership, commitment
        case originalTransactionId = "original_transaction_id"
        case transactionId = "transaction_id"
        case productId = "product_id"
        case subscriptionGroupId = "subscription_group_id"
        case purchaseDate = "purchased_at"
        case expiresDate = "expires_at"
        case gracePeriodExpiresDate = "grace_period_expires_at"
        case willRenew = "will_renew"
        case renewalProductId = "renewal_product_id"
        case renewalDate = "renews_at"
        case renewalPriceMilliunits = "renewal_price_milliunits"
        case renewalCurrency = "renewal_currency"
        case renewalOfferType = "renewal_offer_type"
        case renewalOfferIdentifier = "renewal_offer_id"
        case renewalBillingPlan = "renewal_billing_plan"
        case expirationIntent = "expiration_intent"
        case priceIncreaseStatus = "price_increase_status"
        case offerType = "offer_type"
        case offerIdentifier = "offer_id"
        case offerDiscountType = "offer_discount_type"
        case commitmentRenewal = "commitment_renewal"
    }
}
