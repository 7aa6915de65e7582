import Foundation
import HTTPTypes
import Hummingbird
import Messages
import NIOCore

/// A signed offer: `OfferSignature` in the OpenAPI document.
///
/// What belongs to the other kind of offer is left out.
struct OfferAnswer: Encodable, Sendable {
    let app: String
    let productId: String
    let offerId: String?
    let allowIntroductoryOffer: Bool?
    let appAccountToken: String?
    let transactionId: String?
    let keyId: String
    /// In lower case, as it was signed.
    let nonce: String
    /// Milliseconds since 1970, as StoreKit wants to have them back.
    let timestamp: Int64
    /// DER in base64; a promotional offer's only.
    let signature: String?
    let expiresAt: Date?
    let jws: String

    enum CodingKeys: String, CodingKey {
        case app, nonce, timestamp, signature, jws
        case productId = "product_id"
        case offerId = "offer_id"
        case allowIntroductoryOffer = "allow_introductory_offer"
        case appAccountToken = "app_account_token"
        case transactionId = "transaction_id"
        case keyId = "key_id"
        case expiresAt = "expires_at"
    }

    /// Signs what is wished for.
    ///
    /// - Parameters:
    ///   - nonce: a new one for each answer.
    ///   - now: when it is signed; both forms have it in their own unit.
    /// - Throws: `CryptoKitError`.
    init(
        _ wish: OfferRequest.Wish, product: String, app: String, by signer: OfferSigner, nonce: UUID = UUID(),
        now: Date = Date()
    ) throws {
        self.app = app
        productId = product
        keyId = signer.keyId
        self.nonce = nonce.uuidString.lowercased()
        let milliseconds = Int64(now.timeIntervalSince1970 * 1_000)
        timestamp = milliseconds
        switch wish {
        case .promotional(let offer, let token, let transaction):
            offerId = offer
            allowIntroductoryOffer = nil
            appAccountToken = token?.uuidString.lowercased()
            transactionId = transaction
            signature = try signer.signature(
                product: product, offer: offer, token: token, nonce: nonce, timestamp: milliseconds)
            expiresAt = now.addingTimeInterval(Double(OfferSigner.Limit.validity.components.seconds))
            jws = try signer.promotionalOffer(
                product: product, offer: offer, transaction: transaction, nonce: nonce, issuedAt: milliseconds / 1_000)
        case .introductory(let isAllowed, let transaction):
            offerId = nil
            allowIntroductoryOffer = isAllowed
            appAccountToken = nil
            transactionId = transaction
            signature = nil
            expiresAt = nil
            jws = try signer.introductoryOffer(
                product: product, isAllowed: isAllowed, transaction: transaction, nonce: nonce,
                issuedAt: milliseconds / 1_000)
        }
    }

    /// The answer; each is for one purchase, so that nobody keeps it.
    ///
    /// - Throws: `EncodingError`.
    func response() throws -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try MessageCoding.encode(self))))
    }
}
