/// The checks of Send Consumption Information, second version (apple-facts C11).
enum ConsumptionV2 {
    enum Limit {
        /// Milliunits of per cent.
        static let percentage: ClosedRange<Int64> = 0...100_000
    }

    private static let delivered = "DELIVERED"
    private static let deliveryStatuses: Set<String> = [
        delivered, "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
        "UNDELIVERED_OTHER",
    ]
    private static let refundPreferences: Set<String> = ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"]

    /// Whether a body says what it must, field by field.
    static func check(_ body: [String: JSONValue]) throws(APIError) {
        guard body["customerConsented"]?.flag == true else { throw .invalidCustomerConsented }
        guard body["sampleContentProvided"]?.flag != nil else { throw .invalidSampleContentProvided }
        guard let status = body["deliveryStatus"]?.text, deliveryStatuses.contains(status) else {
            throw .invalidDeliveryStatus
        }
        if let preference = body["refundPreference"], !preference.isNull {
            guard let text = preference.text, refundPreferences.contains(text) else { throw .invalidRefundPreference }
        }
        if let percentage = body["consumptionPercentage"], !percentage.isNull {
            guard let number = percentage.whole, Limit.percentage.contains(number) else {
                throw .consumptionPercentageOutOfRange
            }
            guard status == delivered || number == 0 else { throw .consumptionPercentageNotZero }
        }
    }

    /// Whether it may be said of this purchase.
    static func check(_ body: [String: JSONValue], of transaction: TransactionRecord) throws(APIError) {
        guard transaction.advancedCommerceInfo == nil else { throw .advancedCommerceNotSupported }
        let hasPercentage = body["consumptionPercentage"].map { !$0.isNull } ?? false
        guard !hasPercentage || transaction.type != .autoRenewableSubscription else {
            throw .consumptionPercentageOfSubscription
        }
    }
}
