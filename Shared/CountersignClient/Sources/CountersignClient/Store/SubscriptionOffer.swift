#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A subscription offer that a purchase is to have.
///
/// It is signed after the purchase has its intent: Apple takes a signature only for the account token that was signed with it.
public struct SubscriptionOffer: Sendable {
    /// Signs an offer for a product and the account token that the purchase has.
    public typealias Sign = @Sendable (_ productID: String, _ accountToken: UUID?) async throws -> SignedOffer

    enum Source: Sendable {
        case server(id: String, transactionID: String?)
        case winBack(id: String)
        case app(Sign)
    }

    let source: Source

    /// A promotional offer that Countersign signs for the player: one of the `player_offers` of the app.
    ///
    /// - Parameters:
    ///   - id: the offer's identifier in App Store Connect.
    ///   - transactionID: any transaction of the customer's, or the appTransactionId; Apple recommends it.
    public static func promotional(_ id: String, transactionID: String? = nil) -> SubscriptionOffer {
        SubscriptionOffer(source: .server(id: id, transactionID: transactionID))
    }

    /// A win-back offer that the App Store has for this customer (iOS 18): it needs no signature.
    public static func winBack(_ id: String) -> SubscriptionOffer {
        SubscriptionOffer(source: .winBack(id: id))
    }

    /// An offer that your backend has signed, by `POST /v1/offer-signatures` with its key: ``SignedOffer/init(answer:)`` reads
    /// what it passes on.
    public static func signed(by sign: @escaping Sign) -> SubscriptionOffer {
        SubscriptionOffer(source: .app(sign))
    }
}

/// What the App Store is shown of an offer.
public enum SignedOffer: Sendable, Hashable {
    /// A promotional offer.
    case promotional(PromotionalOffer)
    /// Whether the customer may have the introductory offer, as a JWS; for StoreKit 2 alone.
    case introductoryEligibility(jws: String)
    /// A win-back offer, by its id; for StoreKit 2 alone.
    case winBack(id: String)
}

/// What a person chose to buy in the App Store.
///
/// Nothing of it is paid: buy it with ``PurchaseQueue``.
public struct PromotedPurchase: Sendable {
    /// The product's id.
    public var productID: String
    /// The offer that the person was shown; hand it to the purchase.
    public var offer: SubscriptionOffer?

    /// A choice.
    public init(productID: String, offer: SubscriptionOffer? = nil) {
        self.productID = productID
        self.offer = offer
    }
}

/// A promotional offer with the server's signatures over product, offer and account token.
public struct PromotionalOffer: Sendable, Hashable {
    /// The offer's id in App Store Connect.
    public var id: String
    /// The id of the key that signed it.
    public var keyID: String
    /// The nonce that was signed.
    public var nonce: UUID
    /// When it was signed, in milliseconds since 1970.
    public var timestamp: Int64
    /// The signature (DER), in base64.
    public var signature: String
    /// The same as a JWS, which StoreKit 2 is shown where it is there.
    public var jws: String?

    /// An offer as the server signed it.
    public init(id: String, keyID: String, nonce: UUID, timestamp: Int64, signature: String, jws: String? = nil) {
        self.id = id
        self.keyID = keyID
        self.nonce = nonce
        self.timestamp = timestamp
        self.signature = signature
        self.jws = jws
    }
}

extension SignedOffer {
    /// Reads an answer of `POST /v1/offer-signatures`.
    ///
    /// - Throws: `DecodingError`.
    public init(answer: Data) throws {
        let body = try JSONDecoder().decode(Body.self, from: answer)
        guard let id = body.offerID, let signature = body.signature else {
            self = .introductoryEligibility(jws: body.jws)
            return
        }
        self = .promotional(
            PromotionalOffer(
                id: id, keyID: body.keyID, nonce: body.nonce, timestamp: body.timestamp, signature: signature,
                jws: body.jws))
    }

    private struct Body: Decodable {
        let offerID: String?
        let keyID: String
        let nonce: UUID
        let timestamp: Int64
        let signature: String?
        let jws: String

        enum CodingKeys: String, CodingKey {
            case nonce, timestamp, signature, jws
            case offerID = "offer_id"
            case keyID = "key_id"
        }
    }
}
