import Foundation
import StoreKit

@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
extension StoreKit2Store {
    /// What `purchase` is told beside the product.
    ///
    /// - Throws: `PurchaseError` for an offer that is no offer.
    static func options(of order: StoreOrder, _ product: Product) throws -> Set<Product.PurchaseOption> {
        var options: Set<Product.PurchaseOption> = []
        if order.quantity != 1 { options.insert(.quantity(order.quantity)) }
        if let token = order.accountToken { options.insert(.appAccountToken(token)) }
        if let offer = order.offer { options.formUnion(try Self.options(of: offer, product)) }
        return options
    }

    private static func options(of offer: SignedOffer, _ product: Product) throws -> [Product.PurchaseOption] {
        switch offer {
        case .winBack(let id): return [try winBack(id, of: product)]
        case .introductoryEligibility(let jws): return [.introductoryOfferEligibility(compactJWS: jws)]
        case .promotional(let offer):
            if let jws = offer.jws { return Product.PurchaseOption.promotionalOffer(offer.id, compactJWS: jws) }
            guard let signature = Data(base64Encoded: offer.signature), !signature.isEmpty else {
                throw PurchaseError(.orderInvalid, "the offer's signature is not base64")
            }
            return [
                .promotionalOffer(
                    offerID: offer.id, keyID: offer.keyID, nonce: offer.nonce, signature: signature,
                    timestamp: Int(offer.timestamp))
            ]
        }
    }
}

@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
extension StoreKit2Store {
    /// - Throws: `PurchaseError` where the App Store has no such offer for this customer.
    private static func winBack(_ id: String, of product: Product) throws -> Product.PurchaseOption {
        if #available(iOS 18.0, macOS 15.0, tvOS 18.0, watchOS 11.0, visionOS 2.0, *),
            let offer = product.subscription?.winBackOffers.first(where: { $0.id == id })
        {
            return .winBackOffer(offer)
        }
        throw PurchaseError(.orderInvalid, "the App Store has no win-back offer \(id) for \(product.id)")
    }
}

#if !os(tvOS) && !os(watchOS) && !os(visionOS)
    @available(iOS 16.4, macOS 14.4, *)
    extension StoreKit2Store {
        /// The offer that a person saw in the App Store.
        static func offer(of intent: PurchaseIntent) -> SubscriptionOffer? {
            guard #available(iOS 18.0, macOS 15.0, *), let offer = intent.offer, let id = offer.id else { return nil }
            return offer.type == .winBack ? .winBack(id) : nil
        }
    }
#endif

@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
extension StoreTransaction {
    /// A transaction, verified or not.
    init(_ result: VerificationResult<Transaction>) {
        let transaction = result.unsafePayloadValue
        // These stand in what Apple signed on every system; the properties for them came with iOS 16 and 17.
        let signed = try? JSONDecoder().decode(SignedFields.self, from: transaction.jsonRepresentation)
        self.init(
            id: "\(transaction.id)", originalID: "\(transaction.originalID)", productID: transaction.productID,
            quantity: transaction.purchasedQuantity, accountToken: transaction.appAccountToken,
            environment: signed?.storeEnvironment,
            origin: signed?.transactionReason == "RENEWAL" ? .renewal : .purchase,
            isRevoked: transaction.revocationDate != nil, proof: .signedTransaction(result.jwsRepresentation))
    }

    /// Source: developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload.
    private struct SignedFields: Decodable {
        let environment: String?
        let transactionReason: String?

        /// Xcode's is neither.
        var storeEnvironment: StoreEnvironment? {
            switch environment {
            case "Production": .production
            case "Sandbox": .sandbox
            default: nil
            }
        }
    }
}

@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
extension StoreProduct {
    init(_ product: Product) async {
        let style = product.priceFormatStyle
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = style.locale
        formatter.currencyCode = style.currencyCode
        self.init(
            id: product.id, displayName: product.displayName, description: product.description,
            displayPrice: product.displayPrice, price: product.price, currencyCode: style.currencyCode,
            currencySymbol: formatter.currencySymbol, kind: Kind(product.type),
            subscription: await Self.subscription(of: product))
    }

    private static func subscription(of product: Product) async -> Subscription? {
        guard let subscription = product.subscription else { return nil }
        return await Subscription(subscription)
    }
}

@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
extension StoreProduct.Subscription {
    fileprivate init(_ subscription: Product.SubscriptionInfo) async {
        self.init(
            groupID: subscription.subscriptionGroupID, period: StoreProduct.Period(subscription.subscriptionPeriod))
        guard let offer = subscription.introductoryOffer else { return }
        introductoryOffer = StoreProduct.IntroductoryOffer(
            displayPrice: offer.displayPrice, price: offer.price, period: StoreProduct.Period(offer.period),
            periodCount: offer.periodCount, isEligible: await subscription.isEligibleForIntroOffer)
    }
}

@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
extension StoreProduct.Period {
    fileprivate init?(_ period: Product.SubscriptionPeriod) {
        switch period.unit {
        case .day: self.init(period.value, .day)
        case .week: self.init(period.value, .week)
        case .month: self.init(period.value, .month)
        case .year: self.init(period.value, .year)
        @unknown default: return nil
        }
    }
}

@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
extension StoreProduct.Kind {
    fileprivate init(_ type: Product.ProductType) {
        switch type {
        case .consumable: self = .consumable
        case .nonConsumable: self = .nonConsumable
        case .nonRenewable: self = .nonRenewing
        case .autoRenewable: self = .autoRenewable
        default: self = .unknown
        }
    }
}

@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
extension PurchaseError {
    /// What StoreKit says before it asks anybody for money; nil for an error after which it may have been paid.
    static func ofStoreKit(_ error: any Error) -> PurchaseError? {
        switch error {
        case StoreKitError.notAvailableInStorefront: PurchaseError(.productUnavailable, "\(error)")
        case let error as Product.PurchaseError:
            switch error {
            case .productUnavailable: PurchaseError(.productUnavailable, "\(error)")
            case .purchaseNotAllowed: PurchaseError(.paymentsNotAllowed, "\(error)")
            case .invalidQuantity, .ineligibleForOffer, .invalidOfferIdentifier, .invalidOfferPrice,
                .invalidOfferSignature, .missingOfferParameters:
                PurchaseError(.orderInvalid, "\(error)")
            @unknown default: nil
            }
        default: nil
        }
    }
}
