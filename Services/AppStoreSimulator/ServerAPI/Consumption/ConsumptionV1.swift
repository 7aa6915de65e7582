import Foundation

/// The checks of Send Consumption Information, first version: deprecated, and the one for Advanced Commerce.
///
/// Apple requires every field but `refundPreference` (documentation of ConsumptionRequestV1).
enum ConsumptionV1 {
    /// A field whose values are numbers from 0 on.
    private struct Choice {
        let name: String
        let highest: Int64
        let error: APIError
        var isOptional = false
    }

    private static let choices = [
        Choice(name: "consumptionStatus", highest: 3, error: .invalidConsumptionStatus),
        Choice(name: "platform", highest: 2, error: .invalidPlatform),
        Choice(name: "deliveryStatus", highest: 5, error: .invalidDeliveryStatus),
        Choice(name: "accountTenure", highest: 7, error: .invalidAccountTenure),
        Choice(name: "playTime", highest: 7, error: .invalidPlayTime),
        Choice(name: "lifetimeDollarsRefunded", highest: 7, error: .invalidLifetimeDollarsRefunded),
        Choice(name: "lifetimeDollarsPurchased", highest: 7, error: .invalidLifetimeDollarsPurchased),
        Choice(name: "userStatus", highest: 4, error: .invalidUserStatus),
        Choice(name: "refundPreference", highest: 3, error: .invalidRefundPreference, isOptional: true),
    ]

    /// Whether a body says what it must, field by field.
    static func check(_ body: [String: JSONValue]) throws(APIError) {
        guard body["customerConsented"]?.flag == true else { throw .invalidCustomerConsented }
        guard body["sampleContentProvided"]?.flag != nil else { throw .invalidSampleContentProvided }
        guard let token = body["appAccountToken"]?.text, token.isEmpty || UUID(uuidString: token) != nil else {
            throw .invalidAppAccountToken
        }
        for choice in choices {
            let value = body[choice.name] ?? .null
            if choice.isOptional, value.isNull { continue }
            guard let number = value.whole, (0...choice.highest).contains(number) else { throw choice.error }
        }
    }

    /// Whether it may be said of this purchase: a consumable or a subscription that renews.
    static func check(of transaction: TransactionRecord) throws(APIError) {
        guard [.consumable, .autoRenewableSubscription].contains(transaction.type) else {
            throw .invalidTransactionTypeNotSupported
        }
    }
}
