import Crypto
import Foundation
import HTTPTypes

/// An offer as the developer's server signed it: what StoreKit is given with a purchase, in either of Apple's forms
/// (apple-facts C17).
///
/// Times are real ones: those who sign are real. ``StoreState/refuseRepetition(of:by:)`` looks after what a signature
/// alone does not tell: a nonce that was used, and another customer's transaction.
struct SignedOffer: Decodable, Sendable {
    enum Limit {
        /// Milliseconds for which a signature is taken.
        static let validity: Int64 = 24 * 3_600_000
        /// Milliseconds that the server's clock may be ahead of ours.
        static let clockSkew: Int64 = 60_000
        /// Bytes of a JWS.
        static let jwsBytes = 4_096
    }

    /// For StoreKit 2; the others are for `SKPaymentDiscount`.
    var jws: String?
    var keyId: String?
    var nonce: String?
    var timestamp: Int64?
    var signature: String?

    /// A good signature's nonce, and who may buy by it.
    struct Admission: Sendable {
        let nonce: OfferNonceRecord
        /// Any transaction of the customer's, or the appTransactionId; nil where the signature names none.
        let customer: String?
    }

    /// Whether this allows the offer of a purchase; the ``Problem`` is what StoreKit calls an invalid signature.
    ///
    /// - Parameter now: real time, milliseconds since 1970.
    func check(_ purchase: Purchase, of app: AppRecord?, now: Int64) throws(Problem) -> Admission {
        guard let app, !app.publicKeys.isEmpty else { throw Self.invalid("the app has no key") }
        guard let jws else { return try checkSignature(purchase, of: app, now: now) }
        return try check(jws, purchase, of: app, now: now)
    }

    private func checkSignature(_ purchase: Purchase, of app: AppRecord, now: Int64) throws(Problem) -> Admission {
        guard let keyId, let nonce, let timestamp, let signature else {
            throw Self.invalid("jws, or keyId, nonce, timestamp and signature")
        }
        guard purchase.offerKind == .promotional, let offer = purchase.offerIdentifier else {
            throw Self.invalid("such a signature is for a promotional offer, by its identifier")
        }
        try Self.checkTime(timestamp, now: now)
        let parts = [
            app.bundleId, keyId, purchase.productId, offer, purchase.appAccountToken ?? "", nonce.lowercased(),
            "\(timestamp)",
        ]
        guard let der = Data(base64Encoded: signature),
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: der)
        else { throw Self.invalid("signature is not DER in base64") }
        try Self.verify(signature, of: Data(parts.joined(separator: "\u{2063}").utf8), by: keyId, of: app)
        guard UUID(uuidString: nonce) != nil else { throw Self.invalid("nonce is no UUID") }
        return Admission(nonce: Self.record(nonce, of: app, signed: timestamp), customer: nil)
    }

    private static func record(_ nonce: String, of app: AppRecord, signed: Int64) -> OfferNonceRecord {
        OfferNonceRecord(id: "\(app.bundleId)/\(nonce.lowercased())", end: signed + Limit.validity)
    }

    /// What a JWS of either kind claims.
    private struct Claims: Decodable {
        let aud: String
        let bid: String
        let iss: String
        /// Seconds since 1970.
        let iat: Double
        let nonce: String
        let productId: String
        let offerIdentifier: String?
        let allowIntroductoryOffer: Bool?
        let transactionId: String?
    }

    private func check(
        _ jws: String, _ purchase: Purchase, of app: AppRecord, now: Int64
    ) throws(Problem) -> Admission {
        guard jws.utf8.count <= Limit.jwsBytes, let token = SignedToken<Claims>(jws),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: token.signature)
        else { throw Self.invalid("the JWS is none, or lacks a claim") }
        let claims = token.claims
        guard token.header.alg == "ES256", token.header.typ == "JWT" else { throw Self.invalid("the JWS's header") }
        try Self.verify(signature, of: token.signingInput, by: token.header.kid, of: app)
        guard claims.bid == app.bundleId, claims.iss == app.issuerId, claims.productId == purchase.productId else {
            throw Self.invalid("bid, iss or productId is another's")
        }
        guard UUID(uuidString: claims.nonce) != nil else { throw Self.invalid("nonce is no UUID") }
        guard let signed = Int64(exactly: (claims.iat * 1_000).rounded()) else { throw Self.invalid("iat") }
        try Self.checkTime(signed, now: now)
        switch purchase.offerKind {
        case .promotional:
            guard claims.aud == "promotional-offer", claims.offerIdentifier == purchase.offerIdentifier else {
                throw Self.invalid("aud or offerIdentifier is another's")
            }
        case .introductory:
            guard claims.aud == "introductory-offer-eligibility", claims.transactionId != nil,
                let isAllowed = claims.allowIntroductoryOffer
            else { throw Self.invalid("aud, transactionId or allowIntroductoryOffer") }
            guard isAllowed else { throw Problem(.conflict, "offer: the server allows no introductory offer") }
        case .code, .winBack, nil: throw Self.invalid("only promotional and introductory offers are signed")
        }
        return Admission(nonce: Self.record(claims.nonce, of: app, signed: signed), customer: claims.transactionId)
    }

    private static func checkTime(_ milliseconds: Int64, now: Int64) throws(Problem) {
        guard milliseconds <= now + Limit.clockSkew, milliseconds > now - Limit.validity else {
            throw invalid("it was not signed within the last 24 hours")
        }
    }

    private static func verify(
        _ signature: P256.Signing.ECDSASignature, of bytes: Data, by keyId: String, of app: AppRecord
    ) throws(Problem) {
        guard let pem = app.publicKeys[keyId], let key = try? P256.Signing.PublicKey(pemRepresentation: pem) else {
            throw invalid("the app has no such key")
        }
        guard key.isValidSignature(signature, for: bytes) else {
            throw invalid("the signature is not of this purchase: product, offer, appAccountToken, nonce, time")
        }
    }

    static func invalid(_ why: String) -> Problem {
        Problem(.badRequest, "offer.signed: invalidOfferSignature: \(why)")
    }
}
