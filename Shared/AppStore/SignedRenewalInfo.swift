public import Foundation

/// What comes next for a subscription, as the App Store signed it: Apple's `JWSRenewalInfoDecodedPayload`, field by field
/// under Apple's names.
///
/// It names no app: it belongs to whoever owns the transaction with its ``originalTransactionId``. Only
/// ``SignedDataVerifier`` makes one, so whoever has one has a proof.
public struct SignedRenewalInfo: Sendable {
    /// The subscription: the id of its first purchase.
    public let originalTransactionId: String
    /// The product that is subscribed to now.
    public let productId: String
    /// The product that renews next.
    public let autoRenewProductId: String?
    /// Whether it will renew.
    public let autoRenewStatus: AutoRenewStatus?
    /// Why it expired.
    public let expirationIntent: ExpirationIntent?
    /// Whether the App Store still tries to charge for an expired subscription.
    public let isInBillingRetryPeriod: Bool?
    /// Whether the customer agreed to a higher price.
    public let priceIncreaseStatus: PriceIncreaseStatus?
    /// Until when access goes on though the payment failed.
    public let gracePeriodExpiresDate: Date?
    /// Which kind of offer applies to the next renewal.
    public let offerType: SignedTransaction.OfferType?
    /// The offer's id or code.
    public let offerIdentifier: String?
    /// How the offer is paid.
    public let offerDiscountType: SignedTransaction.OfferDiscountType?
    /// How long the offer lasts, as an ISO 8601 duration.
    public let offerPeriod: String?
    /// When the App Store signed this.
    public let signedDate: Date
    /// When the first of the certificates that it was signed under expires; they were valid at ``signedDate``.
    public let certificatesExpire: Date
    /// Production or sandbox; nil in what Apple signed before 2022.
    public let environment: SignedDataEnvironment?
    /// When the latest run of subscription periods began, lapses of up to 60 days not counted.
    public let recentSubscriptionStartDate: Date?
    /// When the next period begins, if it does.
    public let renewalDate: Date?
    /// The price of the next period in milliunits of ``currency``.
    public let renewalPrice: Int64?
    /// The price's currency, as three letters.
    public let currency: String?
    /// The win-back offers that the customer may redeem, the best first.
    public let eligibleWinBackOfferIds: [String]?
    /// The UUID that the app set; nil also when it is not a UUID, and then named in ``unreadableFields``.
    public let appAccountToken: UUID?
    /// The id of the customer's purchase of the app itself.
    public let appTransactionId: String?
    /// What the Advanced Commerce API attaches, as JSON text.
    public let advancedCommerceInfo: String?
    /// How the next period is billed.
    public let renewalBillingPlanType: SignedTransaction.BillingPlanType?
    /// What comes after the commitment behind a subscription that is billed in instalments.
    public let commitmentInfo: CommitmentInfo?
    /// Names of known fields that could not be read and were left out; their values are in ``payload``.
    public let unreadableFields: [String]
    /// Names of fields that this version does not know, sorted; their values are in ``payload``.
    public let unknownFields: [String]
    /// The JSON that was signed, byte for byte.
    public let payload: [UInt8]
}

extension SignedRenewalInfo {
    /// Whether a subscription renews (ADP autoRenewStatus).
    public struct AutoRenewStatus: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: Int64

        /// Takes a value, known or not.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// It ends with its period.
        public static let off = AutoRenewStatus(rawValue: 0)
        /// It renews.
        public static let on = AutoRenewStatus(rawValue: 1)
    }

    /// Why a subscription expired (ADP expirationIntent).
    public struct ExpirationIntent: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: Int64

        /// Takes a value, known or not.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// The customer cancelled.
        public static let customerCancelled = ExpirationIntent(rawValue: 1)
        /// The payment failed.
        public static let billingError = ExpirationIntent(rawValue: 2)
        /// The customer did not agree to a higher price.
        public static let noConsentToPriceIncrease = ExpirationIntent(rawValue: 3)
        /// The product was not for sale any more.
        public static let productNotAvailable = ExpirationIntent(rawValue: 4)
        /// Any other reason.
        public static let other = ExpirationIntent(rawValue: 5)
    }

    /// Whether the customer agreed to a higher price (ADP priceIncreaseStatus).
    public struct PriceIncreaseStatus: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: Int64

        /// Takes a value, known or not.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Asked, and has not answered.
        public static let notResponded = PriceIncreaseStatus(rawValue: 0)
        /// Agreed, or was told of a rise that needs no consent.
        public static let agreed = PriceIncreaseStatus(rawValue: 1)
    }

    /// What comes after a commitment (ADP JWSRenewalInfoDecodedPayload.commitmentInfo).
    public struct CommitmentInfo: Sendable, Hashable {
        /// The product that the next commitment is for.
        public let commitmentAutoRenewProductId: String?
        /// Whether the commitment renews.
        public let commitmentAutoRenewStatus: AutoRenewStatus?
        /// How the next commitment is billed.
        public let commitmentRenewalBillingPlanType: SignedTransaction.BillingPlanType?
        /// When the next commitment begins.
        public let commitmentRenewalDate: Date?
        /// The price of the next commitment, in milliunits of the currency.
        public let commitmentRenewalPrice: Int64?
    }
}
