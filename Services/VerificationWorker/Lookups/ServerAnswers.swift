import AppStoreServerAPI
import Messages
import PurchaseModel
import ServiceRuntime

/// What the Server API's answers are worth: nothing is believed because it came over the right connection.
struct ServerAnswers: Sendable {
    /// What a transaction that is not what was asked for says about the purchase: nothing.
    static let mismatch = Verdict.unknown(.answerMismatch, retryAfterSeconds: RetryTime.attention)

    let judge: OfflineJudge
    /// Asks about certificates; nil when nobody is to be asked.
    let revocation: RevocationQuestions?
    let attention: AttentionLog

    /// An answer, if it is a transaction of the app and of the environment whose host answered.
    ///
    /// - Parameter id: the transaction that was asked about; nil where any may come. Apple may answer with another id of
    ///   the same purchase, which names this one as its first.
    func transaction(
        _ jws: String, of app: AppsFile.App, in environment: AppStoreEnvironment, named id: String?
    ) async -> Result<Transaction, OfflineJudge.Refusal> {
        switch judge.answered(jws, of: app) {
        case .failure(let refusal):
            if case .unknown = refusal.verdict { return .failure(refusal) }
            return mismatch(app, "an answer of the App Store is not a transaction of the app")
        case .success(let transaction):
            guard id.map({ Claims.holds([transaction], $0) }) ?? true,
                transaction.environment == StoreEnvironment(appleName: environment.rawValue)
            else { return mismatch(app, "an answer of the App Store is about something else") }
            guard let objection = await objection(to: jws, of: app) else { return .success(transaction) }
            return .failure(OfflineJudge.Refusal(verdict: objection))
        }
    }

    /// What the certificates of an answer say against it.
    func objection(to jws: String, of app: AppsFile.App) async -> Verdict? {
        guard let objection = await revocation?.objection(to: jws) else { return nil }
        guard case .rejected = objection else { return objection }
        // The answer is not to be trusted, which says nothing about the purchase: the next one is signed anew.
        attention.raise(
            .certificateRevoked, app: app.bundleId, "an answer of the App Store has a revoked certificate")
        return .unknown(.certificateRevoked, retryAfterSeconds: RetryTime.attention)
    }

    /// What an error means that is about neither the id nor the environment.
    func verdict(about error: AppStoreServerError, _ refusal: TransactionRefusal, of app: AppsFile.App) -> Verdict {
        switch refusal {
        case .passing:
            return .unknown(.appStoreUnavailable, retryAfterSeconds: RetryTime.appStoreTrouble)
        case .unauthorized:
            attention.raise(
                .appStoreUnauthorized, app: app.bundleId, "the App Store does not accept the app's key")
            return .unknown(.appStoreUnauthorized, retryAfterSeconds: RetryTime.attention)
        case .notHere, .gone, .invalidId, .misunderstood:
            attention.raise(.appStoreRefused, app: app.bundleId, "the App Store refuses a lookup: \(error)")
            return .unknown(.appStoreRefused, retryAfterSeconds: RetryTime.attention)
        }
    }

    private func mismatch(
        _ app: AppsFile.App, _ message: String
    ) -> Result<Transaction, OfflineJudge.Refusal> {
        attention.raise(.answerMismatch, app: app.bundleId, message)
        return .failure(OfflineJudge.Refusal(verdict: Self.mismatch))
    }
}
