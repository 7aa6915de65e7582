import HTTPTypes

extension APIError {
    static let generalBadRequest = badRequest(4_000_000, "Bad request.")

    // MARK: Which transaction

    static let invalidRequestRevision = badRequest(4_000_005, "Invalid request revision.")
    static let invalidTransactionId = badRequest(4_000_006, "Invalid transaction id.")
    static let invalidOriginalTransactionId = badRequest(4_000_008, "Invalid original transaction id.")
    static let appTransactionIdNotSupported = badRequest(
        4_000_048, "Invalid request. App transaction id is not supported for this endpoint.")

    // MARK: Extensions

    static let invalidExtendByDays = badRequest(4_000_009, "Invalid extend by days value.")
    static let invalidExtendReasonCode = badRequest(4_000_010, "Invalid extend reason code.")
    static let invalidRequestIdentifier = badRequest(4_000_011, "Invalid request identifier.")
    static let invalidEmptyStorefrontCountryCodeList = badRequest(
        4_000_027, "Invalid request. If provided, the list of storefront country codes must not be empty.")
    static let invalidStorefrontCountryCode = badRequest(
        4_000_028, "Invalid request. A storefront country code was invalid.")

    // MARK: Histories

    static let startDateTooFarInPast = badRequest(
        4_000_012, "Invalid request. The start date is earlier than the allowed start date.")
    static let startDateAfterEndDate = badRequest(
        4_000_013, "Invalid request. The end date precedes the start date or the dates are the same.")
    static let invalidPaginationToken = badRequest(4_000_014, "Invalid request. The pagination token is invalid.")
    static let invalidStartDate = badRequest(
        4_000_015, "Invalid request. The start date is not a timestamp value represented in milliseconds.")
    static let invalidEndDate = badRequest(
        4_000_016, "Invalid request. The end date is not a timestamp value represented in milliseconds.")
    static let paginationTokenExpired = badRequest(4_000_017, "Invalid request. The pagination token is expired.")
    static let invalidNotificationType = badRequest(
        4_000_018, "Invalid request. The notification type or subtype is invalid.")
    static let multipleFiltersSupplied = badRequest(
        4_000_019, "Invalid request. Supply either a transaction id or a notification type, but not both.")
    static let invalidTestNotificationToken = badRequest(
        4_000_020, "Invalid request. The test notification token is invalid.")
    static let invalidSort = badRequest(4_000_021, "Invalid request. The sort parameter is invalid.")
    static let invalidProductType = badRequest(4_000_022, "Invalid request. The product type parameter is invalid.")
    static let invalidProductId = badRequest(4_000_023, "Invalid request. The product id parameter is invalid.")
    static let invalidSubscriptionGroupIdentifier = badRequest(
        4_000_024, "Invalid request. The subscription group identifier parameter is invalid.")
    static let invalidInAppOwnershipType = badRequest(
        4_000_026, "Invalid request. The in-app ownership type parameter is invalid.")
    static let invalidRevoked = badRequest(4_000_030, "Invalid request. The revoked parameter is invalid.")
    static let invalidStatus = badRequest(4_000_031, "Invalid request. The status parameter is invalid.")

    // MARK: Consumption

    static let invalidAccountTenure = field(4_000_032, "accountTenure")
    static let invalidAppAccountToken = badRequest(
        4_000_033, "Invalid request. The appAccountToken field must contain a valid UUID or an empty string.")
    static let invalidConsumptionStatus = field(4_000_034, "consumptionStatus")
    static let invalidCustomerConsented = badRequest(
        4_000_035, "Invalid request. The customerConsented field is required and must indicate the customer consented.")
    static let invalidDeliveryStatus = field(4_000_036, "deliveryStatus")
    static let invalidLifetimeDollarsPurchased = field(4_000_037, "lifetimeDollarsPurchased")
    static let invalidLifetimeDollarsRefunded = field(4_000_038, "lifetimeDollarsRefunded")
    static let invalidPlatform = field(4_000_039, "platform")
    static let invalidPlayTime = field(4_000_040, "playTime")
    static let invalidSampleContentProvided = field(4_000_041, "sampleContentProvided")
    static let invalidUserStatus = field(4_000_042, "userStatus")
    static let invalidTransactionTypeNotSupported = badRequest(
        4_000_047, "Invalid request. The transaction id doesn't represent a supported in-app purchase type.")

    // Apple's pages name these errors but not their numbers (apple-facts C4), so they carry the general one.
    static let invalidRefundPreference = field(4_000_000, "refundPreference")
    static let consumptionPercentageOutOfRange = badRequest(
        4_000_000, "Invalid request. The consumptionPercentage field must be from 0 to 100000.")
    static let consumptionPercentageNotZero = badRequest(
        4_000_000, "Invalid request. The consumptionPercentage of an undelivered purchase must be 0.")
    static let consumptionPercentageOfSubscription = badRequest(
        4_000_000, "Invalid request. The consumptionPercentage field isn't for auto-renewable subscriptions.")
    static let advancedCommerceNotSupported = badRequest(
        4_000_000, "Invalid request. The endpoint doesn't support Advanced Commerce transactions.")

    // MARK: App account token

    static let invalidAppAccountTokenUUID = badRequest(
        4_000_183, "Invalid request. The app account token value must be a valid UUID.")
    static let familyTransactionNotSupported = badRequest(
        4_000_185, "Invalid request. Family Sharing transactions aren't supported by this endpoint.")
    static let transactionIdNotOriginalTransactionId = badRequest(
        4_000_187, "Invalid request. The transaction id provided is not an original transaction id.")

    private static func badRequest(_ code: Int64, _ message: String) -> APIError {
        APIError(.badRequest, code, message)
    }

    private static func field(_ code: Int64, _ name: String) -> APIError {
        badRequest(code, "Invalid request. The \(name) field is invalid.")
    }
}
