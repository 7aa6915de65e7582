import AppStore
import Messages
import Metrics
import PurchaseModel
import ServiceRuntime

/// What can be said without asking anybody.
enum OfflineJudgement: Sendable {
    /// All that can be said.
    case found(Finding)
    /// Only Apple's servers can settle it, or know more.
    ///
    /// `stands`: what holds as long as they do not answer; nil where nothing is known without them. `isDoubtful`: because
    /// its certificates have expired.
    case needsLookup(stands: Finding?, isDoubtful: Bool = false)

    /// Whether its certificates have expired, so that its signature alone does not suffice.
    var isDoubtful: Bool {
        switch self {
        case .found(let finding): finding.isDoubtful
        case .needsLookup(let stands, let isDoubtful): isDoubtful || stands?.isDoubtful ?? false
        }
    }
}

/// Checks what Apple signed: no database, no network.
///
/// What it says depends on the proof, on the settings, and on when it came: certificates may have expired by then.
struct OfflineJudge: Sendable {
    let apps: ServedApps
    let signedData: SignedDataVerifier
    let receipts: ReceiptVerifier
    /// What is made of proofs whose certificates have expired.
    var expired = ExpiredCertificates()

    /// Judges a submission.
    ///
    /// - Parameter proof: the submission's, wherever it was.
    func judge(_ submission: SubmissionMessage, proof: String) -> OfflineJudgement {
        let judgement = judgement(of: submission, proof: proof)
        if judgement.isDoubtful {
            Counter(
                label: "countersign_expired_certificates_total", dimensions: [("kind", submission.kind.rawValue)]
            ).increment()
        }
        return judgement
    }

    private func judgement(of submission: SubmissionMessage, proof: String) -> OfflineJudgement {
        guard let app = apps[submission.app] else {
            // Intake knows the app, this worker does not yet: a deployment under way, not a fault of the buyer.
            return .found(.unknown(.appUnknown, after: RetryTime.deployment))
        }
        switch submission.kind {
        case .signedTransaction:
            switch posted(proof, of: app, submission) {
            case .success(let transaction):
                // Signed before Apple's data named an environment, or under certificates that have expired: Apple can say
                // today what it is.
                guard transaction.environment != nil && transaction.isVouchedFor || app.serverAPI == nil else {
                    return .needsLookup(stands: nil, isDoubtful: !transaction.isVouchedFor)
                }
                return .found(passed(transaction, of: app, submission))
            case .failure(let refusal):
                // Whose it is, the app's key can ask.
                return refusal.lacksBundleId ? .needsLookup(stands: nil) : .found(Finding(refusal.verdict))
            }
        case .receipt:
            return judgeReceipt(submission, proof: proof, of: app)
        case .serverNotification:
            let finding = notification(proof, of: app, submission)
            guard finding.isDoubtful, app.serverAPI != nil else { return .found(finding) }
            return .needsLookup(stands: nil, isDoubtful: true)
        case .subscriptionStatus: return subscriptionStatus(proof, of: app, submission)
        case .transactionId, .orderId:
            return .needsLookup(stands: nil)
        default:
            // A newer intake speaks of a kind that this worker does not know: a newer worker will.
            return .found(.unknown(.proofKindUnknown, after: RetryTime.deployment))
        }
    }

    /// Why something is not a transaction that may be passed on; a refusal or an unknown.
    struct Refusal: Error {
        let verdict: Verdict

        /// Whether it is genuine and does not say whose app's it is.
        var lacksBundleId: Bool {
            if case .rejected(.bundleIdMissing, _) = verdict { true } else { false }
        }

        /// Whether it is no refusal for good.
        var isUnknown: Bool {
            if case .unknown = verdict { true } else { false }
        }

        /// Whether Apple signed it, and a newer version may read it.
        var isUnread: Bool {
            guard case .unknown(let reason, _) = verdict else { return false }
            return reason == .accountTokenUnreadable
                || OfflineJudge.mayBeReadLater.contains(RejectionCode(rawValue: reason.rawValue))
        }
    }

    /// A signed transaction as it was posted, before the firewall; in doubt where its certificates had expired by then.
    ///
    /// - Parameter isAppKnown: whether something else says whose it is, or is going to.
    func posted(
        _ jws: String, of app: AppsFile.App, _ submission: SubmissionMessage, isAppKnown: Bool = false
    ) -> Result<Transaction, Refusal> {
        switch signedData.transaction(Array(jws.utf8), app: app.identity, isAppKnown: isAppKnown) {
        case .failure(let rejection):
            return .failure(Refusal(verdict: Self.verdict(rejection)))
        case .success(let signed):
            let isDoubtful = expired.areDoubtful(signed.certificatesExpire, by: expired.signedData, submission)
            return Self.transaction(signed).map { $0.doubted(isDoubtful) }
        }
    }

    /// A signed transaction that Apple's server answered the app's key with, before the firewall.
    func answered(_ jws: String, of app: AppsFile.App) -> Result<Transaction, Refusal> {
        switch signedData.transaction(Array(jws.utf8), app: app.identity, isAppKnown: true) {
        case .failure(let rejection):
            return .failure(Refusal(verdict: Self.verdict(rejection)))
        case .success(let signed):
            return Self.transaction(signed).map(\.fromServer)
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

    /// What becomes of signed data, or of a receipt, that a check refused: what Apple signed, and this version cannot read, a newer one may.
    static func verdict(_ rejection: SignedDataRejection) -> Verdict {
        guard mayBeReadLater.contains(rejection.code) else { return rejected(rejection) }
        return .unknown(ReasonCode(rawValue: rejection.code.rawValue), retryAfterSeconds: RetryTime.unreadable)
    }

    static let mayBeReadLater: Set<RejectionCode> = [
        .payloadUnreadable, .fieldMissing, .fieldInvalid, .environmentUnknown,
    ]

    static func rejected(_ rejection: SignedDataRejection) -> Verdict {
        .rejected(ReasonCode(rawValue: rejection.code.rawValue), detail: rejection.detail)
    }
}

extension AppsFile.App {
    /// The app as Apple names it.
    var identity: AppIdentity { AppIdentity(bundleId: bundleId, appAppleId: appAppleId) }
}
