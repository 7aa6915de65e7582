import Foundation
import StoreKit

@available(iOS, introduced: 13.0, deprecated: 18.0)
@available(macOS, introduced: 10.15, deprecated: 15.0)
@available(tvOS, introduced: 13.0, deprecated: 18.0)
@available(watchOS, introduced: 6.2, deprecated: 11.0)
@available(visionOS, introduced: 1.0, deprecated: 2.0)
extension StoreTransaction {
    /// What was bought or restored; nil for every other state.
    init?(_ transaction: SKPaymentTransaction) {
        let origin: Origin
        switch transaction.transactionState {
        case .purchased: origin = .purchase
        case .restored: origin = .restored
        default: return nil
        }
        // Apple documents that both states have one; what has none stays in the payment queue.
        guard let id = transaction.transactionIdentifier else { return nil }
        let name = transaction.payment.applicationUsername ?? transaction.original?.payment.applicationUsername
        let username = name.flatMap { $0.isEmpty || UUID(uuidString: $0) != nil ? nil : $0 }
        self.init(
            id: id, originalID: transaction.original?.transactionIdentifier,
            productID: transaction.payment.productIdentifier, quantity: transaction.payment.quantity,
            accountToken: transaction.payment.applicationUsername.flatMap(UUID.init(uuidString:)),
            username: username, origin: origin, proof: .receipt)
    }
}

@available(iOS, introduced: 13.0, deprecated: 18.0)
@available(macOS, introduced: 10.15, deprecated: 15.0)
@available(tvOS, introduced: 13.0, deprecated: 18.0)
@available(watchOS, introduced: 6.2, deprecated: 11.0)
@available(visionOS, introduced: 1.0, deprecated: 2.0)
extension StoreProduct {
    init(_ product: SKProduct) {
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = product.priceLocale
        self.init(
            id: product.productIdentifier, displayName: product.localizedTitle,
            description: product.localizedDescription,
            displayPrice: formatter.string(from: product.price) ?? "\(product.price)",
            price: product.price as Decimal, currencyCode: formatter.currencyCode,
            currencySymbol: formatter.currencySymbol,
            kind: product.subscriptionGroupIdentifier == nil ? .unknown : .autoRenewable)
    }
}

@available(iOS, introduced: 13.0, deprecated: 18.0)
@available(macOS, introduced: 10.15, deprecated: 15.0)
@available(tvOS, introduced: 13.0, deprecated: 18.0)
@available(watchOS, introduced: 6.2, deprecated: 11.0)
@available(visionOS, introduced: 1.0, deprecated: 2.0)
extension SKPaymentDiscount {
    convenience init(_ offer: PromotionalOffer) {
        self.init(
            identifier: offer.id, keyIdentifier: offer.keyID, nonce: offer.nonce, signature: offer.signature,
            timestamp: NSNumber(value: offer.timestamp))
    }
}
