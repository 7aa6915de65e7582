import Foundation

/// What an app receipt says.
///
/// The dates are milliseconds since 1970, but receipts hold whole seconds.
struct ReceiptContents: Sendable, Equatable {
    var environment: StoreEnvironment
    /// `iOS` or `macOS`: the two have slightly different attributes.
    var platform: String
    var bundleId: String
    /// `CFBundleVersion` on iOS.
    var applicationVersion: String
    /// Always `1.0` in the sandbox.
    var originalApplicationVersion: String
    var creationDate: Int64
    /// When the app itself was bought; always 2013-08-01T07:00:00Z in the sandbox.
    var originalPurchaseDate: Int64
    /// Apple's number of the app (adam id), 0 in the sandbox.
    var appItemId: Int64
    /// 0 in the sandbox.
    var downloadId: Int64
    /// Apple's number of the app's version, 0 in the sandbox.
    var versionExternalIdentifier: Int64
    /// The device's `identifierForVendor`: the receipt's SHA-1 hash holds it.
    var vendorIdentifier: UUID
    /// Whose receipt it is.
    ///
    /// Apple's receipts do not say that to others; in ours it stands in an attribute that is unreadable in Apple's.
    var accountId: String
    var inAppPurchases: [InAppPurchase]
    /// Milliseconds that stand behind the seconds of each purchase's dates, as in half of the receipts of September 2020;
    /// nil for none.
    var fraction: Int64?

    /// What a receipt says of one transaction.
    struct InAppPurchase: Sendable, Equatable {
        /// The product's type, as receipts number them.
        enum Kind: Int64, Sendable {
            case nonConsumable = 0
            case consumable = 1
            case nonRenewingSubscription = 2
            case autoRenewableSubscription = 3
        }

        var quantity: Int64
        var productId: String
        var transactionId: String
        var originalTransactionId: String
        var purchaseDate: Int64
        var originalPurchaseDate: Int64
        var kind: Kind
        /// A subscription's.
        var expiresDate: Int64?
        /// When it was refunded, or taken from a family member.
        var cancellationDate: Int64?
        /// Apple's number of the product, 0 in the sandbox.
        var productItemId: Int64
        /// 0 for what is no subscription.
        var webOrderLineItemId: Int64
        var isTrialPeriod: Bool
        var isInIntroOfferPeriod: Bool
        var promotionalOfferId: String?
    }

    /// What receipts call the environment.
    static func receiptType(_ environment: StoreEnvironment) -> String {
        environment == .production ? "Production" : "ProductionSandbox"
    }
}

extension ReceiptContents.InAppPurchase.Kind {
    init(_ type: ProductType) {
        self =
            switch type {
            case .consumable: .consumable
            case .nonConsumable: .nonConsumable
            case .nonRenewingSubscription: .nonRenewingSubscription
            case .autoRenewableSubscription: .autoRenewableSubscription
            }
    }
}
