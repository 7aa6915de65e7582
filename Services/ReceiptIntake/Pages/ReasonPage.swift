import PurchaseModel

/// What a reason means, for a person; programs compare its code.
struct ReasonPage: Sendable {
    /// The word that answers and events have.
    let code: String
    /// What it means.
    let meaning: String

    /// The page, as text.
    var text: String { "\(code)\n\n\(meaning)\n" }

    /// Of every reason that answers and events have, by code.
    static let all: [ReasonPage] =
        (decisions.map { ReasonPage(code: $0.rawValue, meaning: $1) }
        + (signatures + lookups + receipts).map { ReasonPage(code: $0, meaning: $1) }).sorted { $0.code < $1.code }

    /// What Countersign decided about a purchase.
    private static let decisions: [(ReasonCode, String)] = [
        (
            .belongsToAnotherAccount,
            "The transaction is another account's, or Apple's signed data names another account."
        ),
        (.sandboxRefused, "The app's settings refuse sandbox purchases. App Review and TestFlight buy in the sandbox."),
        (.appUnknown, "No app of this bundle id is in the apps file."),
        (
            .environmentMissing,
            "Apple signed it before its data named an environment, so nothing says whether money was paid."
        ),
        (
            .signedWithExpiredCertificate,
            "The certificates that signed it have expired. It is held until newer data confirms it: "
                + "let the app fetch it again (AppStore.sync) and post it."
        ),
        (.productUnknown, "The catalogue does not know the product yet. It is granted when the catalogue has it."),
        (.productTypeMismatch, "The catalogue says another type of product than Apple does."),
        (
            .accountTokenUnknown,
            "No account has registered the appAccountToken that Apple signed. It is granted when the token is "
                + "registered."
        ),
        (.amountTooLarge, "Its grant is larger than the largest amount."),
        (.revokedByApple, "Apple took it back: a refund, or the end of Family Sharing."),
        (.restoreLimitReached, "It has moved as often as the product's restore rule allows in this period."),
        (.orderNotFound, "Apple does not know an order with this id for this app."),
        (
            .unclaimed,
            "It is genuine, but no account has claimed it: Apple reported it, or it was in another account's receipt. "
                + "The account that posts it gets it."
        ),
        (
            .claimUnnamed,
            "The receipt holds several purchases, and the app named none: send `transaction_id` beside it."
        ),
        (
            .transactionNotInReceipt,
            "The named transaction is not in the receipt: have the app refresh the receipt first."
        ),
        (.receiptWithoutPurchases, "The receipt holds no purchase: have the app refresh it first."),
        (.transactionNotFound, "Apple does not know a transaction with this id, and was asked several times."),
        (.rateLimited, "Apple's limits leave no room to ask now. It is asked again."),
        (.appStoreUnavailable, "Apple's servers do not answer. They are asked again."),
        (.appStoreUnauthorized, "Apple refuses the app's key. The operator must check it."),
        (.appStoreNotConfigured, "The app's settings lack a key or a shared secret, so Apple cannot be asked."),
        (.noVerdict, "No verdict has come yet."),
        (.purchaseAmbiguous, "Apple's signed data contradicts the known purchase. A person must decide."),
        (.transactionIncomplete, "Apple's signed data lacks a required field."),
        (
            .vocabularyUnknown,
            "Apple's signed data has a value that this version does not know. A version that knows it decides."
        ),
        (
            .possessionUnproven,
            "Only an id was posted, and anyone may know an id. Post the signed transaction, or a receipt "
                + "that contains it, or let the backend post it."
        ),
        (.accountForgotten, "Its account was forgotten before it had an outcome."),
    ]

    /// What the verification of a signature found; the first check that failed.
    private static let signatures: [(String, String)] = [
        ("payload_too_large", "The signed data has more bytes than Apple's ever have."),
        ("not_a_jws", "It is not three parts of base64url between dots."),
        ("header_invalid", "Its header is no JSON object, or not what RFC 7515 says."),
        ("algorithm_not_es256", "It is signed by another algorithm than ES256."),
        ("certificate_count", "It does not have exactly three certificates."),
        ("certificate_invalid", "A certificate of it cannot be read."),
        ("root_not_trusted", "Its root certificate is not Apple's."),
        ("certificate_denied", "The operator has denied one of its certificates."),
        ("payload_unreadable", "Apple signed it, and this version cannot read it. A newer one may."),
        ("payload_invalid", "It is no JSON object, and Apple did not sign it."),
        ("signed_date_missing", "It does not say when it was signed."),
        ("chain_invalid", "Its certificates are no path by RFC 5280."),
        ("certificate_expired", "A certificate of it was not valid when it was signed."),
        ("leaf_marker_missing", "Its certificate is none with which Apple signs this."),
        ("intermediate_marker_missing", "Its certificate was not issued by Apple's authority for developers."),
        ("signature_invalid", "The signature is not that of this text."),
        ("not_a_transaction", "It is genuine, and no transaction."),
        ("not_renewal_info", "It is genuine, and no renewal info."),
        ("not_an_app_transaction", "It is genuine, and no app transaction."),
        ("not_a_notification", "It is genuine, and no server notification."),
        ("notification_content", "The notification has none, or several, of the parts of which it has one."),
        ("field_missing", "It is genuine, and lacks a field that all of its kind have."),
        (
            "bundle_id_missing",
            "It is genuine and does not say whose app's it is, and Apple does not know it as this app's."
        ),
        ("field_invalid", "It is genuine, and has a field that cannot be read and must not be guessed."),
        ("bundle_mismatch", "It is another app's: compare `app` with the bundle id in App Store Connect."),
        ("environment_xcode", "It was made by StoreKit Testing in Xcode, which Apple does not sign."),
        ("environment_local_testing", "It was made by StoreKit's local testing, which Apple does not sign."),
        ("environment_unknown", "It is of an environment that this version does not know."),
        ("not_a_receipt", "It is no receipt: no PKCS #7 of one signer."),
        ("receipt_xcode", "The receipt was made by StoreKit Testing in Xcode, which Apple does not sign."),
        ("algorithm_not_supported", "The receipt is signed by an algorithm that Apple does not use."),
        ("sha1_ended", "The receipt is signed with SHA-1, at a time when Apple no longer used it."),
        ("signer_missing", "The certificate of the receipt's signer is not in it."),
        ("app_apple_id_mismatch", "Its app Apple ID differs from the one in the settings."),
        ("renewal_info_mismatch", "A notification has the renewal info of another subscription."),
        ("nested_bundle_mismatch", "A notification carries what another app sold."),
        ("nested_environment_mismatch", "A notification carries what is of another environment."),
        ("nested_app_apple_id_mismatch", "A notification carries an app transaction of another app's number."),
        ("nested_in_test", "A TEST notification carries something signed."),
    ]

    /// What the verification worker found when it looked for more.
    private static let lookups: [(String, String)] = [
        ("proof_kind_unknown", "A verification worker of an older version does not know this kind of proof."),
        ("claim_check_unavailable", "A verification worker cannot read the proof in the database now."),
        ("account_token_unreadable", "Apple signed whose it is, and it cannot be read. A newer version may."),
        ("consent_unreadable", "Apple signed that a guardian withdrew consent, and it cannot be read whose."),
        ("notification_type_unknown", "Apple sends a notification of a type that this version does not know."),
        ("product_type_unreadable", "Apple signed what kind of product it is, and it cannot be read."),
        ("answer_mismatch", "Apple's answer is not about what was asked."),
        ("app_store_refused", "Apple refuses the request for a reason that is not about the purchase."),
        ("app_store_slow", "Apple has not answered yet. The question goes on."),
        ("transaction_id_invalid", "It can never be a transaction id."),
        ("certificate_revoked", "The authority has revoked a certificate of the chain."),
        ("revocation_unknown", "It is not known whether a certificate of the chain was revoked."),
        (
            "receipt_entry_unreadable",
            "The receipt has an entry that cannot be read, and the named transaction may be it."
        ),
    ]

    /// What Apple's verifyReceipt said of a receipt.
    private static let receipts: [(String, String)] = [
        (
            "receipt_malformed",
            "Apple says that the receipt is malformed, and it cannot be checked here. It is asked for days before that is "
                + "believed."
        ),
        ("receipt_not_authenticated", "Apple says that it did not sign the receipt, or that it was changed."),
        ("receipt_account_unknown", "Apple does not find the customer's account, or it was deleted."),
        ("receipt_not_readable_by_apple", "Apple cannot read the receipt, and says that asking again does not help."),
        (
            "receipt_environment_contradictory",
            "Apple's two hosts contradict each other about the receipt's environment."
        ),
        ("receipt_status_unknown", "Apple answers with a status that this version does not know."),
        ("shared_secret_mismatch", "The app's shared secret is wrong. The operator must correct it."),
        ("shared_secret_missing", "The app's settings have no shared secret. The operator must add it."),
    ]
}
