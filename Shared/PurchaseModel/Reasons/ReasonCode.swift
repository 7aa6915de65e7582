/// Why something was refused, parked or put off: a stable word for programs, logs and metrics.
///
/// What each means and what to do about it stands in ``Reason/all``. The reasons of a verification (a broken signature, …)
/// come from the verifier under its own names.
package struct ReasonCode: RawRepresentable, Codable, Sendable, Hashable, CustomStringConvertible {
    /// The word, in snake case.
    package let rawValue: String

    /// Keeps the word as it is.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The word.
    package var description: String { rawValue }
}

// What Countersign decides about a purchase.
extension ReasonCode {
    package static let belongsToAnotherAccount = ReasonCode(rawValue: "belongs_to_another_account")
    package static let sandboxRefused = ReasonCode(rawValue: "sandbox_refused")
    package static let appUnknown = ReasonCode(rawValue: "app_unknown")
    package static let environmentMissing = ReasonCode(rawValue: "environment_missing")
    package static let signedWithExpiredCertificate = ReasonCode(rawValue: "signed_with_expired_certificate")
    package static let productUnknown = ReasonCode(rawValue: "product_unknown")
    package static let productTypeMismatch = ReasonCode(rawValue: "product_type_mismatch")
    package static let accountTokenUnknown = ReasonCode(rawValue: "account_token_unknown")
    package static let amountTooLarge = ReasonCode(rawValue: "amount_too_large")
    package static let revokedByApple = ReasonCode(rawValue: "revoked_by_apple")
    package static let restoreLimitReached = ReasonCode(rawValue: "restore_limit_reached")
    package static let orderNotFound = ReasonCode(rawValue: "order_not_found")
    package static let unclaimed = ReasonCode(rawValue: "unclaimed")
    package static let claimUnnamed = ReasonCode(rawValue: "claim_unnamed")
    package static let transactionNotInReceipt = ReasonCode(rawValue: "transaction_not_in_receipt")
    package static let receiptWithoutPurchases = ReasonCode(rawValue: "receipt_without_purchases")
    package static let transactionNotFound = ReasonCode(rawValue: "transaction_not_found")
    package static let rateLimited = ReasonCode(rawValue: "rate_limited")
    package static let appStoreUnavailable = ReasonCode(rawValue: "app_store_unavailable")
    package static let appStoreUnauthorized = ReasonCode(rawValue: "app_store_unauthorized")
    package static let appStoreNotConfigured = ReasonCode(rawValue: "app_store_not_configured")
    package static let noVerdict = ReasonCode(rawValue: "no_verdict")
    package static let purchaseAmbiguous = ReasonCode(rawValue: "purchase_ambiguous")
    package static let transactionIncomplete = ReasonCode(rawValue: "transaction_incomplete")
    package static let vocabularyUnknown = ReasonCode(rawValue: "vocabulary_unknown")
    package static let possessionUnproven = ReasonCode(rawValue: "possession_unproven")
    package static let accountForgotten = ReasonCode(rawValue: "account_forgotten")
}

// What the verification worker finds when it looks for more.
extension ReasonCode {
    package static let proofKindUnknown = ReasonCode(rawValue: "proof_kind_unknown")
    package static let claimCheckUnavailable = ReasonCode(rawValue: "claim_check_unavailable")
    package static let bundleIdMissing = ReasonCode(rawValue: "bundle_id_missing")
    package static let accountTokenUnreadable = ReasonCode(rawValue: "account_token_unreadable")
    package static let consentUnreadable = ReasonCode(rawValue: "consent_unreadable")
    package static let appAppleIdMismatch = ReasonCode(rawValue: "app_apple_id_mismatch")
    package static let notificationTypeUnknown = ReasonCode(rawValue: "notification_type_unknown")
    package static let productTypeUnreadable = ReasonCode(rawValue: "product_type_unreadable")
    package static let answerMismatch = ReasonCode(rawValue: "answer_mismatch")
    package static let appStoreRefused = ReasonCode(rawValue: "app_store_refused")
    package static let appStoreSlow = ReasonCode(rawValue: "app_store_slow")
    package static let transactionIdInvalid = ReasonCode(rawValue: "transaction_id_invalid")
    package static let certificateRevoked = ReasonCode(rawValue: "certificate_revoked")
    package static let revocationUnknown = ReasonCode(rawValue: "revocation_unknown")
    package static let receiptEntryUnreadable = ReasonCode(rawValue: "receipt_entry_unreadable")
    package static let payloadInvalid = ReasonCode(rawValue: "payload_invalid")
    package static let bundleMismatch = ReasonCode(rawValue: "bundle_mismatch")
}
