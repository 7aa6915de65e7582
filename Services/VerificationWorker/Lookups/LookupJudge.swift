import AppStoreServerAPI
import Messages
import Pacing
import PurchaseModel
import ServiceRuntime

/// Judges what only Apple's servers can settle; knows nothing of topics.
struct LookupJudge: Sendable {
    /// So many answers that there is none are not believed yet: the API may lag behind a purchase.
    static let notFoundUnbelieved = 5
    /// The same age as ``LookupJudge/notFoundAge``, where nothing is refused by it: what Apple signed stands, held or as
    /// it was posted, and a newer proof can be had.
    static let doubtAge = Duration.seconds(900)
    /// So many refusals of verifyReceipt are not believed that contradict our own check, or that nothing confirms.
    static let refusalsUnbelieved = 3

    let offline: OfflineJudge
    let transactions: Lookups<TransactionQuestion>
    let orders: Lookups<OrderQuestion>
    let subscriptions: Lookups<SubscriptionQuestion>
    let receipts: Lookups<ReceiptQuestion>
    let unknownIds = UnknownIds()
    /// Asks about certificates; nil when nobody is to be asked.
    let revocation: RevocationQuestions?
    /// How long after the first answer that there is none it may be believed, at the earliest.
    let notFoundAge: Duration
    /// How long one submission waits for Apple.
    let patience: Duration
    let attention: AttentionLog

    /// - Parameters:
    ///   - flights: things of one kind that are asked about at a time.
    ///   - patience: half of it is what a subscription's standing may take.
    init(_ offline: OfflineJudge, _ calls: LookupCalls, flights: Int, notFoundAge: Duration, patience: Duration) {
        self.offline = offline
        revocation = calls.answers.revocation
        attention = calls.answers.attention
        self.notFoundAge = notFoundAge
        self.patience = patience
        transactions = Lookups(calls, patience: patience, flights: flights)
        orders = Lookups(
            calls, patience: patience, flights: min(flights, OrderQuestion.flightsMaximum),
            remembered: OrderQuestion.rememberedMaximum)
        subscriptions = Lookups(calls, patience: patience / 2, flights: flights)
        receipts = Lookups(
            calls, patience: patience, flights: flights, remembered: ReceiptQuestion.rememberedMaximum,
            rememberedFor: ReceiptQuestion.rememberedFor)
    }

    /// A finding within the patience, whatever Apple does.
    func finding(for submission: SubmissionMessage, proof: String) async -> Finding {
        guard let app = offline.apps[submission.app] else {
            return .unknown(.appUnknown, after: RetryTime.deployment)
        }
        switch submission.kind {
        case .transactionId: return await transaction(proof, submission, of: app)
        case .orderId: return await order(proof, submission, of: app)
        case .receipt: return await receipt(proof, submission, of: app)
        case .signedTransaction: return await signedTransaction(proof, submission, of: app)
        case .serverNotification: return await notification(proof, submission, of: app)
        default:
            // Not sent here by this version; what can be said offline is said.
            if case .found(let finding) = offline.judge(submission, proof: proof) { return finding }
            return .unknown(.proofKindUnknown, after: RetryTime.deployment)
        }
    }

    /// Ends what flies, at shutdown: whoever still waits gets an unknown.
    func close() async {
        await transactions.close()
        await orders.close()
        await subscriptions.close()
        await receipts.close()
    }

    /// Whether Apple's answer that it knows no such id is believed, after those that came before, so that it is refused.
    ///
    /// Real answers count, and time: an outage, a rate limit or a resend says nothing of the id.
    func believesNotFound(_ submission: SubmissionMessage) -> Bool { believes(submission, after: notFoundAge) }

    /// The same where what was posted stands all the same.
    func believesUnconfirmed(_ submission: SubmissionMessage) -> Bool {
        believes(submission, after: min(notFoundAge, Self.doubtAge))
    }

    private func believes(_ submission: SubmissionMessage, after age: Duration) -> Bool {
        guard let before = submission.notFound else { return false }
        return before.count >= Self.notFoundUnbelieved && .seconds(before.seconds) >= age
    }

    /// What becomes of what Apple does not know: it comes back, ever seldomer, until that is believed.
    func notFound(
        _ submission: SubmissionMessage, _ reason: ReasonCode, rejected: Finding
    ) -> Finding {
        guard !believesNotFound(submission) else { return rejected }
        if submission.attempt == 0 { unknownIds.note(submission) }
        return .unknown(reason, after: RetryTime.notFound(since: submission.notFound?.seconds))
    }

    // MARK: A bare id

    private func transaction(
        _ id: String, _ submission: SubmissionMessage, of app: AppsFile.App
    ) async -> Finding {
        guard transactions.canAsk(app) else {
            return .unknown(.appStoreNotConfigured, after: RetryTime.notConfigured)
        }
        let end = ContinuousClock.now + patience
        let asker = asker(submission, of: app)
        let question = TransactionQuestion(transactionId: id, environments: Set(asker.order))
        switch await transactions.find(question, for: asker, within: patience) {
        case .found(let transaction):
            let verdict = Self.pass([transaction], submission, of: app)
            guard case .genuine = verdict else { return Finding(verdict) }
            let status = await status(of: transaction, submission, of: app, until: end)
            // An app may know a subscription by its first transaction only; what was paid since is its buyer's, too.
            guard let latest = status.latest, latest.transactionId != transaction.transactionId else {
                return .ofNumber(verdict, for: app, renewals: status.renewals)
            }
            return .ofNumber(
                Self.pass([transaction, latest], submission, of: app), for: app, renewals: status.renewals)
        case .notFound:
            return notFound(
                submission, .transactionNotFound,
                rejected: .rejected(.transactionNotFound, "Apple knows no transaction of this id in this app"))
        case .stated(let verdict): return Finding(verdict)
        }
    }

    /// The verdict about transactions of one environment.
    static func pass(
        _ transactions: [Transaction], _ submission: SubmissionMessage, of app: AppsFile.App
    ) -> Verdict {
        EnvironmentFirewall.pass(
            transactions, proved: transactions[0].environment, policy: app.sandbox,
            expected: submission.expectedEnvironment)
    }

    /// Where it stands, if it is a subscription; the verdict stands without it.
    func status(
        of transaction: Transaction, _ submission: SubmissionMessage, of app: AppsFile.App,
        until end: ContinuousClock.Instant
    ) async -> SubscriptionQuestion.Status {
        guard transaction.productType == .autoRenewable, let environment = transaction.environment else {
            return .init()
        }
        let question = SubscriptionQuestion(
            transactionId: transaction.transactionId, originalTransactionId: transaction.originalTransactionId,
            environment: AppStoreEnvironment(environment))
        let time = min(max(.zero, end - .now), patience / 2)
        guard
            case .found(let status) = await subscriptions.find(
                question, for: asker(submission, of: app), within: time)
        else { return .init() }
        return status
    }

    /// Who asks: production is asked first, unless the app was built for the sandbox.
    func asker(_ submission: SubmissionMessage, of app: AppsFile.App) -> Asker {
        Asker(
            app: app, priority: priority(submission), account: submission.account,
            order: submission.expectedEnvironment == .sandbox ? [.sandbox, .production] : [.production, .sandbox])
    }

    /// A player waits for the first answer only; whatever comes again has its time, and so has what somebody asks who has
    /// invented ids.
    func priority(_ submission: SubmissionMessage) -> Priority {
        submission.isAwaited && submission.attempt == 0 && !unknownIds.areMany(of: submission) ? .player : .deadline
    }

    // MARK: An order id

    /// Most ids that Apple does not know are mistyped, or of another app; but while Apple forgets what it sold, good ones
    /// are not told apart from them.
    private func order(_ id: String, _ submission: SubmissionMessage, of app: AppsFile.App) async -> Finding {
        guard transactions.canAsk(app) else {
            return .unknown(.appStoreNotConfigured, after: RetryTime.notConfigured)
        }
        switch await orders.find(OrderQuestion(orderId: id), for: asker(submission, of: app), within: patience) {
        case .found(let transactions):
            return .ofNumber(
                EnvironmentFirewall.pass(
                    transactions, proved: .production, policy: app.sandbox, expected: submission.expectedEnvironment),
                for: app)
        case .notFound:
            return notFound(
                submission, .orderNotFound,
                rejected: .rejected(.orderNotFound, "Apple knows no order of this id in this app"))
        case .stated(let verdict): return Finding(verdict)
        }
    }

    // MARK: A receipt

    private func receipt(_ proof: String, _ submission: SubmissionMessage, of app: AppsFile.App) async -> Finding {
        let end = ContinuousClock.now + patience
        var content: ReceiptContent
        switch await read(proof, submission, of: app) {
        case .failure(let refusal): return Finding(refusal.verdict)
        case .success(let read): content = read
        }
        if content.isDoubtful, let objection = await confirm(&content, submission, of: app, until: end) {
            return objection
        }
        let finding = content.finding(for: submission, of: app)
        guard let named = submission.namedTransactionId, content.lacksNamed(submission), !finding.isRejected else {
            return finding
        }
        guard transactions.canAsk(app) else { return content.findingUnasked(for: submission, of: app) }
        return await receipt(content, lacking: named, submission, of: app, within: max(.zero, end - .now))
    }

    /// What is in a receipt, by our own check, by verifyReceipt, or by both, as the app's settings say.
    private func read(
        _ proof: String, _ submission: SubmissionMessage, of app: AppsFile.App
    ) async -> Result<ReceiptContent, OfflineJudge.Refusal> {
        if app.receipts == .verifyReceipt {
            // What Apple never signed would only use up its calls.
            if let refusal = offline.forgery(proof, of: app) { return .failure(refusal) }
            return await readByApple(proof, submission, of: app)
        }
        switch offline.receipt(proof, of: app, submission) {
        case .failure(let refusal):
            // What Apple signed and this version cannot read, Apple may.
            guard refusal.isUnknown, app.receipts == .offlineThenVerifyReceipt else { return .failure(refusal) }
            return await readByApple(proof, submission, of: app)
        case .success(var content):
            guard app.receipts == .offlineThenVerifyReceipt else { return .success(content) }
            let newer = await askVerifyReceipt(proof, submission, of: app)
            // Whatever else it says: what Apple signed is genuine, and stands.
            if case .success(let newer) = newer { content.update(by: newer) }
            return .success(content)
        }
    }

    /// What verifyReceipt says of it, unless our own check outweighs that.
    private func readByApple(
        _ proof: String, _ submission: SubmissionMessage, of app: AppsFile.App
    ) async -> Result<ReceiptContent, OfflineJudge.Refusal> {
        switch await askVerifyReceipt(proof, submission, of: app) {
        case .failure(let refusal): contradicted(refusal.verdict, proof, submission, of: app)
        case .success(let content): .success(content)
        }
    }

    /// A receipt that lacks the named transaction: it may have been bought since, so Apple is asked about that one, in the
    /// receipt's environment.
    private func receipt(
        _ content: ReceiptContent, lacking named: String, _ submission: SubmissionMessage, of app: AppsFile.App,
        within time: Duration
    ) async -> Finding {
        let question = TransactionQuestion(
            transactionId: named, environments: [AppStoreEnvironment(content.environment)])
        switch await transactions.find(question, for: asker(submission, of: app), within: time) {
        case .found(let transaction):
            var content = content
            content.add(transaction)
            return content.finding(for: submission, of: app)
        case .notFound where !believesUnconfirmed(submission):
            return .unknown(.transactionNotFound, after: RetryTime.notFoundYet)
        case .notFound, .stated(.rejected): return content.finding(for: submission, of: app)
        case .stated(let verdict): return Finding(verdict)
        }
    }

    private func askVerifyReceipt(
        _ proof: String, _ submission: SubmissionMessage, of app: AppsFile.App
    ) async -> Result<ReceiptContent, OfflineJudge.Refusal> {
        let question = ReceiptQuestion(receipt: proof)
        switch await receipts.find(question, for: asker(submission, of: app), within: patience) {
        case .found(let answer):
            return ReceiptContent.read(answer, of: app, attempt: submission.attempt + 1, attention: attention)
        case .stated(let verdict): return .failure(OfflineJudge.Refusal(verdict: verdict))
        case .notFound: return .failure(OfflineJudge.Refusal(verdict: ServerAnswers.mismatch))
        }
    }
}

extension ReceiptContent {
    /// Takes in what a later answer about the same receipt says: what is new, and what changed.
    mutating func update(by newer: ReceiptContent) {
        guard newer.environment == environment else { return }
        renewals += newer.renewals
        var places: [[UInt8]: Int] = [:]
        for (index, transaction) in transactions.enumerated() { places[Array(transaction.transactionId.utf8)] = index }
        for transaction in newer.transactions {
            let id = Array(transaction.transactionId.utf8)
            if let place = places[id] {
                transactions[place] = transactions[place].updated(by: transaction)
            } else if mayHide, !newer.added.contains(id) {
                // It stands in the signed bytes, as one that could not be read here.
                transactions.append(transaction)
            } else {
                add(transaction)
            }
        }
        mayHide = mayHide && newer.mayHide
    }
}
