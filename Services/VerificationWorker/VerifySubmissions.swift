import AppStore
import Foundation
import Messages
import Metrics
import PurchaseModel
import ServiceRuntime

/// The use case: what Apple signed is checked, and the finding stated.
///
/// No database, no clock, no network: what it says depends on the proof and the configuration alone.
struct VerifySubmissions: Sendable {
    let apps: [String: AppsFile.App]
    let verifier: SignedDataVerifier

    /// A finding for each submission, in their order; checked on as many cores as the pool has.
    func verdicts(for submissions: [SubmissionMessage]) async -> [VerdictMessage] {
        let chunkSize = 16
        let chunks = stride(from: 0, to: submissions.count, by: chunkSize).map { start in
            submissions[start..<min(start + chunkSize, submissions.count)]
        }
        return await withTaskGroup(of: (Int, [VerdictMessage]).self) { group in
            for (index, chunk) in chunks.enumerated() {
                group.addTask { (index, chunk.map(self.verdict)) }
            }
            var results = [[VerdictMessage]](repeating: [], count: chunks.count)
            for await (index, verdicts) in group { results[index] = verdicts }
            return results.flatMap { $0 }
        }
    }

    private func verdict(for submission: SubmissionMessage) -> VerdictMessage {
        let verdict = judge(submission)
        count(verdict)
        return VerdictMessage(
            submissionId: submission.submissionId, app: submission.app, account: submission.account,
            correlationId: submission.correlationId, attempt: submission.attempt, verdict: verdict)
    }

    private func judge(_ submission: SubmissionMessage) -> Verdict {
        guard let app = apps[submission.app] else {
            // Intake knows the app, this worker does not yet: a deployment under way, not a fault of the buyer.
            return .unknown(.appUnknown, retryAfterSeconds: 30)
        }
        guard submission.kind == .signedTransaction else {
            // A newer intake speaks of a kind that this worker does not know: a newer worker will.
            return .unknown(ReasonCode(rawValue: "proof_kind_unknown"), retryAfterSeconds: 30)
        }
        let identity = AppIdentity(bundleId: app.bundleId, appAppleId: app.appAppleId)
        switch verifier.transaction(Array(submission.proof.utf8), app: identity) {
        case .failure(let rejection):
            return .rejected(ReasonCode(rawValue: rejection.code.rawValue), detail: rejection.detail)
        case .success(let signed) where signed.unreadableFields.contains("appAccountToken"):
            // It names somebody, and nobody can read whom: held back rather than given to whoever posted it.
            return .unknown(ReasonCode(rawValue: "account_token_unreadable"), retryAfterSeconds: 3600)
        case .success(let signed):
            return judge(PurchasedTransaction(signed), of: app)
        }
    }

    private func judge(_ transaction: PurchasedTransaction, of app: AppsFile.App) -> Verdict {
        guard transaction.quantity >= 1, transaction.quantity <= Int(Int32.max) else {
            return .rejected(ReasonCode(rawValue: "payload_invalid"), detail: "the quantity is out of range")
        }
        guard transaction.environment != .sandbox || app.sandbox != .refuse else {
            return .rejected(.sandboxRefused, detail: "the app is configured to refuse sandbox purchases")
        }
        return .genuine([transaction])
    }

    private func count(_ verdict: Verdict) {
        let (name, reason) =
            switch verdict {
            case .genuine: ("genuine", "")
            case .rejected(let reason, _): ("rejected", reason.rawValue)
            case .unknown(let reason, _): ("unknown", reason.rawValue)
            }
        Counter(label: "countersign_verdicts_total", dimensions: [("verdict", name), ("reason", reason)]).increment()
    }
}
