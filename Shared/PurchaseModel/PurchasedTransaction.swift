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
    /// That no money was paid although it is granted, and why it was bought; nil for everything else.
    public var testPurchase: TestPurchase?
    /// When Apple signed this statement.
    public var signedDate: Date
    /// The verified payload as JSON text: the evidence that is kept with the order.
    public var evidence: String?

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
        case environment, quantity, ownership, storefront, currency, evidence
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
        case testPurchase = "test_purchase"
        case signedDate = "signed_date"
    }
}
