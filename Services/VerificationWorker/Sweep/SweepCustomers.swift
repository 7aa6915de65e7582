import AppStore
import AppStoreServerAPI
import Messages
import Persistence
import PurchaseModel
import ServiceRuntime

/// Compares what Apple says that a customer has with the books: transaction history, refund history, subscription statuses.
struct SweepCustomers: Sendable {
    let calls: SweepCalls
    let answers: ServerAnswers
    let recoveries: RecoverFindings
    let recorded: RecordedStatements

    /// Reads a page of the round, and takes in what is missing.
    ///
    /// - Throws: `PostgresError`.
    func page(of task: SweepTask, _ progress: SweepTaskStore.Progress, _ app: AppsFile.App) async throws -> SweepStep {
        switch task.kind {
        case .statuses: return try await statuses(of: task, app)
        case .order: return try await order(task, app)
        default:
            let isOfRefunds = task.kind == .refunds
            let answer = await calls.call(task, app, callClass: isOfRefunds ? .orders : .usual) {
                [revision = progress.revision] client, host in
                if isOfRefunds { return try await client.refundHistory(of: task.subject, after: revision, in: host) }
                return try await client.history(of: task.subject, after: revision, in: host)
            }
            switch answer {
            case .step(let step): return step
            case .value(let page): return try await step(page, after: progress, task, app)
            }
        }
    }

    /// What comes after a page of a history.
    func step(
        _ page: HistoryResponse, after progress: SweepTaskStore.Progress, _ task: SweepTask, _ app: AppsFile.App
    ) async throws -> SweepStep {
        let taken = try await takeIn(page.signedTransactions, unreadable: page.unreadableEntries, task, app)
        if let again = taken.again(after: task.mismatches) { return again }
        let next = SweepTaskStore.Progress(revision: page.nextPage ?? progress.revision, calls: 1, found: taken.found)
        guard page.hasMore else { return .end(next) }
        // Without a new mark the same page would come for ever.
        guard page.nextPage != nil, page.nextPage != progress.revision else {
            return .putOff(
                seconds: RetryTime.attention, reason: "there are more pages, but no way to them", startsAnew: true)
        }
        return .page(next)
    }

    /// The purchases of an order of Apple's e-mail.
    private func order(_ task: SweepTask, _ app: AppsFile.App) async throws -> SweepStep {
        let answer = await calls.call(task, app, callClass: .orders) { client, host in
            try await client.lookUpOrder(task.subject, in: host)
        }
        switch answer {
        case .step(let step): return step
        case .value(let order):
            // An order of another app, or of none.
            guard order.status == .valid else { return .end(SweepTaskStore.Progress(calls: 1)) }
            guard order.signedTransactions.count <= OrderQuestion.transactionsMaximum else {
                return .putOff(seconds: RetryTime.attention, reason: ReasonCode.answerMismatch.rawValue)
            }
            let taken = try await takeIn(order.signedTransactions, task, app)
            return taken.again(after: task.mismatches)
                ?? .end(
                    SweepTaskStore.Progress(
                        revision: taken.transactionIds.joined(separator: ","), calls: 1, found: taken.found))
        }
    }

    private func takeIn(
        _ signed: [String], unreadable: Int = 0, _ task: SweepTask, _ app: AppsFile.App
    ) async throws -> SweepTaken {
        var read: [(jws: String, transaction: Transaction)] = []
        var findings: [SweepFinding] = []
        var taken = SweepTaken(unchecked: calls.verdict(ofUnreadable: unreadable, app))
        for jws in signed {
            switch await checked(jws, task, app) {
            case .success(let transaction): read.append((jws, transaction))
            case .failure(let refusal):
                if let held = unread(refusal, jws, task, app) {
                    findings.append(held)
                } else {
                    taken.note(refusal.verdict)
                }
            }
        }
        taken.transactionIds = read.map(\.transaction.transactionId)
        let known = try await recorded.transactions(of: read.map(\.transaction.orderKey))
        findings += read.compactMap { finding($0.jws, $0.transaction, known[$0.transaction.orderKey], app) }
        taken.found = try await recoveries.takeIn(findings, by: task)
        return taken
    }

    /// What Apple signed and this version cannot read is taken in as it is, and hides nothing that comes after it.
    private func unread(
        _ refusal: OfflineJudge.Refusal, _ jws: String, with renewal: String? = nil, _ task: SweepTask,
        _ app: AppsFile.App
    ) -> SweepFinding? {
        guard refusal.isUnread, let environment = task.environment else { return nil }
        return .unread(
            renewal.map { "\(jws)\n\($0)" } ?? jws, naming: jws,
            kind: renewal == nil ? .signedTransaction : .subscriptionStatus, app: app.bundleId,
            environment: environment)
    }

    private func checked(
        _ jws: String, _ task: SweepTask, _ app: AppsFile.App
    ) async -> Result<Transaction, OfflineJudge.Refusal> {
        guard let environment = task.environment else {
            return .failure(OfflineJudge.Refusal(verdict: ServerAnswers.mismatch))
        }
        return await answers.transaction(jws, of: app, in: AppStoreEnvironment(environment), named: nil)
    }

    private func finding(
        _ jws: String, _ transaction: Transaction, _ known: RecordedStatements.Recorded?, _ app: AppsFile.App
    ) -> SweepFinding? {
        guard known?.lacks(transaction) ?? true, let environment = transaction.environment else { return nil }
        return SweepFinding(
            app: app.bundleId, environment: environment, name: Self.name(of: transaction, known),
            kind: .signedTransaction, proof: jws, transactionId: transaction.transactionId,
            key: transaction.originalTransactionId)
    }

    /// What Apple says beyond what the books said: the same question is not answered twice, and another state of the books
    /// is another question.
    private static func name(of transaction: Transaction, _ known: RecordedStatements.Recorded?) -> String {
        let facts = [
            transaction.revocationDate?.milliseconds, transaction.revocationPercentage,
            transaction.expiresDate?.milliseconds, transaction.isUpgraded == true ? 1 : 0,
            transaction.appAccountToken == nil ? 0 : 1, known?.signedDate.milliseconds,
        ]
        return "t:\(transaction.transactionId):" + facts.map { $0.map(String.init) ?? "-" }.joined(separator: ":")
    }

    // MARK: - Subscriptions

    private func statuses(of task: SweepTask, _ app: AppsFile.App) async throws -> SweepStep {
        let answer = await calls.call(task, app) { client, host in
            try await client.subscriptionStatuses(of: task.subject, in: host)
        }
        switch answer {
        case .step(let step): return step
        case .value(let response):
            var findings: [SweepFinding] = []
            let signed = response.lastTransactions.compactMap { item in item.signedTransactionInfo.map { (item, $0) } }
            let unreadable = response.lastTransactions.count - signed.count + response.unreadableEntries
            var taken = SweepTaken(unchecked: calls.verdict(ofUnreadable: unreadable, app))
            for (item, jws) in signed {
                switch try await finding(item, jws, task, app) {
                case .success(let finding): findings += finding.map { [$0] } ?? []
                case .failure(let refusal): taken.note(refusal.verdict)
                }
            }
            taken.found = try await recoveries.takeIn(findings, by: task)
            return taken.again(after: task.mismatches) ?? .end(SweepTaskStore.Progress(calls: 1, found: taken.found))
        }
    }

    /// The latest period and what comes next of one subscription, where one of them is news.
    private func finding(
        _ item: StatusResponse.Item, _ jws: String, _ task: SweepTask, _ app: AppsFile.App
    ) async throws -> Result<SweepFinding?, OfflineJudge.Refusal> {
        switch await checked(jws, task, app) {
        case .failure(let refusal):
            guard let held = unread(refusal, jws, with: item.signedRenewalInfo, task, app) else {
                return .failure(refusal)
            }
            return .success(held)
        case .success(let transaction):
            return .success(try await finding(item, jws, transaction, app))
        }
    }

    private func finding(
        _ item: StatusResponse.Item, _ jws: String, _ transaction: Transaction, _ app: AppsFile.App
    ) async throws -> SweepFinding? {
        guard let environment = transaction.environment else { return nil }
        let known = try await recorded.transactions(of: [transaction.orderKey])[transaction.orderKey]
        guard let renewalJWS = item.signedRenewalInfo,
            let renewal = await renewal(renewalJWS, of: transaction, in: environment, app)
        else { return finding(jws, transaction, known, app) }
        let before = try await recorded.renewal(
            of: LineageKey(environment: environment, originalTransactionId: transaction.originalTransactionId))
        guard known?.lacks(transaction) ?? true || renewal.isNews(after: before) else { return nil }
        let name =
            Self.name(of: transaction, known)
            + ":r:\(before?.signedDate.milliseconds ?? 0):\(renewal.willRenew.map { $0 ? 1 : 0 } ?? 2)"
            + ":\(renewal.renewalProductId ?? ""):\(renewal.gracePeriodExpiresDate?.milliseconds ?? 0)"
            + ":\(renewal.isInBillingRetry == true ? 1 : 0):\(renewal.expirationIntent ?? 0)"
        return SweepFinding(
            app: app.bundleId, environment: environment, name: name, kind: .subscriptionStatus,
            proof: "\(jws)\n\(renewalJWS)", transactionId: transaction.transactionId,
            key: transaction.originalTransactionId)
    }

    private func renewal(
        _ jws: String, of transaction: Transaction, in environment: StoreEnvironment, _ app: AppsFile.App
    ) async -> RenewalStatement? {
        let signed = answers.judge.signedData.renewalInfo(
            Array(jws.utf8), originalTransactionId: transaction.originalTransactionId)
        guard case .success(let info) = signed,
            info.environment.flatMap({ StoreEnvironment(appleName: $0.rawValue) }) == environment,
            !info.unreadableFields.contains("appAccountToken"), await answers.objection(to: jws, of: app) == nil
        else { return nil }
        return RenewalStatement(info, environment: environment)
    }
}
