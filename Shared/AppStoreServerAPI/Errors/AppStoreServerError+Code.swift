extension AppStoreServerError {
    /// Apple's number for an error: seven digits, the first three of them the HTTP status.
    ///
    /// A number that Apple adds tomorrow is kept as it came. Names and numbers: ADP, App Store Server API, Error codes, and
    /// Retention Messaging API, Error codes.
    public struct Code: OpenNumber {
        /// Apple's number.
        public let rawValue: Int64

        /// Takes a number, known or not.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Those of which Apple says that the same call may work later.
        public static let retryable: Set<Code> = [
            .accountNotFoundRetryable, .appNotFoundRetryable, .originalTransactionIdNotFoundRetryable,
            .generalInternalRetryable,
        ]
    }
}

/// Every number that Apple documents.
extension AppStoreServerError.Code {
    // MARK: 400, the request

    /// The request is invalid.
    public static let generalBadRequest = Self(rawValue: 4_000_000)
    /// The app's identifier is invalid.
    public static let invalidAppIdentifier = Self(rawValue: 4_000_002)
    /// The revision is invalid.
    public static let invalidRequestRevision = Self(rawValue: 4_000_005)
    /// The transaction id is invalid.
    public static let invalidTransactionId = Self(rawValue: 4_000_006)
    /// The original transaction id is invalid.
    public static let invalidOriginalTransactionId = Self(rawValue: 4_000_008)
    /// The number of days is invalid.
    public static let invalidExtendByDays = Self(rawValue: 4_000_009)
    /// The reason of an extension is invalid.
    public static let invalidExtendReasonCode = Self(rawValue: 4_000_010)
    /// The request's identifier is invalid.
    public static let invalidRequestIdentifier = Self(rawValue: 4_000_011)
    /// The start is earlier than Apple keeps anything.
    public static let startDateTooFarInPast = Self(rawValue: 4_000_012)
    /// The end is not after the start.
    public static let startDateAfterEndDate = Self(rawValue: 4_000_013)
    /// The pagination token is invalid.
    public static let invalidPaginationToken = Self(rawValue: 4_000_014)
    /// The start is not a time in milliseconds.
    public static let invalidStartDate = Self(rawValue: 4_000_015)
    /// The end is not a time in milliseconds.
    public static let invalidEndDate = Self(rawValue: 4_000_016)
    /// The pagination token is too old.
    public static let paginationTokenExpired = Self(rawValue: 4_000_017)
    /// The notification's type or subtype is invalid.
    public static let invalidNotificationType = Self(rawValue: 4_000_018)
    /// A transaction id and a notification type were both given.
    public static let multipleFiltersSupplied = Self(rawValue: 4_000_019)
    /// The test notification's token is invalid.
    public static let invalidTestNotificationToken = Self(rawValue: 4_000_020)
    /// The sorting is invalid.
    public static let invalidSort = Self(rawValue: 4_000_021)
    /// A product type is invalid.
    public static let invalidProductType = Self(rawValue: 4_000_022)
    /// A product id is invalid.
    public static let invalidProductId = Self(rawValue: 4_000_023)
    /// A subscription group's identifier is invalid.
    public static let invalidSubscriptionGroupIdentifier = Self(rawValue: 4_000_024)
    /// The old filter of revoked transactions is invalid.
    public static let invalidExcludeRevoked = Self(rawValue: 4_000_025)
    /// The ownership type is invalid.
    public static let invalidInAppOwnershipType = Self(rawValue: 4_000_026)
    /// The list of storefronts is empty.
    public static let invalidEmptyStorefrontCountryCodeList = Self(rawValue: 4_000_027)
    /// A storefront's code is invalid.
    public static let invalidStorefrontCountryCode = Self(rawValue: 4_000_028)
    /// The filter of revoked transactions is invalid.
    public static let invalidRevoked = Self(rawValue: 4_000_030)
    /// A subscription status is invalid.
    public static let invalidStatus = Self(rawValue: 4_000_031)
    /// The account's age is invalid.
    public static let invalidAccountTenure = Self(rawValue: 4_000_032)
    /// The app account token is neither a UUID nor empty.
    public static let invalidAppAccountToken = Self(rawValue: 4_000_033)
    /// The consumption status is invalid.
    public static let invalidConsumptionStatus = Self(rawValue: 4_000_034)
    /// The customer's consent is missing.
    public static let invalidCustomerConsented = Self(rawValue: 4_000_035)
    /// The delivery status is invalid.
    public static let invalidDeliveryStatus = Self(rawValue: 4_000_036)
    /// The purchases of a lifetime are invalid.
    public static let invalidLifetimeDollarsPurchased = Self(rawValue: 4_000_037)
    /// The refunds of a lifetime are invalid.
    public static let invalidLifetimeDollarsRefunded = Self(rawValue: 4_000_038)
    /// The platform is invalid.
    public static let invalidPlatform = Self(rawValue: 4_000_039)
    /// The play time is invalid.
    public static let invalidPlayTime = Self(rawValue: 4_000_040)
    /// Whether there was sample content is not said.
    public static let invalidSampleContentProvided = Self(rawValue: 4_000_041)
    /// The user's status is invalid.
    public static let invalidUserStatus = Self(rawValue: 4_000_042)
    /// The transaction is not a consumable.
    public static let invalidTransactionNotConsumable = Self(rawValue: 4_000_043)
    /// The call does not support this type of product.
    public static let invalidTransactionTypeNotSupported = Self(rawValue: 4_000_047)
    /// The call does not support app transaction ids.
    public static let appTransactionIdNotSupported = Self(rawValue: 4_000_048)
    /// The image is not as Apple asks.
    public static let invalidImage = Self(rawValue: 4_000_161)
    /// The message's header is too long.
    public static let headerTooLong = Self(rawValue: 4_000_162)
    /// The message's body is too long.
    public static let bodyTooLong = Self(rawValue: 4_000_163)
    /// The locale is invalid.
    public static let invalidLocale = Self(rawValue: 4_000_164)
    /// An alternative text is too long.
    public static let altTextTooLong = Self(rawValue: 4_000_175)
    /// The app account token is not a UUID.
    public static let invalidAppAccountTokenUUID = Self(rawValue: 4_000_183)
    /// The call does not support Family Sharing.
    public static let familyTransactionNotSupported = Self(rawValue: 4_000_185)
    /// The id is not an original transaction's.
    public static let transactionIdNotOriginalTransactionId = Self(rawValue: 4_000_187)
    /// The performance test's request is invalid.
    public static let invalidPerformanceTestRequest = Self(rawValue: 4_000_211)
    /// The performance test's id is invalid.
    public static let invalidRequestId = Self(rawValue: 4_000_212)
    /// A performance test is running already.
    public static let existingPerformanceTestRun = Self(rawValue: 4_000_213)
    /// The real-time URL is invalid.
    public static let badRequestRealtimeURL = Self(rawValue: 4_000_215)
    /// The image's size is invalid.
    public static let badRequestImageSize = Self(rawValue: 4_000_216)
    /// There are too many bullet points.
    public static let badRequestTooManyBulletPoints = Self(rawValue: 4_000_218)
    /// A bullet point's text is too long.
    public static let badRequestBulletPointTextTooLong = Self(rawValue: 4_000_219)
    /// A header above the image needs an image.
    public static let badRequestAboveImageRequiresAnImage = Self(rawValue: 4_000_224)

    // MARK: 403, not allowed

    /// The subscription cannot be extended in its state.
    public static let subscriptionExtensionIneligible = Self(rawValue: 4_030_004)
    /// The subscription was extended as often as may be.
    public static let subscriptionMaxExtension = Self(rawValue: 4_030_005)
    /// A shared subscription is extended with its buyer's.
    public static let familySharedSubscriptionExtensionIneligible = Self(rawValue: 4_030_007)
    /// There are as many images as may be.
    public static let maximumNumberOfImagesReached = Self(rawValue: 4_030_014)
    /// There are as many messages as may be.
    public static let maximumNumberOfMessagesReached = Self(rawValue: 4_030_016)
    /// The message was not approved.
    public static let messageNotApproved = Self(rawValue: 4_030_017)
    /// The image was not approved.
    public static let imageNotApproved = Self(rawValue: 4_030_018)
    /// A message shows the image.
    public static let imageInUse = Self(rawValue: 4_030_019)
    /// Production needs a performance test that was passed.
    public static let forbiddenNoPassingTest = Self(rawValue: 4_030_026)

    // MARK: 404, nothing there

    /// The account was not found.
    public static let accountNotFound = Self(rawValue: 4_040_001)
    /// The account was not found; it may be later.
    public static let accountNotFoundRetryable = Self(rawValue: 4_040_002)
    /// The app was not found.
    public static let appNotFound = Self(rawValue: 4_040_003)
    /// The app was not found; it may be later.
    public static let appNotFoundRetryable = Self(rawValue: 4_040_004)
    /// The original transaction was not found.
    public static let originalTransactionIdNotFound = Self(rawValue: 4_040_005)
    /// The original transaction was not found; it may be later.
    public static let originalTransactionIdNotFoundRetryable = Self(rawValue: 4_040_006)
    /// The app has no URL for server notifications.
    public static let serverNotificationURLNotFound = Self(rawValue: 4_040_007)
    /// The test notification was not found.
    public static let testNotificationNotFound = Self(rawValue: 4_040_008)
    /// The request to extend was not found.
    public static let statusRequestNotFound = Self(rawValue: 4_040_009)
    /// The transaction was not found: another environment may have it.
    public static let transactionIdNotFound = Self(rawValue: 4_040_010)
    /// The image was not found.
    public static let imageNotFound = Self(rawValue: 4_040_014)
    /// The message was not found.
    public static let messageNotFound = Self(rawValue: 4_040_015)
    /// The performance test was not found.
    public static let performanceTestRunNotFound = Self(rawValue: 4_040_018)
    /// The customer has no app transaction.
    public static let appTransactionDoesNotExist = Self(rawValue: 4_040_019)
    /// There is no default message.
    public static let defaultMessageNotFound = Self(rawValue: 4_040_020)
    /// There is no real-time URL.
    public static let realtimeURLNotFound = Self(rawValue: 4_040_021)

    // MARK: 409, there already

    /// The image exists already.
    public static let imageAlreadyExists = Self(rawValue: 4_090_000)
    /// The message exists already.
    public static let messageAlreadyExists = Self(rawValue: 4_090_001)

    // MARK: 429, too many

    /// There were too many calls.
    public static let rateLimitExceeded = Self(rawValue: 4_290_000)

    // MARK: 500, Apple's trouble

    /// Apple does not know what is wrong.
    public static let generalInternal = Self(rawValue: 5_000_000)
    /// Apple does not know what is wrong; it may work later.
    public static let generalInternalRetryable = Self(rawValue: 5_000_001)
}
