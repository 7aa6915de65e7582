import Foundation
import StoreKit

@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
extension StoreKit2Store {
    /// What `purchase` is told beside the product.
    ///
    /// - Throws: `PurchaseError` for an offer that is no offer.
    static func options(of order: StoreOrder) throws -> Set<Product.PurchaseOption> {
        var options: Set<Product.PurchaseOption> = []
        if order.quantity != 1 { options.insert(.quantity(order.quantity)) }
        if let token = order.accountToken { options.insert(.appAccountToken(token)) }
        if let offer = order.offer { options.formUnion(try Self.options(of: offer)) }
        return options
    }

    private static func options(of offer: SignedOffer) throws -> [Product.PurchaseOption] {
        switch offer {
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
    init(_ product: Product) {
        self.init(
            id: product.id, displayName: product.displayName, description: product.description,
            displayPrice: product.displayPrice, price: product.price,
            currencyCode: product.priceFormatStyle.currencyCode, kind: Kind(product.type))
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
