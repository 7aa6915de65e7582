import Foundation
import PurchaseModel
import ServiceRuntime

/// What an app, or the studio's backend, wants signed: `OfferSignatureRequest` in the OpenAPI document.
struct OfferRequest: Decodable, Sendable {
    let app: String
    let account: String?
    let productId: String
    let offerId: String?
    let allowIntroductoryOffer: Bool?
    let appAccountToken: String?
    let transactionId: String?

    enum CodingKeys: String, CodingKey {
        case app, account
        case productId = "product_id"
        case offerId = "offer_id"
        case allowIntroductoryOffer = "allow_introductory_offer"
        case appAccountToken = "app_account_token"
        case transactionId = "transaction_id"
    }

    /// - Throws: `DecodingError`; `ProblemDetails` for a choice that is none.
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        app = try members.decode(String.self, forKey: .app)
        account = try members.decodeIfPresent(String.self, forKey: .account)
        productId = try members.decode(String.self, forKey: .productId)
        offerId = try members.decodeIfPresent(String.self, forKey: .offerId)
        appAccountToken = try members.decodeIfPresent(String.self, forKey: .appAccountToken)
        transactionId = try members.decodeIfPresent(String.self, forKey: .transactionId)
        allowIntroductoryOffer = try members.decodeIfPresent(Bool.self, forKey: .allowIntroductoryOffer)
    }

    /// What is to be signed, checked.
    enum Wish: Sendable, Equatable {
        /// A promotional offer of a subscription.
        case promotional(offer: String, token: UUID?, transaction: String?)
        /// Whether the customer may have the introductory offer.
        case introductory(isAllowed: Bool, transaction: String)
    }

    /// - Throws: `ProblemDetails` for the first field that will not do.
    func wish() throws -> Wish {
        try Self.check(productId, .productId)
        let token = try token()
        let transaction = try transactionId.map { text in
            guard let id = TransactionId(text) else {
                throw ProblemDetails.fieldInvalid(
                    CodingKeys.transactionId.rawValue, "1 to \(TransactionId.lengthMaximum) letters and digits")
            }
            return id.text
        }
        switch (offerId, allowIntroductoryOffer) {
        case (nil, nil): throw ProblemDetails.offerMissing
        case (_?, _?):
            throw ProblemDetails.fieldInvalid(
                CodingKeys.allowIntroductoryOffer.rawValue, "left out beside `offer_id`: a purchase has one offer")
        case (let offer?, nil):
            try Self.check(offer, .offerId)
            return .promotional(offer: offer, token: token, transaction: transaction)
        case (nil, let isAllowed?):
            guard let transaction else { throw ProblemDetails.fieldMissing(CodingKeys.transactionId.rawValue) }
            return .introductory(isAllowed: isAllowed, transaction: transaction)
        }
    }

    private func token() throws -> UUID? {
        guard let appAccountToken else { return nil }
        guard let token = UUID(uuidString: appAccountToken), AccountTokens.isToken(token) else {
            throw ProblemDetails.fieldInvalid(
                CodingKeys.appAccountToken.rawValue, "a UUID, and not the one of zeros alone")
        }
        return token
    }

    /// Two requests must not be one text once their parts are joined.
    private static func check(_ text: String, _ key: CodingKeys) throws {
        guard PrintableText.isOne(text, lengthMaximum: OfferSigner.Limit.idLength),
            !text.contains(OfferSigner.separator)
        else {
            throw ProblemDetails.fieldInvalid(
                key.rawValue,
                "1 to \(OfferSigner.Limit.idLength) characters, no control characters or invisible separators")
        }
    }
}
