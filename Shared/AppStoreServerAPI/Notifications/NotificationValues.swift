/// A type of server notification.
public struct NotificationTypeName: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A subscription began, or began again.
    public static let subscribed = Self(rawValue: "SUBSCRIBED")
    /// The plan was changed.
    public static let didChangeRenewalPref = Self(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// Renewing was turned on or off.
    public static let didChangeRenewalStatus = Self(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// An offer was taken.
    public static let offerRedeemed = Self(rawValue: "OFFER_REDEEMED")
    /// A subscription renewed.
    public static let didRenew = Self(rawValue: "DID_RENEW")
    /// A subscription is over.
    public static let expired = Self(rawValue: "EXPIRED")
    /// A renewal was not paid.
    public static let didFailToRenew = Self(rawValue: "DID_FAIL_TO_RENEW")
    /// The time of grace is over.
    public static let gracePeriodExpired = Self(rawValue: "GRACE_PERIOD_EXPIRED")
    /// A price rises.
    public static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
    /// Money was given back.
    public static let refund = Self(rawValue: "REFUND")
    /// A refund was declined.
    public static let refundDeclined = Self(rawValue: "REFUND_DECLINED")
    /// A refund was taken back.
    public static let refundReversed = Self(rawValue: "REFUND_REVERSED")
    /// A refund is asked for.
    public static let consumptionRequest = Self(rawValue: "CONSUMPTION_REQUEST")
    /// A renewal date was extended.
    public static let renewalExtended = Self(rawValue: "RENEWAL_EXTENDED")
    /// A mass extension went on.
    public static let renewalExtension = Self(rawValue: "RENEWAL_EXTENSION")
    /// Family Sharing ended.
    public static let revoke = Self(rawValue: "REVOKE")
    /// A test.
    public static let test = Self(rawValue: "TEST")
    /// About a purchase outside the App Store.
    public static let externalPurchaseToken = Self(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    /// Something was bought once.
    public static let oneTimeCharge = Self(rawValue: "ONE_TIME_CHARGE")
    /// A guardian takes consent back.
    public static let rescindConsent = Self(rawValue: "RESCIND_CONSENT")
    /// Advanced Commerce: a subscription's data changed.
    public static let metadataUpdate = Self(rawValue: "METADATA_UPDATE")
    /// Advanced Commerce: a subscription moved.
    public static let migration = Self(rawValue: "MIGRATION")
    /// Advanced Commerce: a price changed.
    public static let priceChange = Self(rawValue: "PRICE_CHANGE")
}

/// A subtype of server notification.
public struct NotificationSubtypeName: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The first time.
    public static let initialBuy = Self(rawValue: "INITIAL_BUY")
    /// Again.
    public static let resubscribe = Self(rawValue: "RESUBSCRIBE")
    /// To a lower level.
    public static let downgrade = Self(rawValue: "DOWNGRADE")
    /// To a higher level.
    public static let upgrade = Self(rawValue: "UPGRADE")
    /// Turned on.
    public static let autoRenewEnabled = Self(rawValue: "AUTO_RENEW_ENABLED")
    /// Turned off.
    public static let autoRenewDisabled = Self(rawValue: "AUTO_RENEW_DISABLED")
    /// By the customer.
    public static let voluntary = Self(rawValue: "VOLUNTARY")
    /// By not being paid.
    public static let billingRetry = Self(rawValue: "BILLING_RETRY")
    /// By not consenting to a price.
    public static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
    /// With a time of grace.
    public static let gracePeriod = Self(rawValue: "GRACE_PERIOD")
    /// Consent is waited for.
    public static let pending = Self(rawValue: "PENDING")
    /// Consent was given, or not needed.
    public static let accepted = Self(rawValue: "ACCEPTED")
    /// Paid after all.
    public static let billingRecovery = Self(rawValue: "BILLING_RECOVERY")
    /// The product is gone.
    public static let productNotForSale = Self(rawValue: "PRODUCT_NOT_FOR_SALE")
    /// The sum of it.
    public static let summary = Self(rawValue: "SUMMARY")
    /// One that failed.
    public static let failure = Self(rawValue: "FAILURE")
    /// Not reported yet.
    public static let unreported = Self(rawValue: "UNREPORTED")
    /// A token was made.
    public static let created = Self(rawValue: "CREATED")
    /// A token is still active.
    public static let activeTokenReminder = Self(rawValue: "ACTIVE_TOKEN_REMINDER")
}

/// What came of sending a notification, or of one request of a performance test.
public struct SendAttemptResult: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Answered well.
    public static let success = Self(rawValue: "SUCCESS")
    /// Not in time.
    public static let timedOut = Self(rawValue: "TIMED_OUT")
    /// No secure connection.
    public static let tlsIssue = Self(rawValue: "TLS_ISSUE")
    /// Redirected in circles.
    public static let circularRedirect = Self(rawValue: "CIRCULAR_REDIRECT")
    /// No answer.
    public static let noResponse = Self(rawValue: "NO_RESPONSE")
    /// The connection broke.
    public static let socketIssue = Self(rawValue: "SOCKET_ISSUE")
    /// An unknown character set.
    public static let unsupportedCharset = Self(rawValue: "UNSUPPORTED_CHARSET")
    /// Not an answer.
    public static let invalidResponse = Self(rawValue: "INVALID_RESPONSE")
    /// Closed too early.
    public static let prematureClose = Self(rawValue: "PREMATURE_CLOSE")
    /// Another status than 200 to 206.
    public static let unsuccessfulHttpResponseCode = Self(rawValue: "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
    /// Something else.
    public static let other = Self(rawValue: "OTHER")
}
