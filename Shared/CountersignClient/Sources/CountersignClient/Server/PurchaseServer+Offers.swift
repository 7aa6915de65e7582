#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PurchaseServer {
    /// Has an offer signed for a purchase.
    ///
    /// - Throws: `PurchaseError`: `offer_unavailable`, `server_unavailable`. Nothing was paid.
    func signedOffer(
        _ offer: SubscriptionOffer, account: String, productID: String, token: UUID?
    ) async throws -> SignedOffer {
        switch offer.source {
        case .winBack(let id): return .winBack(id: id)
        case .app(let sign):
            do {
                return try await sign(productID, token)
            } catch {
                throw PurchaseError(.offerUnavailable, "the app has no signature: \(type(of: error))")
            }
        case .server(let id, let transactionID):
            let body = OfferBody(
                app: app, account: account, productID: productID, offerID: id,
                accountToken: token?.uuidString.lowercased(), transactionID: transactionID)
            switch await send("POST", "v1/offer-signatures", body: body, account: account, wait: 0) {
            case .success(let answer):
                guard let signed = try? SignedOffer(answer: answer.body) else {
                    throw PurchaseError(.offerUnavailable, "the answer is no signed offer")
                }
                return signed
            case .failure(.unavailable(let detail, _)): throw PurchaseError(.serverUnavailable, detail)
            case .failure(.limited): throw PurchaseError(.serverUnavailable, "too many signatures (429)")
            case .failure(let other): throw PurchaseError(.offerUnavailable, "\(other)")
            }
        }
    }
}

private struct OfferBody: Encodable {
    let app: String
    let account: String
    let productID: String
    let offerID: String
    let accountToken: String?
    let transactionID: String?

    enum CodingKeys: String, CodingKey {
        case app, account
        case productID = "product_id"
        case offerID = "offer_id"
        case accountToken = "app_account_token"
        case transactionID = "transaction_id"
    }
}
