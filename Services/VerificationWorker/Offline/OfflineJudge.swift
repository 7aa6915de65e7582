import AppStore
import Messages
import PurchaseModel
import ServiceRuntime

/// What can be said without asking anybody.
enum OfflineJudgement: Sendable {
    /// All that can be said.
    case settled(Finding)
    /// Only Apple's servers can settle it, or know more.
    ///
    /// `stands`: what holds as long as they do not answer; nil where nothing is known without them.
    case needsLookup(stands: Finding?)
}

/// Checks what Apple signed: no database, no clock, no network.
///
/// What it says depends on the proof and the settings alone.
struct OfflineJudge: Sendable {
    let apps: ServedApps
    let signedData: SignedDataVerifier
    let receipts: ReceiptVerifier

    /// Judges a submission.
    ///
    /// - Parameter proof: the submission's, wherever it was.
    func judge(_ submission: SubmissionMessage, proof: String) -> OfflineJudgement {
        guard let app = apps[submission.app] else {
            // Intake knows the app, this worker does not yet: a deployment under way, not a fault of the buyer.
            return .settled(.unknown(.appUnknown, after: RetryTime.deployment))
        }
        switch submission.kind {
        case .signedTransaction:
            switch transaction(proof, of: app) {
            case .success(let transaction):
                // Signed before Apple's data named an environment: Apple can say it today.
                guard transaction.environment != nil || app.serverAPI == nil else { return .needsLookup(stands: nil) }
                return .settled(passed(transaction, of: app, submission))
            case .failure(let refusal):
                return .settled(Finding(refusal.verdict))
            }
        case .receipt:
            return judgeReceipt(submission, proof: proof, of: app)
        case .serverNotification:
            return .settled(notification(proof, of: app, submission))
        case .transactionId, .orderId:
            return .needsLookup(stands: nil)
        default:
            // A newer intake speaks of a kind that this worker does not know: a newer worker will.
            return .settled(.unknown(.proofKindUnknown, after: RetryTime.deployment))
        }
    }

    /// Why something is not a transaction that may be passed on; a refusal or an unknown.
    struct Refusal: Error {
        let verdict: Verdict
    }

    /// A signed transaction of an app, before the firewall.
    func transaction(_ jws: String, of app: AppsFile.App) -> Result<Transaction, Refusal> {
        switch signedData.transaction(Array(jws.utf8), app: app.identity) {
        case .failure(let rejection):
            return .failure(Refusal(verdict: Self.rejected(rejection)))
        case .success(let signed):
            return Self.transaction(signed)
        }
    }

    /// A transaction that Apple signed, unless something that decides whose it is cannot be read in it.
    static func transaction(_ signed: SignedTransaction) -> Result<Transaction, Refusal> {
        guard !signed.unreadableFields.contains("appAccountToken") else {
            // It names somebody, and nobody can read whom: held back rather than given to whoever posted it.
            return .failure(
                Refusal(verdict: .unknown(.accountTokenUnreadable, retryAfterSeconds: RetryTime.unreadable)))
        }
        let transaction = Transaction(signed)
        guard transaction.quantity >= 1, transaction.quantity <= Int(Int32.max) else {
            return .failure(Refusal(verdict: .rejected(.payloadInvalid, detail: "the quantity is out of range")))
        }
        return .success(transaction)
    }

    /// The finding about a signed transaction: the firewall's word; the poster claims it.
    func passed(
        _ transaction: Transaction, of app: AppsFile.App, _ submission: SubmissionMessage
    ) -> Finding {
        Finding(
            EnvironmentFirewall.pass(
                [transaction], proved: transaction.environment, policy: app.sandbox,
                expected: submission.expectedEnvironment))
    }

    static func rejected(_ rejection: SignedDataRejection) -> Verdict {
        .rejected(ReasonCode(rawValue: rejection.code.rawValue), detail: rejection.detail)
    }
}

extension AppsFile.App {
    /// The app as Apple names it.
    var identity: AppIdentity { AppIdentity(bundleId: bundleId, appAppleId: appAppleId) }
}
