public import Foundation

/// What became of a purchase, as the first version has it (ADP, ConsumptionRequestV1).
public struct ConsumptionRequestV1: Encodable, Sendable, Hashable {
    /// Whether the customer agreed to this being told; without that nothing may be sent, and such a request is refused.
    public var customerConsented: Bool
    /// Whether the customer could try before.
    public var sampleContentProvided: Bool
    /// Whether it was delivered.
    public var deliveryStatus = DeliveryStatusV1.delivered
    /// How much was used.
    public var consumptionStatus = ConsumptionStatus.undeclared
    /// Where it was used.
    public var platform = ConsumptionPlatform.undeclared
    /// The purchase's token; sent as an empty text when it has none.
    public var appAccountToken: UUID?
    /// How old the account is.
    public var accountTenure = AccountTenure.undeclared
    /// How long the customer used the app.
    public var playTime = PlayTime.undeclared
    /// What the customer was paid back, on all platforms.
    public var lifetimeDollarsRefunded = LifetimeDollars.undeclared
    /// What the customer paid, on all platforms.
    public var lifetimeDollarsPurchased = LifetimeDollars.undeclared
    /// How the account stands.
    public var userStatus = UserStatus.undeclared
    /// What the developer would like.
    public var refundPreference: RefundPreferenceV1?

    /// Takes what must be said; the rest is undeclared until it is set.
    public init(customerConsented: Bool, sampleContentProvided: Bool) {
        self.customerConsented = customerConsented
        self.sampleContentProvided = sampleContentProvided
    }

    private enum CodingKeys: CodingKey {
        case customerConsented, sampleContentProvided, deliveryStatus, consumptionStatus, platform, appAccountToken
        case accountTenure, playTime, lifetimeDollarsRefunded, lifetimeDollarsPurchased, userStatus, refundPreference
    }

    /// Writes Apple's JSON.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(customerConsented, forKey: .customerConsented)
        try fields.encode(sampleContentProvided, forKey: .sampleContentProvided)
        try fields.encode(deliveryStatus, forKey: .deliveryStatus)
        try fields.encode(consumptionStatus, forKey: .consumptionStatus)
        try fields.encode(platform, forKey: .platform)
        try fields.encode(appAccountToken?.uuidString.lowercased() ?? "", forKey: .appAccountToken)
        try fields.encode(accountTenure, forKey: .accountTenure)
        try fields.encode(playTime, forKey: .playTime)
        try fields.encode(lifetimeDollarsRefunded, forKey: .lifetimeDollarsRefunded)
        try fields.encode(lifetimeDollarsPurchased, forKey: .lifetimeDollarsPurchased)
        try fields.encode(userStatus, forKey: .userStatus)
        try fields.encodeIfPresent(refundPreference, forKey: .refundPreference)
    }

    /// The body as it is sent, byte for byte.
    ///
    /// - Throws: ``AppStoreServerError`` when a value cannot be written.
    public func bodyText() throws -> String {
        String(decoding: try APICall.encoded(self), as: UTF8.self)
    }

    func check() throws {
        guard customerConsented else {
            throw AppStoreServerError.refused(.invalidCustomerConsented, "customerConsented: true, or nothing is sent")
        }
    }
}
