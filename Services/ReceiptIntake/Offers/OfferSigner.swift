import Crypto
import Foundation
import ServiceRuntime

/// Signs the subscription offers of one app, as the App Store checks them.
struct OfferSigner: Sendable {
    enum Limit {
        /// For how long the App Store takes a signature of ``signature(product:offer:token:nonce:timestamp:)``.
        ///
        /// Source: developer.apple.com/documentation/storekit/generating-a-signature-for-promotional-offers.
        static let validity = Duration.seconds(24 * 60 * 60)
        /// The most Unicode scalars of a product's id and of an offer's.
        static let idLength = 255
    }

    /// What stands between the parts that are signed, and may therefore stand in none of them.
    static let separator = "\u{2063}"

    /// The key's id in App Store Connect.
    let keyId: String
    /// Offers that every player may have signed.
    let playerOffers: Set<String>
    private let bundleId: String
    private let issuerId: String
    private let key: P256.Signing.PrivateKey

    /// - Throws: `CryptoKitError`, `CryptoKitASN1Error` for a text that is no private key of P-256.
    init(bundleId: String, offers: AppsFile.SubscriptionOffers) throws {
        self.bundleId = bundleId
        keyId = offers.key.keyId
        issuerId = offers.key.issuerId
        playerOffers = offers.playerOffers
        key = try P256.Signing.PrivateKey(pemRepresentation: offers.key.privateKey.value)
    }

    /// The signature of a promotional offer that `SKPaymentDiscount` and StoreKit 2 before the JWS take: ECDSA with SHA-256
    /// over the parts with ``separator`` between them, DER, base64.
    ///
    /// - Parameters:
    ///   - token: the appAccountToken or applicationUsername that the app buys with; nil where it buys with none.
    ///   - timestamp: milliseconds since 1970.
    /// - Throws: `CryptoKitError`.
    func signature(product: String, offer: String, token: UUID?, nonce: UUID, timestamp: Int64) throws -> String {
        let parts = [
            bundleId, keyId, product, offer, token?.uuidString.lowercased() ?? "", nonce.uuidString.lowercased(),
            "\(timestamp)",
        ]
        let text = parts.joined(separator: Self.separator)
        return try key.signature(for: Data(text.utf8)).derRepresentation.base64EncodedString()
    }

    /// A promotional offer as StoreKit 2's `promotionalOffer(_:compactJWS:)` takes it.
    ///
    /// - Parameter transaction: any transaction of the customer's, or the appTransactionId; Apple recommends it.
    /// - Throws: `CryptoKitError`.
    func promotionalOffer(
        product: String, offer: String, transaction: String?, nonce: UUID, issuedAt: Int64
    ) throws -> String {
        var claims = claims("promotional-offer", nonce: nonce, issuedAt: issuedAt)
        claims.productId = product
        claims.offerIdentifier = offer
        claims.transactionId = transaction
        return try compactJWS(claims)
    }

    /// Whether a customer may have the introductory offer, as StoreKit 2's `introductoryOfferEligibility(compactJWS:)`
    /// takes it.
    ///
    /// - Parameter transaction: any transaction of the customer's, or the appTransactionId.
    /// - Throws: `CryptoKitError`.
    func introductoryOffer(
        product: String, isAllowed: Bool, transaction: String, nonce: UUID, issuedAt: Int64
    ) throws -> String {
        var claims = claims("introductory-offer-eligibility", nonce: nonce, issuedAt: issuedAt)
        claims.productId = product
        claims.allowIntroductoryOffer = isAllowed
        claims.transactionId = transaction
        return try compactJWS(claims)
    }

    private func claims(_ audience: String, nonce: UUID, issuedAt: Int64) -> Claims {
        Claims(
            aud: audience, bid: bundleId, iat: issuedAt, iss: issuerId, nonce: nonce.uuidString.lowercased())
    }

    private func compactJWS(_ claims: Claims) throws -> String {
        let header = try Self.encode(Header(alg: "ES256", kid: keyId, typ: "JWT"))
        let signed = "\(header).\(try Self.encode(claims))"
        // RFC 7518, section 3.4: both numbers, 32 bytes each.
        let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
        return "\(signed).\(Base64URL.encode(signature))"
    }

    private static func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Base64URL.encode(try encoder.encode(value))
    }

    private struct Header: Encodable {
        let alg: String
        let kid: String
        let typ: String
    }

    /// What is signed; `iat` is in seconds.
    ///
    /// Source: developer.apple.com/documentation/storekit/generating-jws-to-sign-app-store-requests.
    private struct Claims: Encodable {
        let aud: String
        let bid: String
        let iat: Int64
        let iss: String
        let nonce: String
        var productId: String?
        var offerIdentifier: String?
        var allowIntroductoryOffer: Bool?
        var transactionId: String?
    }
}
