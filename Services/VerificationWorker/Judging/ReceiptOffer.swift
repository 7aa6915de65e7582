import PurchaseModel

/// The offer by which a subscription's period was bought, in the words of signed transactions.
///
/// Receipts and verifyReceipt name the offers of the developer; of an introductory one they only say that it applies (ADP,
/// responseBody.Latest_receipt_info).
struct ReceiptOffer: Sendable, Hashable {
    /// Apple's numbers (ADP, offerType).
    private enum Kind {
        static let introductory = 1
        static let promotional = 2
        static let code = 3
    }

    let type: Int?
    let identifier: String?
    let discountType: String?

    /// - Parameters:
    ///   - promotional: the id of the promotional offer.
    ///   - code: the reference name of the offer code.
    ///   - isTrial: whether the period is free.
    ///   - isIntroductory: whether it is at an introductory price.
    init(promotional: String?, code: String?, isTrial: Bool, isIntroductory: Bool) {
        identifier = promotional ?? code
        discountType = isTrial ? "FREE_TRIAL" : nil
        if promotional != nil {
            type = Kind.promotional
        } else if code != nil {
            type = Kind.code
        } else {
            type = isTrial || isIntroductory ? Kind.introductory : nil
        }
    }
}

extension Transaction {
    /// Says by which offer it was bought.
    mutating func take(_ offer: ReceiptOffer) {
        offerType = offer.type
        offerIdentifier = offer.identifier
        offerDiscountType = offer.discountType
    }
}
