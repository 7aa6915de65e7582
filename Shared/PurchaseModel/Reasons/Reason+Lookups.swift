extension Reason {
    private static let update = "update the verification workers, or decide by hand: see `countersign inspect`"

    /// What the verification worker finds when it looks for more.
    static let lookups: [Reason] = [
        Reason(
            .proofKindUnknown, "A verification worker of an older version does not know this kind of proof.",
            waiting: "update the verification workers: intake sends a kind of proof that they do not know"),
        Reason(
            .claimCheckUnavailable, "A verification worker cannot read the proof in the database now.",
            waiting: "give the verification workers COUNTERSIGN_POSTGRES_URL: large proofs are read there"),
        Reason(
            .bundleIdMissing,
            "It is genuine and does not say whose app's it is, and Apple does not know it as this app's."),
        Reason(
            .accountTokenUnreadable, "Apple signed whose it is, and it cannot be read. A newer version may.",
            waiting: update),
        Reason(
            .consentUnreadable, "Apple signed that a guardian withdrew consent, and it cannot be read whose.",
            waiting: update),
        Reason(
            .appAppleIdMismatch, "It has another app's number than the settings have.",
            waiting: """
                put the number that App Store Connect has for the app as its app_apple_id into the apps file, and \
                restart the workers
                """),
        Reason(
            .notificationTypeUnknown, "Apple sends a notification of a type that this version does not know."),
        Reason(
            .productTypeUnreadable, "Apple signed what kind of product it is, and it cannot be read.", waiting: update),
        Reason(.answerMismatch, "Apple's answer is not about what was asked."),
        Reason(
            .appStoreRefused, "Apple refuses the question for something that is not the purchase's fault.",
            waiting: "Apple refuses the request itself: see the worker's log for its error code"),
        Reason(.appStoreSlow, "Apple has not answered yet. The question goes on."),
        Reason(.transactionIdInvalid, "It can never be a transaction id."),
        Reason(.certificateRevoked, "The authority has taken back a certificate of the chain."),
        Reason(.revocationUnknown, "Nobody could say whether a certificate of the chain was taken back."),
        Reason(
            .receiptEntryUnreadable,
            "The receipt has an entry that cannot be read, and the named transaction may be it.", waiting: update),
        Reason(.payloadInvalid, "It is no JSON object, and Apple did not sign it."),
        Reason(
            .bundleMismatch, "It is another app's: compare `app` with the bundle id in App Store Connect.",
            rejected: """
                what was posted is another app's: compare bundle_id in the apps file with App Store Connect, and \
                what the app sends as `app`
                """),
    ]

    /// What Apple's verifyReceipt said of a receipt.
    static let receipts: [Reason] = [
        Reason(
            named: "receipt_malformed",
            """
            Apple says that the receipt is malformed, and it cannot be checked here. It is asked for days before \
            that is believed.
            """),
        Reason(
            named: "receipt_not_authenticated",
            "Apple says that it did not sign the receipt, or that it was changed."),
        Reason(
            named: "receipt_account_unknown", "Apple does not find the customer's account, or it was deleted."),
        Reason(
            named: "receipt_not_readable_by_apple",
            "Apple cannot read the receipt, and says that asking again does not help."),
        Reason(
            named: "receipt_environment_contradictory",
            "Apple's two hosts contradict each other about the receipt's environment."),
        Reason(
            named: "receipt_status_unknown", "Apple answers with a status that this version does not know.",
            waiting: "verifyReceipt answers what it should not: see the worker's log, update the workers"),
        Reason(
            named: "shared_secret_mismatch", "The app's shared secret is wrong. The operator has to look.",
            waiting: "put the app's shared secret from App Store Connect into its shared_secret_file"),
        Reason(
            named: "shared_secret_missing", "The app's settings have no shared secret. The operator has to look.",
            waiting: "give the app a shared_secret_file with its shared secret from App Store Connect"),
    ]
}
