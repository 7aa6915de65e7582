// Apple's enumerations, each open: a value of tomorrow is kept, not refused (C8).
extension SignedNotification {
    /// What happened (ADP notificationType).
    public struct NotificationType: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A subscription was bought, for the first time or again.
        public static let subscribed = NotificationType(rawValue: "SUBSCRIBED")
        /// A subscriber chose another plan.
        public static let didChangeRenewalPref = NotificationType(rawValue: "DID_CHANGE_RENEWAL_PREF")
        /// Auto-renewal was turned on or off.
        public static let didChangeRenewalStatus = NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS")
        /// A subscriber redeemed an offer.
        public static let offerRedeemed = NotificationType(rawValue: "OFFER_REDEEMED")
        /// A subscription renewed.
        public static let didRenew = NotificationType(rawValue: "DID_RENEW")
        /// A subscription ended.
        public static let expired = NotificationType(rawValue: "EXPIRED")
        /// A renewal's payment failed.
        public static let didFailToRenew = NotificationType(rawValue: "DID_FAIL_TO_RENEW")
        /// The grace period is over, and the payment has not come.
        public static let gracePeriodExpired = NotificationType(rawValue: "GRACE_PERIOD_EXPIRED")
        /// A subscriber was told of a higher price.
        public static let priceIncrease = NotificationType(rawValue: "PRICE_INCREASE")
        /// A transaction was refunded.
        public static let refund = NotificationType(rawValue: "REFUND")
        /// A refund was declined.
        public static let refundDeclined = NotificationType(rawValue: "REFUND_DECLINED")
        /// A refund was taken back.
        public static let refundReversed = NotificationType(rawValue: "REFUND_REVERSED")
        /// Apple asks how much of a purchase was used.
        public static let consumptionRequest = NotificationType(rawValue: "CONSUMPTION_REQUEST")
        /// The developer extended one subscription.
        public static let renewalExtended = NotificationType(rawValue: "RENEWAL_EXTENDED")
        /// An extension of many subscriptions ended, or failed for one.
        public static let renewalExtension = NotificationType(rawValue: "RENEWAL_EXTENSION")
        /// Access by Family Sharing ended.
        public static let revoke = NotificationType(rawValue: "REVOKE")
        /// Something was bought once.
        public static let oneTimeCharge = NotificationType(rawValue: "ONE_TIME_CHARGE")
        /// There is a token for a purchase outside the App Store.
        public static let externalPurchaseToken = NotificationType(rawValue: "EXTERNAL_PURCHASE_TOKEN")
        /// A guardian withdrew consent.
        public static let rescindConsent = NotificationType(rawValue: "RESCIND_CONSENT")
        /// Advanced Commerce: a subscription's texts changed.
        public static let metadataUpdate = NotificationType(rawValue: "METADATA_UPDATE")
        /// Advanced Commerce: a subscription was migrated; see ``migrate``.
        public static let migration = NotificationType(rawValue: "MIGRATION")
        /// What Apple's changelog calls ``migration``; it means the same.
        public static let migrate = NotificationType(rawValue: "MIGRATE")
        /// Advanced Commerce: a subscription's price changed.
        public static let priceChange = NotificationType(rawValue: "PRICE_CHANGE")
        /// Sent on request, about nothing.
        public static let test = NotificationType(rawValue: "TEST")
    }

    /// More about what happened (ADP subtype); its meaning depends on the type.
    public struct Subtype: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Bought for the first time.
        public static let initialBuy = Subtype(rawValue: "INITIAL_BUY")
        /// Bought again.
        public static let resubscribe = Subtype(rawValue: "RESUBSCRIBE")
        /// To a higher plan, at once.
        public static let upgrade = Subtype(rawValue: "UPGRADE")
        /// To a lower plan, with the next renewal.
        public static let downgrade = Subtype(rawValue: "DOWNGRADE")
        /// Auto-renewal is on.
        public static let autoRenewEnabled = Subtype(rawValue: "AUTO_RENEW_ENABLED")
        /// Auto-renewal is off.
        public static let autoRenewDisabled = Subtype(rawValue: "AUTO_RENEW_DISABLED")
        /// A payment that had failed came.
        public static let billingRecovery = Subtype(rawValue: "BILLING_RECOVERY")
        /// The subscriber turned auto-renewal off.
        public static let voluntary = Subtype(rawValue: "VOLUNTARY")
        /// The payment failed until Apple gave up.
        public static let billingRetry = Subtype(rawValue: "BILLING_RETRY")
        /// The subscriber did not agree to a higher price.
        public static let priceIncrease = Subtype(rawValue: "PRICE_INCREASE")
        /// The product was not for sale any more.
        public static let productNotForSale = Subtype(rawValue: "PRODUCT_NOT_FOR_SALE")
        /// Access goes on for the grace period.
        public static let gracePeriod = Subtype(rawValue: "GRACE_PERIOD")
        /// The subscriber has not answered.
        public static let pending = Subtype(rawValue: "PENDING")
        /// The subscriber agreed, or need not.
        public static let accepted = Subtype(rawValue: "ACCEPTED")
        /// The whole extension is done.
        public static let summary = Subtype(rawValue: "SUMMARY")
        /// The extension failed for one subscription.
        public static let failure = Subtype(rawValue: "FAILURE")
        /// A token was not reported on.
        public static let unreported = Subtype(rawValue: "UNREPORTED")
        /// A token was made.
        public static let created = Subtype(rawValue: "CREATED")
        /// A token is still active.
        public static let activeTokenReminder = Subtype(rawValue: "ACTIVE_TOKEN_REMINDER")
    }

    /// The state of a subscription (ADP status).
    public struct SubscriptionStatus: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: Int64

        /// Takes a value, known or not.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Paid.
        public static let active = SubscriptionStatus(rawValue: 1)
        /// Ended.
        public static let expired = SubscriptionStatus(rawValue: 2)
        /// Apple tries to charge; access may stop.
        public static let billingRetry = SubscriptionStatus(rawValue: 3)
        /// Apple tries to charge; access goes on.
        public static let gracePeriod = SubscriptionStatus(rawValue: 4)
        /// Refunded, or no longer shared.
        public static let revoked = SubscriptionStatus(rawValue: 5)
    }

    /// Why a customer asks for a refund (ADP consumptionRequestReason).
    public struct ConsumptionRequestReason: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Bought by mistake.
        public static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
        /// Not received, or it did not work.
        public static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
        /// Not what was hoped for.
        public static let unsatisfiedWithPurchase = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
        /// For a legal reason.
        public static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
        /// Any other reason.
        public static let other = ConsumptionRequestReason(rawValue: "OTHER")
    }
}
