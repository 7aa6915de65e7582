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

    /// The transaction belongs to another account, or Apple's signed data names another account.
    package static let belongsToAnotherAccount = ReasonCode(rawValue: "belongs_to_another_account")
    /// The app's configuration refuses sandbox purchases.
    package static let sandboxRefused = ReasonCode(rawValue: "sandbox_refused")
    /// No app of this bundle id is configured.
    package static let appUnknown = ReasonCode(rawValue: "app_unknown")
    /// Genuine, but signed before Apple's data named an environment (2021): nothing says whether money was paid.
    package static let environmentMissing = ReasonCode(rawValue: "environment_missing")
    /// Genuine by its signature, but its certificates have expired and nothing else confirms it: held until Apple, newer data
    /// or a person does.
    package static let signedWithExpiredCertificate = ReasonCode(rawValue: "signed_with_expired_certificate")
    /// Genuine, but the catalogue does not know the product yet.
    package static let productUnknown = ReasonCode(rawValue: "product_unknown")
    /// Genuine, but the product's type in the catalogue is not Apple's.
    package static let productTypeMismatch = ReasonCode(rawValue: "product_type_mismatch")
    /// Genuine, but no account has registered the appAccountToken that Apple signed.
    package static let accountTokenUnknown = ReasonCode(rawValue: "account_token_unknown")
    /// Genuine, but its grant is larger than the largest amount.
    package static let amountTooLarge = ReasonCode(rawValue: "amount_too_large")
    /// Genuine, but Apple revoked it before it was granted.
    package static let revokedByApple = ReasonCode(rawValue: "revoked_by_apple")
    /// The transaction belongs to another account, and has moved as often as the restore policy allows in this period.
    package static let restoreLimitReached = ReasonCode(rawValue: "restore_limit_reached")
    /// Apple knows no order of this id, or none of this app.
    package static let orderNotFound = ReasonCode(rawValue: "order_not_found")
    /// Genuine, but without an account: Apple reported it, or it was in another account's receipt; held until an account
    /// claims it.
    package static let unclaimed = ReasonCode(rawValue: "unclaimed")
    /// A genuine receipt of several purchases; the app named none of them.
    package static let claimUnnamed = ReasonCode(rawValue: "claim_unnamed")
    /// A genuine receipt without the transaction that the app names.
    package static let transactionNotInReceipt = ReasonCode(rawValue: "transaction_not_in_receipt")
    /// A genuine receipt without any purchase.
    package static let receiptWithoutPurchases = ReasonCode(rawValue: "receipt_without_purchases")
    /// Apple does not know a transaction with this id, and was asked several times.
    package static let transactionNotFound = ReasonCode(rawValue: "transaction_not_found")
    /// Apple's rate limit, or our share of it, is used up; Apple is asked again later.
    package static let rateLimited = ReasonCode(rawValue: "rate_limited")
    /// Apple's servers do not answer, or answer with errors.
    package static let appStoreUnavailable = ReasonCode(rawValue: "app_store_unavailable")
    /// Apple refuses the app's key: an operator must check it.
    package static let appStoreUnauthorized = ReasonCode(rawValue: "app_store_unauthorized")
    /// The app's settings lack a key or a shared secret, so Apple cannot be asked.
    package static let appStoreNotConfigured = ReasonCode(rawValue: "app_store_not_configured")
    /// No verdict has arrived: a process is down or lags, or Apple does not answer and the lookups wait.
    package static let noVerdict = ReasonCode(rawValue: "no_verdict")
    /// Apple's signed data contradicts the known purchase: held until a person decides.
    package static let purchaseAmbiguous = ReasonCode(rawValue: "purchase_ambiguous")
    /// Apple's signed data lacks a required field: held until newer data has it, or a person decides.
    package static let transactionIncomplete = ReasonCode(rawValue: "transaction_incomplete")
    /// A field that decides the grant has a value that this version does not know: held until a newer version knows it, or a
    /// policy of the product says what it grants.
    package static let vocabularyUnknown = ReasonCode(rawValue: "vocabulary_unknown")
    /// Only an id was posted, and Apple's data does not name the caller's account.
    package static let possessionUnproven = ReasonCode(rawValue: "possession_unproven")
    /// Its account was forgotten before it had an outcome.
    package static let accountForgotten = ReasonCode(rawValue: "account_forgotten")
}
