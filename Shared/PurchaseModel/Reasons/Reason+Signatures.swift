extension Reason {
    private static let unreadable =
        """
        Apple signed something that this version cannot read: update the verification workers, or \
        decide by hand: see `countersign inspect`
        """

    /// The first check that failed, in the words of the verifier; what the worker states, too, stands in ``lookups``.
    static let signatures: [Reason] = [
        Reason(named: "payload_too_large", "The signed data has more bytes than Apple's ever have."),
        Reason(named: "not_a_jws", "It is not three parts of base64url between dots."),
        Reason(named: "header_invalid", "Its header is no JSON object, or not what RFC 7515 says."),
        Reason(named: "algorithm_not_es256", "It is signed by another algorithm than ES256."),
        Reason(named: "certificate_count", "It does not have exactly three certificates."),
        Reason(named: "certificate_invalid", "A certificate of it cannot be read."),
        Reason(named: "root_not_trusted", "Its root certificate is not Apple's."),
        Reason(
            named: "certificate_denied", "The operator has denied one of its certificates.",
            rejected: """
                COUNTERSIGN_TRUSTED_DENIED_CERTIFICATES has a certificate that signed them: where that was a \
                mistake, take it out, restart intake and the workers, then `countersign submissions retry --rejected-reason \
                certificate_denied`
                """),
        Reason(
            named: "payload_unreadable", "Apple signed it, and this version cannot read it. A newer one may.",
            waiting: unreadable),
        Reason(named: "signed_date_missing", "It does not say when it was signed."),
        Reason(named: "chain_invalid", "Its certificates are no path by RFC 5280."),
        Reason(named: "certificate_expired", "A certificate of it was not valid when it was signed."),
        Reason(named: "leaf_marker_missing", "Its certificate is none with which Apple signs this."),
        Reason(
            named: "intermediate_marker_missing", "Its certificate was not issued by Apple's authority for developers."),
        Reason(named: "signature_invalid", "The signature is not that of this text."),
        Reason(named: "not_a_transaction", "It is genuine, and no transaction."),
        Reason(named: "not_renewal_info", "It is genuine, and no renewal info."),
        Reason(named: "not_an_app_transaction", "It is genuine, and no app transaction."),
        Reason(named: "not_a_notification", "It is genuine, and no server notification."),
        Reason(
            named: "notification_content", "The notification has none, or several, of the parts of which it has one.",
            waiting: unreadable),
        Reason(
            named: "field_missing", "It is genuine, and lacks a field that all of its kind have.", waiting: unreadable),
        Reason(
            named: "field_invalid", "It is genuine, and has a field that cannot be read and must not be guessed.",
            waiting: unreadable),
        Reason(named: "environment_xcode", "It was made by StoreKit Testing in Xcode, which Apple does not sign."),
        Reason(
            named: "environment_local_testing", "It was made by StoreKit's local testing, which Apple does not sign."),
        Reason(
            named: "environment_unknown", "It is of an environment that this version does not know.",
            waiting: unreadable
        ),
        Reason(named: "not_a_receipt", "It is no receipt: no PKCS #7 of one signer."),
        Reason(named: "receipt_xcode", "The receipt was made by StoreKit Testing in Xcode, which Apple does not sign."),
        Reason(named: "algorithm_not_supported", "The receipt is signed by an algorithm that Apple does not use."),
        Reason(named: "sha1_ended", "The receipt is signed over SHA-1, at a time when Apple did so no more."),
        Reason(named: "signer_missing", "The certificate of the receipt's signer is not in it."),
        Reason(
            named: "renewal_info_mismatch", "A notification has the renewal info of another subscription.",
            waiting: unreadable),
        Reason(named: "nested_bundle_mismatch", "A notification carries what another app sold."),
        Reason(
            named: "nested_environment_mismatch", "A notification carries what is of another environment.",
            waiting: unreadable),
        Reason(
            named: "nested_app_apple_id_mismatch", "A notification carries an app transaction of another app's number."),
        Reason(named: "nested_in_test", "A TEST notification carries something signed.", waiting: unreadable),
    ]
}
