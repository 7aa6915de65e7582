/// Why something was refused, parked or put off: a stable word for programs, logs and metrics.
///
/// The reasons of a verification (a broken signature, a wrong bundle id, …) come from the verifier under its own names;
/// the ones below are Countersign's.
package struct ReasonCode: RawRepresentable, Codable, Sendable, Hashable, CustomStringConvertible {
    /// The word, in snake case.
    package let rawValue: String

    /// Keeps the word as it is.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The word.
    package var description: String { rawValue }

    /// The transaction is another account's already, or Apple's signed data names another account.
    package static let belongsToAnotherAccount = ReasonCode(rawValue: "belongs_to_another_account")
    /// The app's configuration refuses sandbox purchases.
    package static let sandboxRefused = ReasonCode(rawValue: "sandbox_refused")
    /// No app of this bundle id is configured.
    package static let appUnknown = ReasonCode(rawValue: "app_unknown")
    /// Genuine, but signed before Apple's data named an environment (2021): nothing says whether money was paid.
    package static let environmentMissing = ReasonCode(rawValue: "environment_missing")
    /// Genuine by its signature, whose certificates have expired since, and not known otherwise: held until Apple, newer data
    /// or a person says that it is no forgery.
    package static let signedWithExpiredCertificate = ReasonCode(rawValue: "signed_with_expired_certificate")
    /// Genuine, but the catalogue does not know the product yet.
    package static let productUnknown = ReasonCode(rawValue: "product_unknown")
    /// Genuine, but the catalogue says another type than Apple does.
    package static let productTypeMismatch = ReasonCode(rawValue: "product_type_mismatch")
    /// Genuine, but the appAccountToken that Apple signed belongs to no account we know.
    package static let accountTokenUnknown = ReasonCode(rawValue: "account_token_unknown")
    /// Genuine, but its grant is greater than an amount can be.
    package static let amountTooLarge = ReasonCode(rawValue: "amount_too_large")
    /// Genuine, and taken back by Apple before it was granted.
    package static let revokedByApple = ReasonCode(rawValue: "revoked_by_apple")
    /// The transaction is another account's, whose restore policy would move it, but not more often in this time.
    package static let restoreLimitReached = ReasonCode(rawValue: "restore_limit_reached")
    /// Apple knows no order of this id, or none of this app.
    package static let orderNotFound = ReasonCode(rawValue: "order_not_found")
    /// Genuine, and nobody's: Apple told of it, or it stood in somebody's receipt; held until somebody posts it as his own.
    package static let unclaimed = ReasonCode(rawValue: "unclaimed")
    /// A genuine receipt of several purchases, of which the app named none as the account's.
    package static let claimUnnamed = ReasonCode(rawValue: "claim_unnamed")
    /// A genuine receipt in which the transaction that the app names is not.
    package static let transactionNotInReceipt = ReasonCode(rawValue: "transaction_not_in_receipt")
    /// A genuine receipt without any purchase.
    package static let receiptWithoutPurchases = ReasonCode(rawValue: "receipt_without_purchases")
    /// Apple knows no transaction of this id, asked often enough.
    package static let transactionNotFound = ReasonCode(rawValue: "transaction_not_found")
    /// Apple's servers, or our share of what they allow, leave no room now: nothing was learnt.
    package static let rateLimited = ReasonCode(rawValue: "rate_limited")
    /// Apple's servers do not answer, or answer with errors: nothing was learnt.
    package static let appStoreUnavailable = ReasonCode(rawValue: "app_store_unavailable")
    /// Apple refuses our key: nobody's purchase is to blame, and somebody must look.
    package static let appStoreUnauthorized = ReasonCode(rawValue: "app_store_unauthorized")
    /// The app's settings lack what it takes to ask Apple: a key, a shared secret.
    package static let appStoreNotConfigured = ReasonCode(rawValue: "app_store_not_configured")
    /// No verdict ever came: the pipeline is held up before it, or Apple is away and the lookups wait.
    package static let noVerdict = ReasonCode(rawValue: "no_verdict")
    /// What Apple signed contradicts what is known of the purchase: held until a person decides.
    package static let purchaseAmbiguous = ReasonCode(rawValue: "purchase_ambiguous")
    /// What Apple signed lacks a field that its type must have: held until newer data has it, or a person decides.
    package static let transactionIncomplete = ReasonCode(rawValue: "transaction_incomplete")
    /// What Apple signed has a word in a field that decides what is granted, and this version does not know it: held until a newer
    /// version does, or a policy of the product says what it brings.
    package static let vocabularyUnknown = ReasonCode(rawValue: "vocabulary_unknown")
    /// Only the transaction's number was posted, and Apple's data does not say that it is the poster's.
    package static let possessionUnproven = ReasonCode(rawValue: "possession_unproven")
    /// Nothing was learnt of it until its account was forgotten.
    package static let accountForgotten = ReasonCode(rawValue: "account_forgotten")
}
