import AppStoreServerAPI
import Messages
import PurchaseModel
import ServiceRuntime

/// What Apple says today of what it signed long ago: before its data named environments (2022), or under certificates that
/// have expired.
extension LookupJudge {
    private enum Confirmation: Sendable {
        /// The same purchase, signed today.
        case confirmed(Transaction)
        /// Apple has none, or another of this id.
        case unconfirmed
        /// Nothing is known.
        case stated(Verdict)
    }

    /// The same transaction as Apple signs it today.
    ///
    /// The posted proof is what shows whose it is, so nothing here rejects it: what Apple does not know stays genuine and
    /// as it was posted, once that is believed.
    func signedTransaction(
        _ jws: String, _ submission: SubmissionMessage, of app: AppsFile.App
    ) async -> Finding {
        let posted: Transaction
        switch offline.posted(jws, of: app, submission) {
        case .failure(let refusal) where refusal.lacksBundleId: return await unnamed(jws, submission, of: app)
        case .failure(let refusal): return Finding(refusal.verdict)
        case .success(let transaction): posted = transaction
        }
        if let objection = await revocation?.objection(to: jws) { return Finding(objection) }
        let asItStands = offline.passed(posted, of: app, submission)
        guard posted.environment == nil || !posted.isVouchedFor, transactions.canAsk(app) else { return asItStands }
        switch await confirmation(of: posted, submission, of: app, until: .now + patience) {
        case .confirmed(let transaction):
            return Finding(Self.pass([transaction], submission, of: app), proofSignedDate: posted.signedDate)
        case .stated(let verdict): return Finding(verdict)
        case .unconfirmed:
            return believesUnconfirmed(submission)
                ? asItStands : .unknown(.transactionNotFound, after: RetryTime.notFoundYet)
        }
    }

    /// A signed transaction that does not say whose app's it is: it is the app's whose key Apple knows it by.
    private func unnamed(_ jws: String, _ submission: SubmissionMessage, of app: AppsFile.App) async -> Finding {
        guard transactions.canAsk(app) else {
            return .unknown(.appStoreNotConfigured, after: RetryTime.notConfigured)
        }
        let posted: Transaction
        switch offline.posted(jws, of: app, submission, isAppKnown: true) {
        case .failure(let refusal): return Finding(refusal.verdict)
        case .success(let transaction): posted = transaction
        }
        if let objection = await revocation?.objection(to: jws) { return Finding(objection) }
        switch await confirmation(of: posted, submission, of: app, until: .now + patience) {
        case .confirmed(let transaction):
            return Finding(Self.pass([transaction], submission, of: app), proofSignedDate: posted.signedDate)
        case .stated(let verdict): return Finding(verdict)
        case .unconfirmed:
            return notFound(
                submission, .transactionNotFound,
                rejected: .rejected(.bundleIdMissing, "it names no app, and Apple knows it in none of this app's"))
        }
    }

    /// A notification whose certificates have expired: what it is about, as Apple tells it today.
    func notification(_ jws: String, _ submission: SubmissionMessage, of app: AppsFile.App) async -> Finding {
        let asItStands = offline.notification(jws, of: app, submission)
        guard asItStands.isDoubtful, transactions.canAsk(app),
            case .genuine(let told) = asItStands.verdict, let posted = told.first
        else { return asItStands }
        if let objection = await revocation?.objection(toNotification: jws) {
            return asItStands.replaced(by: objection)
        }
        let end = ContinuousClock.now + patience
        switch await confirmation(of: posted, submission, of: app, until: end) {
        case .confirmed(let transaction):
            let status = await status(of: transaction, submission, of: app, until: end)
            return Finding(
                Self.pass([transaction], submission, of: app), claims: [], renewals: status.renewals,
                notification: asItStands.notification)
        case .stated(let verdict): return asItStands.replaced(by: verdict)
        case .unconfirmed:
            return believesUnconfirmed(submission)
                ? asItStands
                : asItStands.replaced(
                    by: .unknown(.transactionNotFound, retryAfterSeconds: RetryTime.notFoundYet))
        }
    }

    /// Asks about what is claimed of a receipt whose certificates have expired, the newest first.
    ///
    /// What Apple does not know, and what is too much to ask about, stays in doubt.
    ///
    /// - Returns: what is said instead, where nothing is known.
    func confirm(
        _ content: inout ReceiptContent, _ submission: SubmissionMessage, of app: AppsFile.App,
        until end: ContinuousClock.Instant
    ) async -> Finding? {
        let finding = content.finding(for: submission, of: app)
        guard transactions.canAsk(app), !finding.isRejected else { return nil }
        let asked = content.transactions.filter { transaction in
            !transaction.isVouchedFor && finding.claims.contains(transaction.transactionId)
        }.sorted { $0.purchaseDate > $1.purchaseDate }.prefix(ExpiredCertificates.receiptLookupsMaximum)
        let answers = await withTaskGroup(of: Confirmation.self) { group in
            for transaction in asked {
                group.addTask { await confirmation(of: transaction, submission, of: app, until: end) }
            }
            return await group.reduce(into: [Confirmation]()) { $0.append($1) }
        }
        var isMissing = false
        for answer in answers {
            switch answer {
            case .confirmed(let transaction): content.confirm(transaction)
            case .unconfirmed: isMissing = true
            case .stated(let verdict): return Finding(verdict)
            }
        }
        guard isMissing, !believesUnconfirmed(submission) else { return nil }
        return .unknown(.transactionNotFound, after: RetryTime.notFoundYet)
    }

    private func confirmation(
        of posted: Transaction, _ submission: SubmissionMessage, of app: AppsFile.App,
        until end: ContinuousClock.Instant
    ) async -> Confirmation {
        let asker = asker(submission, of: app)
        for environment in posted.environment.map({ [AppStoreEnvironment($0)] }) ?? asker.order {
            let question = TransactionQuestion(transactionId: posted.transactionId, environments: [environment])
            switch await transactions.find(question, for: asker, within: max(.zero, end - .now)) {
            case .found(let transaction) where transaction.isSamePurchase(as: posted):
                return .confirmed(transaction)
            // Another purchase has this id in the other environment, or it can be no id today.
            case .found, .notFound, .stated(.rejected): continue
            case .stated(let verdict): return .stated(verdict)
            }
        }
        return .unconfirmed
    }
}

extension Transaction {
    /// Whether Apple's word of today is of the same purchase as what was posted.
    ///
    /// Production and the sandbox may give one id to two purchases: where the posted one names no environment, the moment
    /// tells them apart. Where it does, the moment may be that of a restore, and says nothing.
    fileprivate func isSamePurchase(as posted: Transaction) -> Bool {
        transactionId.utf8.elementsEqual(posted.transactionId.utf8)
            && originalTransactionId.utf8.elementsEqual(posted.originalTransactionId.utf8)
            && productId.utf8.elementsEqual(posted.productId.utf8)
            && (posted.environment != nil || purchaseDate == posted.purchaseDate)
    }
}
