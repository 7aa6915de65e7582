public import Foundation

/// A transaction that the App Store signed: Apple's `JWSTransactionDecodedPayload`, field by field under Apple's names.
///
/// Only ``SignedDataVerifier`` makes one, so whoever has one has a proof.
public struct SignedTransaction: Sendable {
    /// The transaction's id; unique in its environment.
    public let transactionId: String
    /// The id of the purchase that this one renews or restores; its own id for a first purchase.
    public let originalTransactionId: String
    /// The original id before the app was transferred (ADP changelog, 2025-03-24).
    public let previousOriginalTransactionId: String?
    /// The id of a subscription's purchase event across devices.
    public let webOrderLineItemId: String?
    /// The app's bundle identifier.
    public let bundleId: String
    /// The product that was bought.
    public let productId: String
    /// The group of the subscription.
    public let subscriptionGroupIdentifier: String?
    /// When the customer was charged.
    public let purchaseDate: Date
    /// When the original transaction was bought.
    public let originalPurchaseDate: Date?
    /// When a subscription expires or renews.
    public let expiresDate: Date?
    /// How many were bought, at least 1; nil when Apple does not say.
    public let quantity: Int64?
    /// What kind of product it is.
    public let type: ProductType
    /// The UUID that the app set when buying; nil also when it is not a UUID, and then named in ``unreadableFields``.
    public let appAccountToken: UUID?
    /// Whether the customer bought it or got it through the family.
    public let inAppOwnershipType: OwnershipType?
    /// When the App Store signed this.
    public let signedDate: Date
    /// When the first of the certificates that it was signed under expires; they were valid at ``signedDate``.
    public let certificatesExpire: Date
    /// Why it was refunded.
    public let revocationReason: RevocationReason?
    /// When it was refunded or revoked; nil while it is good.
    public let revocationDate: Date?
    /// How it was revoked.
    public let revocationType: RevocationType?
    /// How much of the price was refunded: Apple's number as it is sent.
    public let revocationPercentage: Int64?
    /// Whether the customer upgraded to another subscription.
    public let isUpgraded: Bool?
    /// Which kind of offer was redeemed.
    public let offerType: OfferType?
    /// The offer's id or code.
    public let offerIdentifier: String?
    /// How the offer is paid.
    public let offerDiscountType: OfferDiscountType?
    /// How long the offer lasts, as an ISO 8601 duration.
    public let offerPeriod: String?
    /// Production or sandbox; nil in what Apple signed before 2022.
    public let environment: SignedDataEnvironment?
    /// The storefront's country, as three letters.
    public let storefront: String?
    /// The storefront's id.
    public let storefrontId: String?
    /// Whether the customer bought or the App Store renewed.
    public let transactionReason: TransactionReason?
    /// The price's currency, as three letters.
    public let currency: String?
    /// The price in milliunits of ``currency``.
    public let price: Int64?
    /// The id of the customer's purchase of the app itself.
    public let appTransactionId: String?
    /// What the Advanced Commerce API attaches, as JSON text.
    public let advancedCommerceInfo: String?
    /// How a subscription with a commitment is billed.
    public let billingPlanType: BillingPlanType?
    /// The commitment behind a subscription that is billed in instalments.
    public let commitmentInfo: CommitmentInfo?
    /// The name of the first field that says that it is part of a bundle; nil where none does.
    public let bundleField: String?
    /// Names of known fields that could not be read and were left out; their values are in ``payload``.
    public let unreadableFields: [String]
    /// Names of fields that this version does not know, sorted; their values are in ``payload``.
    public let unknownFields: [String]
    /// The JSON that was signed, byte for byte.
    public let payload: [UInt8]
}
