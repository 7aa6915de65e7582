import AppStoreServerAPI
import Messages
import PurchaseModel
import ServiceRuntime

/// Signed transactions that name no environment: Apple wrote none before 2022.
extension LookupJudge {
    /// The same transaction as Apple signs it today, which names its environment.
    ///
    /// The posted proof is what shows whose it is, so nothing here rejects it: what Apple does not know stays genuine and
    /// without an environment, once that is believed.
    func signedTransaction(
        _ jws: String, _ submission: SubmissionMessage, of app: AppsFile.App
    ) async -> Finding {
        let posted: Transaction
        switch offline.transaction(jws, of: app) {
        case .failure(let refusal): return Finding(refusal.verdict)
        case .success(let transaction): posted = transaction
        }
        if let objection = await revocation?.objection(to: jws) { return Finding(objection) }
        let asItStands = offline.passed(posted, of: app, submission)
        guard posted.environment == nil, transactions.canAsk(app) else { return asItStands }
        let end = ContinuousClock.now + patience
        for environment in Self.order(submission) {
            let question = TransactionLookups.Question(
                app: app, transactionId: posted.transactionId, order: [environment],
                priority: priority(submission), asker: submission.account)
            switch await transactions.find(question, within: max(.zero, end - .now)) {
            case .found(let transaction) where transaction.isSamePurchase(as: posted):
                return Finding(
                    Self.pass([transaction], submission, of: app), proofSignedDate: posted.signedDate)
            // Another purchase has this id in the other environment, or it can be no id today.
            case .found, .notFound, .stated(.rejected): continue
            case .stated(let verdict): return Finding(verdict)
            }
        }
        guard believesNotFound(submission) else {
            return .unknown(.transactionNotFound, after: RetryTime.notFoundYet)
        }
        return asItStands
    }
}

extension Transaction {
    /// Whether two signed transactions of one id are of one purchase: production and the sandbox may give the same id.
    fileprivate func isSamePurchase(as other: Transaction) -> Bool {
        originalTransactionId.utf8.elementsEqual(other.originalTransactionId.utf8)
            && productId.utf8.elementsEqual(other.productId.utf8) && purchaseDate == other.purchaseDate
    }
}
