import HTTPTypes

extension StoreState {
    /// The offer that a purchase names, if this account may have it.
    ///
    /// Introductory: once per group and account. Promotional: who subscribes or did. Win-back: whose subscription ended.
    /// Codes: anyone. Guests: everything, for nobody knows what they had.
    ///
    /// - Throws: a ``Problem`` when the product has no such offer, or it is not for this account.
    func offer(of purchase: Purchase, product: ProductRecord, current: SubscriptionRecord?) throws -> Offer? {
        guard let kind = purchase.offerKind else { return nil }
        let named = product.offers.first {
            $0.kind == kind && (purchase.offerIdentifier == nil || $0.identifier == purchase.offerIdentifier)
        }
        guard let offer = named else { throw Problem(.badRequest, "offer: \(product.productId) has no such offer") }
        guard !Self.isGuest(purchase.accountId) else { return offer }
        switch kind {
        case .introductory:
            guard !hadIntroductoryOffer(purchase, group: Self.group(of: product)) else {
                throw Problem(.conflict, "offer: the account had an introductory offer of this group already")
            }
        case .promotional:
            guard current != nil else {
                throw Problem(.conflict, "offer: promotional offers are for those who subscribe or did")
            }
        case .winBack:
            guard let current, current.isOver, current.eligibleWinBackOfferIds.contains(offer.identifier ?? "") else {
                throw Problem(.conflict, "offer: win-back offers are for those whose subscription ended")
            }
        case .code: break
        }
        return offer
    }

    private func hadIntroductoryOffer(_ purchase: Purchase, group: String) -> Bool {
        let key = DownloadRecord.key(purchase.bundleId, purchase.accountId, purchase.environment)
        return holdings[key, default: []].contains { id in
            guard let transaction = transactions[id] else { return false }
            return transaction.subscriptionGroupIdentifier == group && transaction.offer?.kind == .introductory
        }
    }

    /// The win-back offers of whoever lets a product's subscription end.
    func winBackOffers(bundleId: String, productId: String) -> [String] {
        let product = products[ProductRecord.key(bundleId, productId)]
        return product?.offers.filter { $0.kind == .winBack }.compactMap(\.identifier) ?? []
    }
}
