public import Foundation

/// One Apple transaction in Countersign's own terms, whatever form of proof it came in.
///
/// Ids are Apple's, as text. Dates are instants; money is an integer of thousandths of the currency's unit.
/// Source of the fields: developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload.
public struct PurchasedTransaction: Codable, Sendable, Hashable {
    /// Production or sandbox; nil in data that Apple signed before the field existed (2021).
    public var environment: StoreEnvironment?
    /// Apple's id of this transaction, unique within an environment.
    public var transactionId: String
    /// The id of the first transaction of its lineage.
    public var originalTransactionId: String
    /// The app's bundle id, as signed.
    public var bundleId: String
    /// The product's id in App Store Connect.
    public var productId: String
    /// What kind of product Apple says it is.
    public var productType: ProductType
    /// How many were bought at once, 1 or more.
    public var quantity: Int
    /// When it was bought or renewed.
    public var purchaseDate: Date
    /// When the lineage began.
    public var originalPurchaseDate: Date?
    /// When a subscription's paid period ends, by Apple.
    public var expiresDate: Date?
    /// The UUID that the app set when it bought.
    public var appAccountToken: UUID?
    /// `PURCHASED` or `FAMILY_SHARED`, as Apple wrote it.
    public var ownership: String?
    /// The storefront's ISO 3166-1 alpha-3 country.
    public var storefront: String?
    /// ISO 4217.
    public var currency: String?
    /// Thousandths of the currency's unit.
    public var priceMilliunits: Int64?
    /// When Apple took it back.
    public var revocationDate: Date?
    /// Apple's number for why.
    public var revocationReason: Int?
    /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`, as Apple wrote it.
    public var revocationType: String?
    /// How much of the price was refunded, in thousandths of a per cent: 100,000 is all of it.
    public var revocationPercentage: Int64?
    /// Whether the customer upgraded to another subscription of the group, which took this one's place at once.
    public var isUpgraded: Bool?
    /// The group of the subscription.
    public var subscriptionGroupId: String?
    /// `PURCHASE` or `RENEWAL`, as Apple wrote it.
    public var transactionReason: String?
    /// Which kind of offer was redeemed: 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    public var offerType: Int?
    /// The offer's id or code.
    public var offerIdentifier: String?
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT` or `ONE_TIME`, as Apple wrote it.
    public var offerDiscountType: String?
    /// How long the offer lasts, as an ISO 8601 duration.
    public var offerPeriod: String?
    /// The id of a subscription's purchase event across devices.
    public var webOrderLineItemId: String?
    /// The id of the customer's purchase of the app itself; a family member has another one.
    public var appTransactionId: String?
    /// The commitment behind a subscription that is billed in instalments.
    public var commitment: Commitment?
    /// That no money was paid although it is granted, and why it was bought; nil for everything else.
    public var testPurchase: TestPurchase?
    /// When Apple signed this statement.
    public var signedDate: Date
    /// The verified payload as JSON text: the evidence that is kept with the order.
    public var evidence: String?
    /// Which parts come from other statements than the one of ``signedDate``; nil where there is one statement.
    public var sources: StatementSources?

    /// Makes a transaction from its required parts; the rest is set afterwards.
    public init(
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
        case environment, quantity, ownership, storefront, currency, evidence, sources
        case transactionId = "transaction_id"
        case originalTransactionId = "original_transaction_id"
        case bundleId = "bundle_id"
        case productId = "product_id"
        case productType = "product_type"
        case purchaseDate = "purchase_date"
        case originalPurchaseDate = "original_purchase_date"
        case expiresDate = "expires_date"
        case appAccountToken = "app_account_token"
        case priceMilliunits = "price_milliunits"
        case revocationDate = "revocation_date"
        case revocationReason = "revocation_reason"
        case revocationType = "revocation_type"
        case revocationPercentage = "revocation_percentage"
        case isUpgraded = "upgraded"
        case subscriptionGroupId = "subscription_group_id"
        case transactionReason = "transaction_reason"
        case offerType = "offer_type"
        case offerIdentifier = "offer_identifier"
        case offerDiscountType = "offer_discount_type"
        case offerPeriod = "offer_period"
        case webOrderLineItemId = "web_order_line_item_id"
        case appTransactionId = "app_transaction_id"
        case commitment
        case testPurchase = "test_purchase"
        case signedDate = "signed_date"
    }

    /// A commitment of several billing periods.
    ///
    /// Source: developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload, `commitmentInfo`.
    public struct Commitment: Codable, Sendable, Hashable {
        /// Which of the periods this is, from 1.
        public var billingPeriod: Int64?
        /// How many there are.
        public var billingPeriods: Int64?
        /// The price of the whole commitment, in milliunits of the currency.
        public var priceMilliunits: Int64?
        /// When it ends.
        public var expiresDate: Date?
        /// How it is billed, as Apple wrote it.
        public var billingPlan: String?

        /// Makes a commitment; all of it may be unsaid.
        public init(
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
            case expiresDate = "expires_date"
            case billingPlan = "billing_plan"
        }
    }
}
