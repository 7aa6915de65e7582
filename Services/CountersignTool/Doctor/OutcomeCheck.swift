import Persistence
import PurchaseModel

/// Says of submissions that were rejected lately, and of those that are parked, why, and who can change it.
enum OutcomeCheck {
    enum Limit {
        /// Rejections of so many days are counted; nearly all of what is older nobody waits for any more.
        static let rejectedDays = 7
        static var rejectedWithin: Duration { .seconds(rejectedDays * 86_400) }
    }

    private static let rejections = "rejections"
    private static let parkedPosts = "parked posts"

    /// What to do where a purchase that was paid for may be behind a rejection; forgeries need nobody.
    private static let rejectionRemedies: [ReasonCode: String] = [
        .transactionNotFound:
            "Apple knows none of these ids in their apps: check that the app posts transaction ids of its own bundle id, "
            + "and whose key its app_store_server_api is; the same post asks Apple again, and so does `countersign redrive "
            + "--rejected-reason transaction_not_found`",
        .transactionNotInReceipt:
            "have the app refresh its receipt (SKReceiptRefreshRequest) before it posts it with a transaction_id; the same "
            + "post is judged again",
        .receiptWithoutPurchases: "have the app refresh its receipt (SKReceiptRefreshRequest) before it posts it",
        .orderNotFound:
            "the order id was mistyped, or is another app's: have support read it from Apple's e-mail again; the same post asks "
            + "Apple again",
        .sandboxRefused:
            "App Review and TestFlight buy in the sandbox: `sandbox: accept` or `test` in the apps file takes them, then "
            + "`countersign redrive --rejected-reason sandbox_refused`",
        ReasonCode(rawValue: "certificate_denied"):
            "COUNTERSIGN_TRUSTED_DENIED_CERTIFICATES has a certificate that signed them: where that was a mistake, take it "
            + "out, restart intake and the workers, then `countersign redrive --rejected-reason certificate_denied`",
        ReasonCode(rawValue: "bundle_mismatch"):
            "what was posted is another app's: compare bundle_id in the apps file with App Store Connect, and what the app "
            + "sends as `app`",
    ]

    /// What to do about what is parked and is no doubt about an order, of which "parked orders" tells.
    private static let parkedRemedies: [ReasonCode: String] = [
        .possessionUnproven:
            "a number alone shows nobody's purchase: have the app post the signed transaction, or a receipt that contains "
            + "it, or post from the studio's server; or buy with an intent's token",
        .environmentMissing:
            "signed before 2022: give the app an app_store_server_api, restart the workers, and Apple is asked for the "
            + "environment after `countersign redrive`; or, where it was paid for, `countersign claim`",
        .signedWithExpiredCertificate:
            "signed under certificates that have expired: have the app get it anew (AppStore.sync) and post that; or give the "
            + "app an app_store_server_api, restart the workers, and Apple is asked after `countersign redrive`; or, where it "
            + "was paid for, `countersign claim`",
        .claimUnnamed: "have the app send the transaction_id of its account's purchase beside the receipt",
    ]

    /// - Parameter counts: of the last ``Limit/rejectedDays`` days.
    static func judge(rejected counts: [OutcomeCountStore.Count]) -> [Finding] {
        let days = "in the last \(Limit.rejectedDays) days"
        guard !counts.isEmpty else { return [.good(rejections, "none \(days)")] }
        return judge(counts, rejectionRemedies, subject: rejections) { group in
            "\(group.count) submissions were rejected \(days) for \(group.reason), the oldest "
                + "\(ToolOutput.age(group.oldestSeconds)) ago"
        }
    }

    static func judge(parked counts: [OutcomeCountStore.Count]) -> [Finding] {
        guard !counts.isEmpty else { return [.good(parkedPosts, "none")] }
        return judge(counts, parkedRemedies, subject: parkedPosts) { group in
            "\(group.count) submissions are parked for \(group.reason), the oldest for "
                + ToolOutput.age(group.oldestSeconds)
        }
    }

    /// A warning for each reason that somebody can do something about, and the others in a line.
    private static func judge(
        _ counts: [OutcomeCountStore.Count], _ remedies: [ReasonCode: String], subject: String,
        sentence: (OutcomeCountStore.Count) -> String
    ) -> [Finding] {
        let warnings = counts.compactMap { group in
            remedies[group.reason].map { Finding.warning(subject, sentence(group), remedy: $0) }
        }
        let others = counts.filter { remedies[$0.reason] == nil }.map(sentence)
        return warnings + (others.isEmpty ? [] : [.good(subject, others.joined(separator: "; "))])
    }
}
