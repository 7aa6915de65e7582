/// The calls that Apple limits, each by itself and for each app (apple-facts C3).
enum RateLimitedCall: String, Sendable, CaseIterable {
    case finishTransaction
    case appTransactionInfo
    case transactionInfo
    case transactionHistory
    case subscriptionStatuses
    case consumption
    case consumptionV1
    case notificationHistory
    case extendRenewalDate
    case setAppAccountToken
    case lookUpOrder
    case refundHistory
    case massExtendRenewalDate
    case requestTestNotification
    case testNotificationStatus

    /// Requests a second in production.
    var rate: Double {
        switch self {
        case .finishTransaction, .appTransactionInfo, .transactionInfo, .transactionHistory, .subscriptionStatuses,
            .consumption, .consumptionV1, .notificationHistory:
            50
        case .extendRenewalDate, .setAppAccountToken: 20
        case .lookUpOrder, .refundHistory: 10
        case .massExtendRenewalDate, .requestTestNotification, .testNotificationStatus: 1
        }
    }
}
