import Persistence
import PurchaseModel

/// Says of submissions that are too old without an outcome what keeps them, and who can change it.
enum AlarmCheck {
    private static let subject = "alarms"

    private static let unreadable =
        "Apple signed a notification that this version cannot read: update the verification workers, or decide by hand: see "
        + "`countersign inspect`"

    /// What an operator can do about a reason; a reason that is not here ends by itself when Apple answers again.
    ///
    /// The words are the verification worker's; `deploy/site/pages/outcomes.md` has the table of all reasons.
    private static let remedies: [String: String] = [
        ReasonCode.appStoreUnauthorized.rawValue:
            "Apple refuses the key: check issuer_id, key_id and private_key_file of the app's app_store_server_api, that "
            + "the key is not revoked in App Store Connect, and `released` of an app that is not in the store yet",
        ReasonCode.appStoreNotConfigured.rawValue:
            "Apple cannot be asked: give the app an app_store_server_api in the apps file, and restart the workers",
        "shared_secret_mismatch": "put the app's shared secret from App Store Connect into its shared_secret_file",
        "shared_secret_missing": "give the app a shared_secret_file with its shared secret from App Store Connect",
        "app_store_refused": "Apple refuses the request itself: see the worker's log for its error code",
        ReasonCode.appUnknown.rawValue: "list the app in the apps file of the verification workers, and restart them",
        "claim_check_unavailable":
            "give the verification workers COUNTERSIGN_POSTGRES_URL: large proofs are read there",
        "proof_kind_unknown": "update the verification workers: intake sends a kind of proof that they do not know",
        "account_token_unreadable": "update the verification workers, or decide by hand: see `countersign inspect`",
        "consent_unreadable": "update the verification workers, or decide by hand: see `countersign inspect`",
        "app_apple_id_mismatch":
            "put the number that App Store Connect has for the app as its app_apple_id into the apps file, and restart the "
            + "workers",
        "product_type_unreadable": "update the verification workers, or decide by hand: see `countersign inspect`",
        "receipt_entry_unreadable": "update the verification workers, or decide by hand: see `countersign inspect`",
        ReasonCode.noVerdict.rawValue:
            "no verdict ever came: see /readyz of the verification workers (Apple may be away, and lookups wait), the "
            + "consumer's lag in their metrics, and whether they run at all",
        "payload_unreadable": unreadable,
        "field_missing": unreadable, "field_invalid": unreadable, "environment_unknown": unreadable,
        "notification_content": unreadable, "nested_in_test": unreadable, "nested_environment_mismatch": unreadable,
        "renewal_info_mismatch": unreadable,
        "receipt_status_unknown": "verifyReceipt answers what it should not: see the worker's log, update the workers",
    ]

    /// A finding for each reason: wrong where somebody must act, a warning where only waiting helps.
    static func judge(_ alarmed: [SubmissionStore.Alarmed]) -> [Finding] {
        guard !alarmed.isEmpty else { return [.good(subject, "no purchase is too old without an outcome")] }
        return alarmed.map { group in
            let detail =
                "\(group.count) purchases have no outcome for \(group.reason), "
                + "the oldest is \(ToolOutput.age(group.oldestSeconds)) old"
            guard let remedy = remedies[group.reason.rawValue] else {
                return .warning(
                    subject, detail,
                    remedy: "nothing was learnt of them yet; they are asked about again by themselves, see "
                        + "`countersign inspect` for one of them if Apple is well")
            }
            return .wrong(subject, detail, remedy: remedy)
        }
    }
}
