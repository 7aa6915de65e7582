import Foundation
import HTTPTypes

extension StoreState {
    /// Sells: at once, or after a guardian agreed.
    ///
    /// - Throws: a ``Problem`` when it cannot be sold.
    mutating func buy(_ purchase: Purchase, now: Int64) throws -> PurchaseOutcome {
        guard transactions.count < Limit.transactions else {
            throw Problem(.insufficientStorage, "the store keeps at most \(Limit.transactions) transactions")
        }
        let product = try sellable(purchase)
        guard account(purchase.accountId).needsApproval else {
            return try complete(purchase, product: product, now: now)
        }
        let deferred = DeferredPurchaseRecord(
            id: "deferred-\(nextNumber(.transactionId))", purchase: purchase, askedDate: now)
        put(deferred)
        return .deferred(deferred)
    }

    /// A guardian agreed: the purchase is made now, and whoever asked hears of it when the app runs next.
    mutating func approve(_ deferredId: String, now: Int64) throws -> PurchaseOutcome {
        guard let deferred = deferredPurchases[deferredId] else {
            throw Problem(.notFound, "no purchase \(deferredId) waits for a guardian")
        }
        let product = try sellable(deferred.purchase)
        let outcome = try complete(deferred.purchase, product: product, now: now)
        removeDeferredPurchase(deferredId)
        return outcome
    }

    /// A guardian said no: nothing was bought, and nobody is told.
    mutating func decline(_ deferredId: String) throws {
        guard deferredPurchases[deferredId] != nil else {
            throw Problem(.notFound, "no purchase \(deferredId) waits for a guardian")
        }
        removeDeferredPurchase(deferredId)
    }

    /// The app says that it delivered: a consumable leaves the receipt.
    mutating func finish(_ transactionId: String, now: Int64) throws {
        var transaction = try transactions.required(transactionId, "transaction")
        guard !transaction.isFinished else { return }
        transaction.isFinished = true
        put(transaction, now: now)
    }

    /// A transaction as it is when a purchase is made now: its own original, at the product's price, not yet put.
    ///
    /// Subscriptions add their period, their group and what they continue.
    mutating func makeTransaction(_ purchase: Purchase, product: ProductRecord, now: Int64) -> TransactionRecord {
        let transactionId = String(nextNumber(.transactionId))
        let account = account(purchase.accountId)
        let storefront = purchase.storefront ?? account.storefront
        let price = product.price(in: storefront)
        // A guest that nothing tells from others is told by its transaction.
        let accountId =
            purchase.accountId == Self.guest(token: "") ? Self.guest(token: transactionId) : purchase.accountId
        // Apple's purchase dates are whole seconds, its signing dates are not.
        let purchaseDate = now / 1_000 * 1_000
        return TransactionRecord(
            transactionId: transactionId, originalTransactionId: purchase.originalTransactionId ?? transactionId,
            bundleId: purchase.bundleId, productId: purchase.productId, purchaseDate: purchaseDate,
            originalPurchaseDate: purchaseDate, quantity: purchase.quantity, type: product.type,
            appAccountToken: purchase.appAccountToken, environment: purchase.environment, storefront: storefront,
            storefrontId: purchase.storefrontId
                ?? (storefront == account.storefront
                    ? account.storefrontId : Storefront.identifier(of: storefront)),
            price: purchase.price ?? price.price, currency: purchase.currency ?? price.currency,
            appTransactionId: Self.appTransactionId(purchase.bundleId, accountId, purchase.environment),
            advancedCommerceInfo: purchase.advancedCommerceInfo, signs: product.signs, accountId: accountId,
            deviceId: purchase.deviceId, orderId: Self.orderId(of: transactionId), modifiedDate: now)
    }

    /// The order id that stands in the buyer's e-mail: ten letters and digits after an `M`.
    static func orderId(of transactionId: String) -> String {
        let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789")
        var rest = Number.derived(from: "order \(transactionId)", digits: 18)
        var text = "M"
        for _ in 0..<9 {
            text.append(alphabet[Int(rest % Int64(alphabet.count))])
            rest /= Int64(alphabet.count)
        }
        return text
    }

    /// The number of one billed period, which differs from the transaction's own.
    static func webOrderLineItemId(of transactionId: String) -> String {
        String((Int64(transactionId) ?? firstTransactionId) - 1_000_000_000_000)
    }

    /// The product, if this account may buy it.
    private func sellable(_ purchase: Purchase) throws -> ProductRecord {
        guard let product = products[ProductRecord.key(purchase.bundleId, purchase.productId)] else {
            throw Problem(.notFound, "\(purchase.bundleId) has no product \(purchase.productId)")
        }
        guard product.isForSale else { throw Problem(.conflict, "\(purchase.productId) is not for sale") }
        let account = account(purchase.accountId)
        guard !account.isDeleted else { throw Problem(.conflict, "the account \(account.id) was deleted") }
        guard account.canPay || (purchase.price ?? product.price) == 0 else {
            throw Problem(.conflict, "the payment of \(account.id) was declined")
        }
        return product
    }

    private mutating func complete(
        _ purchase: Purchase, product: ProductRecord, now: Int64
    ) throws -> PurchaseOutcome {
        if product.type == .autoRenewableSubscription {
            return try subscribe(purchase, product: product, now: now)
        }
        if product.type == .nonConsumable, let owned = ownedNonConsumable(purchase) { return .alreadyOwned(owned) }
        var transaction = makeTransaction(purchase, product: product, now: now)
        if let original = transactions[transaction.originalTransactionId] {
            transaction.originalPurchaseDate = original.originalPurchaseDate
        }
        if !Self.isGuest(transaction.accountId) {
            _ = download(
                bundleId: purchase.bundleId, accountId: transaction.accountId, environment: purchase.environment,
                now: now)
        }
        put(transaction, now: now)
        notify(.oneTimeCharge, transactionId: transaction.id, now: now)
        share(transaction, now: now)
        return .bought(transactions[transaction.id] ?? transaction)
    }

    /// What the account has already; a guest's every sale is a new one.
    private func ownedNonConsumable(_ purchase: Purchase) -> TransactionRecord? {
        guard !Self.isGuest(purchase.accountId) else { return nil }
        let key = DownloadRecord.key(purchase.bundleId, purchase.accountId, purchase.environment)
        return holdings[key, default: []].lazy.compactMap { transactions[$0] }
            .first {
                $0.productId == purchase.productId && $0.firstTransactionId == nil
                    && !isRevoked(purchase: $0.transactionId)
            }
    }
}
