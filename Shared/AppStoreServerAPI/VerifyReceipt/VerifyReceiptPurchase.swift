public import Foundation

extension VerifyReceiptAnswer {
    /// One transaction, as Apple states it (ADP, responseBody.Receipt.In_app and responseBody.Latest_receipt_info).
    public struct Purchase: Sendable, Hashable {
        /// The transaction.
        public var transactionId: String
        /// The first transaction of its lineage; the transaction itself where Apple does not say.
        public var originalTransactionId: String
        /// What was bought.
        public var productId: String
        /// How many; 1 where Apple does not say.
        public var quantity: Int
        /// When it was bought or renewed.
        public var purchaseDate: Date
        /// When the first of its lineage was bought.
        public var originalPurchaseDate: Date?
        /// When a subscription's time ends.
        public var expiresDate: Date?
        /// When it was refunded, or replaced by an upgrade.
        public var cancellationDate: Date?
        /// Why: `1` an issue with the app, `0` another reason.
        public var cancellationReason: String?
        /// Whether it was cancelled for an upgrade.
        public var isUpgraded: Bool
        /// Of one period of a subscription, on all devices.
        public var webOrderLineItemId: String?
        /// What the app gave along.
        public var appAccountToken: UUID?
        /// `PURCHASED` or `FAMILY_SHARED`.
        public var inAppOwnershipType: String?
        /// The group of a subscription.
        public var subscriptionGroupIdentifier: String?
        /// Whether it is a free trial.
        public var isTrialPeriod: Bool
        /// Whether it is at an introductory price.
        public var isInIntroOfferPeriod: Bool
        /// The promotional offer that was redeemed.
        public var promotionalOfferId: String?
        /// The offer code's reference name that was redeemed.
        public var offerCodeRefName: String?
        /// Whether it is in the receipt itself; if not, Apple added it (a renewal since).
        public var isInReceipt: Bool

        /// Makes one, for a test's double for instance.
        public init(
            transactionId: String, originalTransactionId: String? = nil, productId: String, quantity: Int = 1,
            purchaseDate: Date, originalPurchaseDate: Date? = nil, expiresDate: Date? = nil,
            cancellationDate: Date? = nil, cancellationReason: String? = nil, isUpgraded: Bool = false,
            webOrderLineItemId: String? = nil, appAccountToken: UUID? = nil, inAppOwnershipType: String? = nil,
            subscriptionGroupIdentifier: String? = nil, isTrialPeriod: Bool = false,
            isInIntroOfferPeriod: Bool = false, promotionalOfferId: String? = nil, offerCodeRefName: String? = nil,
            isInReceipt: Bool = true
        ) {
            self.transactionId = transactionId
            self.originalTransactionId = originalTransactionId ?? transactionId
            self.productId = productId
            self.quantity = quantity
            self.purchaseDate = purchaseDate
            self.originalPurchaseDate = originalPurchaseDate
            self.expiresDate = expiresDate
            self.cancellationDate = cancellationDate
            self.cancellationReason = cancellationReason
            self.isUpgraded = isUpgraded
            self.webOrderLineItemId = webOrderLineItemId
            self.appAccountToken = appAccountToken
            self.inAppOwnershipType = inAppOwnershipType
            self.subscriptionGroupIdentifier = subscriptionGroupIdentifier
            self.isTrialPeriod = isTrialPeriod
            self.isInIntroOfferPeriod = isInIntroOfferPeriod
            self.promotionalOfferId = promotionalOfferId
            self.offerCodeRefName = offerCodeRefName
            self.isInReceipt = isInReceipt
        }
    }

    /// What a subscription's next renewal will be (ADP, responseBody.Pending_renewal_info).
    public struct PendingRenewal: Sendable, Hashable {
        /// The subscription.
        public var originalTransactionId: String
        /// What it is now.
        public var productId: String?
        /// What it will be.
        public var autoRenewProductId: String?
        /// Whether it renews; nil when not stated.
        public var willAutoRenew: Bool?
        /// Why it expired: `1` cancelled, `2` billing, `3` price, `4` product gone, `5` unknown.
        public var expirationIntent: String?
        /// Whether Apple still tries to bill.
        public var isInBillingRetryPeriod: Bool?
        /// Until when it is served without being paid.
        public var gracePeriodExpiresDate: Date?
        /// Whether the customer agreed to a higher price: `0` asked, `1` agreed or told; nil where there is none.
        public var priceIncreaseStatus: String?

        /// Makes one, for a test's double for instance.
        public init(
            originalTransactionId: String, productId: String? = nil, autoRenewProductId: String? = nil,
            willAutoRenew: Bool? = nil, expirationIntent: String? = nil, isInBillingRetryPeriod: Bool? = nil,
            gracePeriodExpiresDate: Date? = nil, priceIncreaseStatus: String? = nil
        ) {
            self.originalTransactionId = originalTransactionId
            self.productId = productId
            self.autoRenewProductId = autoRenewProductId
            self.willAutoRenew = willAutoRenew
            self.expirationIntent = expirationIntent
            self.isInBillingRetryPeriod = isInBillingRetryPeriod
            self.gracePeriodExpiresDate = gracePeriodExpiresDate
            self.priceIncreaseStatus = priceIncreaseStatus
        }
    }
}
