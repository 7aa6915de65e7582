import Foundation
import PurchaseModel

/// Which of several statements about one transaction counts.
///
/// A signed transaction states the product's type, the ownership and the price; receipts state one of them at the most.
/// So: the statement that states most of the three counts; of equals the one that was known first, so that the same
/// receipt posted again changes nothing. The others only add:
/// - a product type, a token, a price, a storefront, an ownership, a test mark where it has none;
/// - a later end of the paid period, from the newest statement that has one;
/// - a revocation: what one of them says that Apple took back stays taken back.
extension PurchasedTransaction {
    /// What the statements say together.
    ///
    /// - Parameter others: verified statements of the same transaction (environment, id and app), in the order they came.
    func joined(with others: [PurchasedTransaction]) -> PurchasedTransaction {
        let all = [self] + others
        var best = all.dropFirst().reduce(self) { $1.partsStated > $0.partsStated ? $1 : $0 }
        if best.productType == .unstated {
            best.productType = all.first { $0.productType != .unstated }?.productType ?? .unstated
        }
        best.appAccountToken = best.appAccountToken ?? all.firstValue(\.appAccountToken)
        best.storefront = best.storefront ?? all.firstValue(\.storefront)
        best.ownership = best.ownership ?? all.firstValue(\.ownership)
        best.testPurchase = best.testPurchase ?? all.firstValue(\.testPurchase)
        best.originalPurchaseDate = best.originalPurchaseDate ?? all.firstValue(\.originalPurchaseDate)
        if best.priceMilliunits == nil, let priced = all.first(where: { $0.priceMilliunits != nil }) {
            best.priceMilliunits = priced.priceMilliunits
            best.currency = priced.currency
        }
        let ending = all.filter { $0.expiresDate != nil }
        best.expiresDate =
            ending.dropFirst().reduce(ending.first) { newest, next in
                guard let newest, newest.signedDate >= next.signedDate else { return next }
                return newest
            }?.expiresDate
        if best.revocationDate == nil, let revoked = all.first(where: { $0.revocationDate != nil }) {
            best.revocationDate = revoked.revocationDate
            best.revocationReason = revoked.revocationReason
        }
        return best
    }

    /// How many of the three parts that tell a signed transaction from a receipt this statement has.
    private var partsStated: Int {
        (productType == .unstated ? 0 : 1) + (ownership == nil ? 0 : 1) + (priceMilliunits == nil ? 0 : 1)
    }
}

extension [PurchasedTransaction] {
    fileprivate func firstValue<Value>(_ path: KeyPath<PurchasedTransaction, Value?>) -> Value? {
        lazy.compactMap { $0[keyPath: path] }.first
    }
}
