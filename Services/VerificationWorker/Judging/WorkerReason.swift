import PurchaseModel

/// Reasons that only this worker states; the table of all of them is `deploy/site/pages/outcomes.md`.
extension ReasonCode {
    /// Intake speaks of a kind of proof that this worker does not know: a newer one will.
    static let proofKindUnknown = ReasonCode(rawValue: "proof_kind_unknown")
    /// The proof is in the database, and this worker cannot read it there now.
    static let claimCheckUnavailable = ReasonCode(rawValue: "claim_check_unavailable")
    /// Apple signed a transaction without saying whose app's it is: Apple is asked with the app's key.
    static let bundleIdMissing = ReasonCode(rawValue: "bundle_id_missing")
    /// Apple signed whose it is, and nobody can read it.
    static let accountTokenUnreadable = ReasonCode(rawValue: "account_token_unreadable")
    /// Apple signed that a guardian withdrew consent, and nobody can read whose.
    static let consentUnreadable = ReasonCode(rawValue: "consent_unreadable")
    /// Apple signed a notification about the app's bundle id with another number than the settings have.
    static let appAppleIdMismatch = ReasonCode(rawValue: "app_apple_id_mismatch")
    /// Apple sends a notification of a type that this worker does not know: for metrics and logs only.
    static let notificationTypeUnknown = ReasonCode(rawValue: "notification_type_unknown")
    /// Apple signed what kind of product it is, and nobody can read it.
    static let productTypeUnreadable = ReasonCode(rawValue: "product_type_unreadable")
    /// Apple's answer about an id is not a signed transaction of that id, app and environment.
    static let answerMismatch = ReasonCode(rawValue: "answer_mismatch")
    /// Apple refuses the request for something that is not the purchase's fault.
    static let appStoreRefused = ReasonCode(rawValue: "app_store_refused")
    /// Apple has not answered yet; the call goes on, and its answer is kept for the next attempt.
    static let appStoreSlow = ReasonCode(rawValue: "app_store_slow")
    /// It can never be a transaction id.
    static let transactionIdInvalid = ReasonCode(rawValue: "transaction_id_invalid")
    /// The authority has taken back a certificate of the chain.
    static let certificateRevoked = ReasonCode(rawValue: "certificate_revoked")
    /// Nobody could say whether a certificate of the chain was taken back.
    static let revocationUnknown = ReasonCode(rawValue: "revocation_unknown")
    /// verifyReceipt listed something that cannot be read, and the named transaction may be it.
    static let receiptEntryUnreadable = ReasonCode(rawValue: "receipt_entry_unreadable")
    /// Signed data whose number of pieces no column can hold.
    static let payloadInvalid = ReasonCode(rawValue: "payload_invalid")
    /// A genuine proof of another app.
    static let bundleMismatch = ReasonCode(rawValue: "bundle_mismatch")
}

/// After how many seconds an unknown is worth another look; fulfillment doubles them, up to its own maximum.
enum RetryTime {
    /// A deployment is under way: the app, or the kind of proof, is known to others already.
    static let deployment: Double = 30
    /// A database that does not answer, or that is not configured in this worker.
    static let claimCheck: Double = 30
    /// A field that nobody can read needs a newer program.
    static let unreadable: Double = 3_600
    /// A key is missing from the settings.
    static let notConfigured: Double = 600
    /// Somebody must mend a key, a secret or the app's entry.
    static let attention: Double = 300
    /// Apple answered with an error and did not say until when.
    static let appStoreTrouble: Double = 5
    /// Apple, or our share of what it allows, has no room and did not say until when.
    static let rateLimited: Double = 5
    /// The call is under way, and its answer will be remembered.
    static let late: Double = 2
    /// The API may lag behind a purchase.
    static let notFoundYet: Double = 30
    /// The longest between two questions about an id that Apple does not know: its outages of that kind last for days.
    static let notFoundMaximum: Double = 3 * 3_600
    /// A responder of certificates.
    static let revocation: Double = 60
    /// verifyReceipt had trouble of its own.
    static let verifyReceipt: Double = 30

    /// When to ask again about an id that Apple does not know: the longer it is so, the seldomer.
    ///
    /// - Parameter seconds: since Apple first said so; nil for just now.
    static func notFound(since seconds: Double?) -> Double {
        min(max(notFoundYet, (seconds ?? 0) / 4), notFoundMaximum)
    }
}
