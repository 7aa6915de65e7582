import HTTPTypes

extension StoreState {
    /// Raises what a subscription costs: for new subscribers now, for the others with a renewal from `effectiveDate` on.
    ///
    /// Who must consent is asked (PRICE_INCREASE/PENDING) and loses the subscription at that renewal if he does not; who
    /// need not is told (PRICE_INCREASE/ACCEPTED). Subscribers in storefronts with a price of their own keep it.
    ///
    /// - Parameters:
    ///   - price: milliunits of the product's currency.
    ///   - effectiveDate: milliseconds since 1970; nil for the next renewal.
    /// - Returns: how many subscriptions it concerns.
    /// - Throws: a ``Problem`` when there is no such subscription product, or the price does not rise.
    @discardableResult
    mutating func raisePrice(
        bundleId: String, productId: String, to price: Int64, needsConsent: Bool, effectiveDate: Int64?, now: Int64
    ) throws -> Int {
        let key = ProductRecord.key(bundleId, productId)
        guard var product = products[key] else {
            throw Problem(.notFound, "\(bundleId) has no product \(productId)")
        }
        guard product.type == .autoRenewableSubscription else {
            throw Problem(.conflict, "\(productId) is not an auto-renewable subscription")
        }
        guard price > product.price else { throw Problem(.badRequest, "price: more than \(product.price)") }
        product.price = price
        put(product)
        var count = 0
        for id in subscribers[key, default: []].sorted() {
            settle(id, now: now)
            guard var record = subscriptions[id], !record.isFamilyShared, !record.isOver,
                record.autoRenewProductId == productId, hasOwnPrice(record, product) == false
            else { continue }
            record.priceIncrease = SubscriptionRecord.PriceIncrease(
                price: price, needsConsent: needsConsent, hasConsent: !needsConsent, effectiveDate: effectiveDate ?? now
            )
            record.showAgreedPrice()
            put(record)
            notify(
                .priceIncrease, needsConsent ? .pending : .accepted, transactionId: record.transactionId, now: now)
            count += 1
        }
        return count
    }

    /// Answers for the subscriber whether the new price is agreed to; without a yes it ends at the renewal.
    ///
    /// - Throws: a ``Problem`` when nobody asked, or the answer was given.
    mutating func consentToPrice(_ id: String, _ agrees: Bool, now: Int64) throws {
        var record = try ownedSubscription(id, now: now)
        guard !record.isOver, let increase = record.priceIncrease, increase.needsConsent else {
            throw Problem(.conflict, "the subscription \(id) waits for no consent")
        }
        guard !increase.hasConsent else { throw Problem(.conflict, "the new price was agreed to already") }
        guard agrees else { return }
        record.priceIncrease?.hasConsent = true
        record.showAgreedPrice()
        put(record)
        notify(.priceIncrease, .accepted, transactionId: record.transactionId, now: now)
    }

    private func hasOwnPrice(_ record: SubscriptionRecord, _ product: ProductRecord) -> Bool {
        guard let storefront = transactions[record.transactionId]?.storefront else { return false }
        return product.storefrontPrices[storefront] != nil
    }
}

extension SubscriptionRecord {
    /// Once agreed to, the renewal info names the price that the next renewal has.
    fileprivate mutating func showAgreedPrice() {
        guard let increase = priceIncrease, increase.hasConsent, increase.effectiveDate <= renewalDate else { return }
        renewalPrice = increase.price
    }
}
