package import Foundation

/// One Apple transaction in Countersign's own terms, whatever form of proof it came in.
///
/// Ids are Apple's, as text. Dates are instants; money is an integer of thousandths of the currency's unit.
/// Source of the fields: developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload.
package struct Transaction: Codable, Sendable, Hashable {
    /// Production or sandbox; nil in data that Apple signed before the field existed (2021).
    package var environment: StoreEnvironment?
    /// Apple's id of this transaction, unique within an environment.
    package var transactionId: String
    /// The id of the first transaction of its lineage: what Apple wrote, and in fulfillment the lineage's own.
    package var originalTransactionId: String
    /// The original id of the subscription whose place this one took, standalone or in a bundle; nil for everything else.
    package var previousOriginalTransactionId: String?
    /// The app's bundle id, as signed.
    package var bundleId: String
    /// The product's id in App Store Connect.
    package var productId: String
    /// What kind of product Apple says it is.
    package var productType: ProductType
    /// The types that signed statements say, sorted, where they say several; nil where they agree.
    package var contradictingTypes: [ProductType]?
    /// How many were bought at once, 1 or more.
    package var quantity: Int
    /// When it was bought or renewed.
    package var purchaseDate: Date
    /// When the lineage began.
    package var originalPurchaseDate: Date?
    /// When a subscription's paid period ends, by Apple.
    package var expiresDate: Date?
    /// The UUID that the app set when it bought.
    package var appAccountToken: UUID?
    /// `PURCHASED` or `FAMILY_SHARED`, as Apple wrote it.
    package var ownership: String?
    /// The storefront's ISO 3166-1 alpha-3 country.
    package var storefront: String?
    /// ISO 4217.
    package var currency: String?
    /// Thousandths of the currency's unit.
    package var priceMilliunits: Int64?
    /// When Apple took it back.
    package var revocationDate: Date?
    /// Apple's number for why.
    package var revocationReason: Int?
    /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`, as Apple wrote it.
    package var revocationType: String?
    /// How much of the price was refunded, in thousandths of a per cent: 100,000 is all of it.
    package var revocationPercentage: Int64?
    /// When Apple signed that a refund was reversed (`REFUND_REVERSED`); the newest, nil where none was.
    package var refundReversedDate: Date?
    /// Whether the customer upgraded to another subscription of the group, which took this one's place at once.
    package var isUpgraded: Bool?
    /// The group of the subscription.
    package var subscriptionGroupId: String?
    /// `PURCHASE` or `RENEWAL`, as Apple wrote it.
    package var transactionReason: String?
    /// Which kind of offer was redeemed: 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    package var offerType: Int?
    /// The offer's id or code.
    package var offerIdentifier: String?
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT` or `ONE_TIME`, as Apple wrote it.
    package var offerDiscountType: String?
    /// How long the offer lasts, as an ISO 8601 duration.
    package var offerPeriod: String?
    /// The id of a subscription's purchase event across devices.
    package var webOrderLineItemId: String?
    /// The id of the customer's purchase of the app itself; a family member has another one.
    package var appTransactionId: String?
    /// The commitment behind a subscription that is billed in instalments.
    package var commitment: Commitment?
    /// The name of the first of Apple's fields that say that it is part of a bundle; nil where none does.
    package var bundleField: String?
    /// That no money was paid although it is granted, and why it was bought; nil for everything else.
    package var testPurchase: TestPurchase?
    /// That every statement of it was signed under certificates that had expired when it was posted; nil otherwise.
    ///
    /// Whoever has come by their keys may have made it.
    package var hasExpiredSigner: Bool?
    /// Who told it; nil for a device.
    ///
    /// Of several statements: who told the one that counts of revocations.
    package var teller: Teller?
    /// Names of fields that the verifier does not know, on their way to be noted; nil in what is stored.
    package var unknownFields: [String]?
    /// When Apple signed this statement.
    package var signedDate: Date
    /// The verified payload as JSON text: the evidence that is kept with the order.
    package var evidence: String?
    /// Which parts come from other statements than the one of ``signedDate``; nil where there is one statement.
    package var sources: StatementSources?

    /// Makes a transaction from its required parts; the rest is set afterwards.
    package init(
        environment: StoreEnvironment?, transactionId: String, originalTransactionId: String, bundleId: String,
        productId: String, productType: ProductType, quantity: Int, purchaseDate: Date, signedDate: Date
    ) {
        self.environment = environment
        self.transactionId = transactionId
        self.originalTransactionId = originalTransactionId
        self.bundleId = bundleId
        self.productId = productId
        self.productType = productType
        self.quantity = quantity
        self.purchaseDate = purchaseDate
        self.signedDate = signedDate
    }

    enum CodingKeys: String, CodingKey {
        case environment, quantity, ownership, storefront, currency, evidence, sources, teller
        case transactionId = "transaction_id"
        case originalTransactionId = "original_transaction_id"
        case previousOriginalTransactionId = "previous_original_transaction_id"
        case bundleId = "bundle_id"
        case productId = "product_id"
        case productType = "product_type"
        case purchaseDate = "purchased_at"
        case originalPurchaseDate = "original_purchased_at"
        case expiresDate = "expires_at"
        case appAccountToken = "app_account_token"
        case priceMilliunits = "price_milliunits"
        case revocationDate = "store_revoked_at"
        case revocationReason = "revocation_reason"
        case revocationType = "revocation_type"
        case revocationPercentage = "revocation_percentage"
        case refundReversedDate = "refund_reversed_at"
        case isUpgraded = "upgraded"
        case subscriptionGroupId = "subscription_group_id"
        case transactionReason = "transaction_reason"
        case offerType = "offer_type"
        case offerIdentifier = "offer_id"
        case offerDiscountType = "offer_discount_type"
        case offerPeriod = "offer_period"
        case webOrderLineItemId = "web_order_line_item_id"
        case appTransactionId = "app_transaction_id"
        case commitment
        case contradictingTypes = "contradicting_types"
        case bundleField = "bundle_field"
        case unknownFields = "unknown_fields"
        case testPurchase = "test_purchase"
        case hasExpiredSigner = "expired_signer"
        case signedDate = "signed_at"
    }

    /// Whether it is signed under certificates that were valid when it was posted, or Apple has confirmed it.
    package var isVouchedFor: Bool { hasExpiredSigner != true }

    /// A commitment of several billing periods.
    ///
    /// Source: developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload, `commitmentInfo`.
    package struct Commitment: Codable, Sendable, Hashable {
        /// Which of the periods this is, from 1.
        package var billingPeriod: Int64?
        /// How many there are.
        package var billingPeriods: Int64?
        /// The price of the whole commitment, in milliunits of the currency.
        package var priceMilliunits: Int64?
        /// When it ends.
        package var expiresDate: Date?
        /// How it is billed, as Apple wrote it.
        package var billingPlan: String?

        /// Makes a commitment; all of it may be unsaid.
        package init(
            billingPeriod: Int64? = nil, billingPeriods: Int64? = nil, priceMilliunits: Int64? = nil,
            expiresDate: Date? = nil, billingPlan: String? = nil
        ) {
            self.billingPeriod = billingPeriod
            self.billingPeriods = billingPeriods
            self.priceMilliunits = priceMilliunits
            self.expiresDate = expiresDate
            self.billingPlan = billingPlan
        }

        enum CodingKeys: String, CodingKey {
            case billingPeriod = "billing_period"
            case billingPeriods = "billing_periods"
            case priceMilliunits = "price_milliunits"
            case expiresDate = "expires_at"
            case billingPlan = "billing_plan"
        }
    }
}
