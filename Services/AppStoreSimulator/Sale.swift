import Crypto
import Foundation

/// Something to sell, checked and complete.
struct Sale: Sendable {
    /// How long a subscription runs when nobody says: 30 days, in milliseconds.
    private static let subscriptionPeriod: Int64 = 30 * 86_400_000

    var bundleId: String
    var productId: String
    var type: SaleRequest.ProductType
    var quantity: Int64
    var appAccountToken: String?
    var environment: String
    var price: Int64
    var currency: String
    var storefront: String
    var storefrontId: String
    var expiresDate: Int64?
    var count: Int
    var originalTransactionId: String?

    /// The payload of one transaction, with the fields and in the order of those that Apple signed in 2025.
    func payload(transactionId: Int64, now: Date) -> String {
        let signedDate = Int64(now.timeIntervalSince1970 * 1_000)
        // Apple's purchase dates are whole seconds, its signing dates are not.
        let purchaseDate = signedDate / 1_000 * 1_000
        let isSubscription = type == .autoRenewableSubscription
        var json = JSONText()
        json.add("transactionId", String(transactionId))
        json.add("originalTransactionId", originalTransactionId ?? String(transactionId))
        if isSubscription { json.add("webOrderLineItemId", String(transactionId)) }
        json.add("bundleId", bundleId)
        json.add("productId", productId)
        if isSubscription { json.add("subscriptionGroupIdentifier", Self.number(from: bundleId, digits: 8)) }
        json.add("purchaseDate", purchaseDate)
        json.add("originalPurchaseDate", purchaseDate)
        if isSubscription { json.add("expiresDate", expiresDate ?? purchaseDate + Self.subscriptionPeriod) }
        json.add("quantity", quantity)
        json.add("type", type.rawValue)
        json.add("appAccountToken", appAccountToken)
        json.add("inAppOwnershipType", "PURCHASED")
        json.add("signedDate", signedDate)
        json.add("environment", environment)
        json.add("transactionReason", isSubscription && originalTransactionId != nil ? "RENEWAL" : "PURCHASE")
        json.add("storefront", storefront)
        json.add("storefrontId", storefrontId)
        json.add("price", price)
        json.add("currency", currency)
        // One customer has one of these per app; the account token is all that we know of the customer.
        json.add("appTransactionId", Self.number(from: "\(bundleId) \(appAccountToken ?? "")", digits: 18))
        return json.object
    }

    /// A number that always comes out the same for the same text, and does not start with zero.
    private static func number(from text: String, digits: Int) -> String {
        var value: UInt64 = 0
        for byte in SHA256.hash(data: Array(text.utf8)).prefix(8) { value = value << 8 | UInt64(byte) }
        var power: UInt64 = 1
        for _ in 1..<digits { power *= 10 }
        return String(power + value % (9 * power))
    }
}

/// A transaction that was sold.
struct SoldTransaction: Sendable {
    let transactionId: String
    let originalTransactionId: String
    let signedTransaction: String

    /// The transaction as an element of an answer.
    var json: String {
        var json = JSONText()
        json.add("transactionId", transactionId)
        json.add("originalTransactionId", originalTransactionId)
        json.add("signedTransaction", signedTransaction)
        return json.object
    }
}

/// Sells: gives each sale an id and signs it.
struct SalesDesk: Sendable {
    /// Signatures made before others get their turn: some milliseconds of work.
    private static let signaturesPerTurn = 64

    let signer: PayloadSigner
    let identifiers: TransactionIdentifiers

    /// Sells as many times as the sale says; each is a transaction of its own.
    func sell(_ sale: Sale, now: Date) async throws -> [SoldTransaction] {
        let ids = try await identifiers.take(sale.count)
        var sold: [SoldTransaction] = []
        sold.reserveCapacity(sale.count)
        for (index, id) in ids.enumerated() {
            if index % Self.signaturesPerTurn == Self.signaturesPerTurn - 1 { await Task.yield() }
            sold.append(
                SoldTransaction(
                    transactionId: String(id), originalTransactionId: sale.originalTransactionId ?? String(id),
                    signedTransaction: try signer.sign(sale.payload(transactionId: id, now: now))))
        }
        return sold
    }
}
