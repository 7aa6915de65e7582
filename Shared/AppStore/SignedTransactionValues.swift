public import Foundation

// Apple's enumerations, each open: a value of tomorrow is kept, not refused. Names and values are those of Apple's
// server library.
extension SignedTransaction {
    /// What kind of product it is (ADP type).
    public struct ProductType: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Used up; may be bought again.
        public static let consumable = ProductType(rawValue: "Consumable")
        /// Bought once, for ever.
        public static let nonConsumable = ProductType(rawValue: "Non-Consumable")
        /// Renews until cancelled.
        public static let autoRenewableSubscription = ProductType(rawValue: "Auto-Renewable Subscription")
        /// For a time; the app knows for how long.
        public static let nonRenewingSubscription = ProductType(rawValue: "Non-Renewing Subscription")
        /// Several subscriptions that are sold together (iOS 27).
        public static let subscriptionBundle = ProductType(rawValue: "Subscription Bundle")
        /// The same, of several apps (iOS 27).
        public static let subscriptionSuite = ProductType(rawValue: "Subscription Suite")
    }

    /// Whether the customer bought it or got it through the family (ADP inAppOwnershipType).
    public struct OwnershipType: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Bought by the customer.
        public static let purchased = OwnershipType(rawValue: "PURCHASED")
        /// Shared by Family Sharing.
        public static let familyShared = OwnershipType(rawValue: "FAMILY_SHARED")
        /// A seat that an organisation bought and assigned (iOS 27; the server's spelling is not documented).
        public static let assigned = OwnershipType(rawValue: "ASSIGNED")
    }

    /// Why there is a transaction (ADP transactionReason).
    public struct TransactionReason: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer bought.
        public static let purchase = TransactionReason(rawValue: "PURCHASE")
        /// The App Store renewed a subscription.
        public static let renewal = TransactionReason(rawValue: "RENEWAL")
    }

    /// Why a transaction was refunded (ADP revocationReason).
    public struct RevocationReason: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: Int64

        /// Takes a value, known or not.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Any other reason.
        public static let other = RevocationReason(rawValue: 0)
        /// An actual or perceived issue with the app.
        public static let issueWithApp = RevocationReason(rawValue: 1)
    }

    /// How a transaction was revoked (ADP revocationType).
    public struct RevocationType: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// All of the price was refunded.
        public static let refundFull = RevocationType(rawValue: "REFUND_FULL")
        /// A part of the price was refunded.
        public static let refundProrated = RevocationType(rawValue: "REFUND_PRORATED")
        /// Family Sharing ended.
        public static let familyRevoke = RevocationType(rawValue: "FAMILY_REVOKE")
    }

    /// Which offer was redeemed (ADP offerType).
    public struct OfferType: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: Int64

        /// Takes a value, known or not.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// An introductory offer.
        public static let introductory = OfferType(rawValue: 1)
        /// A promotional offer.
        public static let promotional = OfferType(rawValue: 2)
        /// An offer code.
        public static let offerCode = OfferType(rawValue: 3)
        /// A win-back offer.
        public static let winBack = OfferType(rawValue: 4)
        /// A retention offer.
        public static let retention = OfferType(rawValue: 5)
    }

    /// How an offer is paid (ADP offerDiscountType).
    public struct OfferDiscountType: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Free for its time.
        public static let freeTrial = OfferDiscountType(rawValue: "FREE_TRIAL")
        /// A reduced price each period.
        public static let payAsYouGo = OfferDiscountType(rawValue: "PAY_AS_YOU_GO")
        /// A reduced price once.
        public static let payUpFront = OfferDiscountType(rawValue: "PAY_UP_FRONT")
        /// A reduced price for a one-time purchase.
        public static let oneTime = OfferDiscountType(rawValue: "ONE_TIME")
    }

    /// How a subscription with a commitment is billed (ADP billingPlanType).
    public struct BillingPlanType: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The commitment behind a subscription that is billed in instalments (ADP commitmentInfo).
    public struct CommitmentInfo: Sendable, Hashable {
        /// Which billing period this is, counted from one.
        public let billingPeriodNumber: Int64?
        /// How many billing periods were committed to.
        public let totalBillingPeriods: Int64?
        /// The price of the whole commitment, in milliunits of the currency.
        public let commitmentPrice: Int64?
        /// When the commitment ends.
        public let commitmentExpiresDate: Date?
    }
}
