import Foundation
import Messages
import PurchaseModel
import ServiceRuntime

extension LookupJudge {
    /// What verifyReceipt refuses, beside our own check of the same bytes.
    ///
    /// On 2023-02-07 it called every genuine receipt malformed for a day. So a refusal of what Apple signed for the app is
    /// Apple's trouble: it is asked again, and then our own check counts, also where it says no more than that this version
    /// cannot read it. What cannot be checked here, such as a receipt under an algorithm of tomorrow, is refused once Apple
    /// has said so for as long as that it knows no such id.
    ///
    /// - Returns: what our own check found, or what is said.
    func contradicted(
        _ verdict: Verdict, _ proof: String, _ submission: SubmissionMessage, of app: AppsFile.App
    ) -> Result<ReceiptContent, OfflineJudge.Refusal> {
        guard case .rejected(let reason, _) = verdict, reason != .bundleMismatch else {
            return .failure(OfflineJudge.Refusal(verdict: verdict))
        }
        let again = OfflineJudge.Refusal(
            verdict: .unknown(reason, retryAfterSeconds: RetryTime.verifyReceipt))
        guard submission.attempt >= Self.refusalsUnbelieved else { return .failure(again) }
        switch offline.receipt(proof, of: app, submission) {
        case .success(let content):
            attention.raise(
                reason, app: app.bundleId, "verifyReceipt refuses what Apple signed: our own check of it counts")
            return .success(content)
        case .failure(let own) where own.isUnknown: return .failure(own)
        case .failure:
            let now = offline.expired.now()
            guard now.timeIntervalSince(submission.receivedAt ?? now) >= notFoundAge.inSeconds else {
                return .failure(again)
            }
            return .failure(OfflineJudge.Refusal(verdict: verdict))
        }
    }
}
