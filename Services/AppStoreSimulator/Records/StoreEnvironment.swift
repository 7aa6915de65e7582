/// Which App Store: the two know different transactions and answer on different hosts.
enum StoreEnvironment: String, Codable, Sendable, CaseIterable, Hashable {
    case production = "Production"
    case sandbox = "Sandbox"
}

/// Apple's names of the product types, as they stand in `JWSTransactionDecodedPayload.type`.
enum ProductType: String, Codable, Sendable, CaseIterable {
    case consumable = "Consumable"
    case nonConsumable = "Non-Consumable"
    case autoRenewableSubscription = "Auto-Renewable Subscription"
    case nonRenewingSubscription = "Non-Renewing Subscription"
}
