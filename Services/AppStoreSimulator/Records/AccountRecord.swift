/// An Apple ID.
struct AccountRecord: Codable, Sendable, Identifiable {
    /// A name for people, such as `alice`.
    var id: String
    /// ISO 3166-1 alpha-3.
    var storefront: String
    /// Apple's number of the storefront, such as 143441.
    var storefrontId: String
    /// Whose family this belongs to: any text; members of one family have the same.
    var family: String?
    /// A child whose purchases a guardian must approve.
    var needsApproval: Bool
    /// Whether its payment method works; renewals fail while it does not.
    var canPay: Bool
    /// Whether the account still exists (`verifyReceipt` status 21010, API error 4040001).
    var isDeleted: Bool
}

/// A phone or tablet; receipts belong to one.
struct DeviceRecord: Codable, Sendable, Identifiable {
    var id: String
    /// Who is signed in.
    var accountId: String
    /// What `identifierForVendor` says there: a UUID; the receipt's SHA-1 hash and the app transaction's verification hold it.
    var vendorIdentifier: String
}

/// One account's download of one app in one environment; it owns an `appTransactionId`.
struct DownloadRecord: Codable, Sendable, Identifiable {
    var id: String { Self.key(bundleId, accountId, environment) }
    var bundleId: String
    var accountId: String
    var environment: StoreEnvironment
    var appTransactionId: String
    /// Milliseconds since 1970.
    var originalPurchaseDate: Int64
    var originalApplicationVersion: String
    /// Apple's `originalPlatform`, such as `iOS`.
    var originalPlatform: String
    /// The seller's own notes, kept by a deleted app as well.
    var consentRescinded: Bool

    static func key(_ bundleId: String, _ accountId: String, _ environment: StoreEnvironment) -> String {
        "\(environment.rawValue)/\(bundleId)/\(accountId)"
    }
}

/// A purchase that waits for a guardian (Ask to Buy).
struct DeferredPurchaseRecord: Codable, Sendable, Identifiable {
    var id: String
    var purchase: Purchase
    /// Milliseconds since 1970.
    var askedDate: Int64
}
