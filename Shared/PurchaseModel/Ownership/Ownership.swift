package import Foundation

/// Who owns one lineage, and how that changes: the rules of binding and of restoring, without I/O or clock.
///
/// - A token of Apple's data binds it to the token's account. A lineage has the token of its newest purchase; the same
///   token again brings nothing new, so that what was moved on purpose stays moved. Another token of a newer purchase, or
///   of the same one signed later, moves it.
/// - Evidence of possession binds it while it is unclaimed. When it has an owner, the product's restore policy decides,
///   and only a proof counts that Apple signed after what bound it last.
/// - An older system's word binds what is unclaimed, and restores nothing.
/// - Whoever pays anew in a lineage that had lapsed gets it (`NewPurchasePolicy`).
/// - An operator binds and moves.
package struct Ownership: Sendable {
    /// A binding that came about.
    package struct Change: Sendable {
        package let binding: BindingChange
        package let submissionId: String?
        package let auditId: Int64?
        package let correlationId: String
        /// The transaction that led to it.
        package let transaction: Transaction
    }

    /// As it was when it was locked.
    package let before: Lineage
    package private(set) var lineage: Lineage
    /// Read only where several accounts may claim it.
    package var history = LineageHistory()
    package private(set) var changes: [Change] = []
    package private(set) var claims: [LineageClaim] = []
    /// The correlation id of what brought another token; nil where nothing did.
    private var tokenCorrelationId: String?
    /// The registered tokens of its transactions that were applied now.
    ///
    /// What was not applied is a doubt still, though somebody else's purchase may say whose the token is: else its
    /// order would be decided, and never be taken up for the token.
    private var appliedTokens: Set<UUID> = []
    /// All of its periods that are known.
    private var runs = SubscriptionRuns()
    /// Those whose product leaves what is paid anew to the owner.
    private var ownersPeriods: Set<String> = []

    /// The restore rule of a transaction's product.
    private let rule: @Sendable (Transaction) -> RestoreRule

    package init(_ lineage: Lineage, rule: @escaping @Sendable (Transaction) -> RestoreRule) {
        before = lineage
        self.lineage = lineage
        self.rule = rule
    }

    /// Whether its orders are others' now, or have an owner for the first time.
    package var hasNewOwner: Bool { lineage.owner != before.owner }

    /// Whether orders may be its owner's now that were not.
    package var mayTakeOrders: Bool {
        hasNewOwner || lineage.token != before.token || before.openSince != nil || before.joinedBy != nil
    }

    /// The correlation id of what changed its owner, a sharer, its token or its original ids last; nil where nothing did.
    package var correlationId: String? { changes.last?.correlationId ?? tokenCorrelationId ?? before.joinedBy }

    /// The accounts that a limit keeps from it.
    package var limitedAccounts: Set<Account> {
        Set(claims.filter { $0.refused == .restoreLimitReached }.map(\.account))
    }

    /// The accounts that showed evidence of a period that was paid anew, and that its product leaves to the owner.
    package private(set) var payersBesidesOwner: Set<Account> = []

    /// Applies what a verdict or an operator brings.
    ///
    /// - Parameters:
    ///   - tokens: whose the registered tokens are.
    ///   - now: when limits are counted.
    package mutating func apply(_ evidence: LineageEvidence, tokens: [AppToken: Account], now: Date) {
        let named = evidence.statements.map(\.transaction).filter { $0.appToken.map { tokens[$0] != nil } ?? false }
        appliedTokens.formUnion(named.compactMap(\.appAccountToken))
        if let newest = named.max(by: { $1.isNewer(than: $0) }), let token = newest.appToken,
            let account = tokens[token]
        {
            apply(token.token, of: account, in: newest, evidence)
        }
        switch evidence.evidence {
        case .possession(let account), .server(let account), .imported(let account):
            claim(evidence, by: account, now: now)
        case .operator(let account, let auditId):
            give(evidence.statements[0].transaction, to: account, auditId: auditId, evidence, now: now)
        case .number, nil: break
        }
    }

    /// Takes note of the periods of a batch, before any of it is applied: what they follow decides who paid for them.
    ///
    /// - Parameter statements: of each period one, with all that is known of it.
    package mutating func note(periods statements: [LineageEvidence.Statement]) {
        var periods = history.orders.filter(\.isPeriod).map { period($0) }
        for statement in statements where statement.transaction.isAutoRenewable {
            let period = period(statement)
            periods.append(period)
            if rule(statement.transaction).newPurchase == .owner { ownersPeriods.insert(period.transactionId) }
        }
        runs.add(periods)
    }

    /// Says since when periods wait for whoever paid them, once everything is applied.
    package mutating func noteWaiting() {
        let waiting = runs.periods.filter { isOpen($0) }.map(\.purchaseDate).min()
        lineage.openSince = lineage.owner == nil ? nil : waiting
    }

    private mutating func apply(
        _ token: UUID, of account: Account, in statement: Transaction, _ evidence: LineageEvidence
    ) {
        if lineage.owner == nil {
            remember(token, statement, evidence)
            bind(to: account, .token, statement, evidence)
            return
        }
        guard isNewerThanToken(statement) else { return }
        let isFirst = lineage.token == nil
        let isSame = lineage.token == token
        remember(token, statement, evidence)
        // The first token of a lineage that was moved on purpose is taken for the one it always had.
        let wasMoved = lineage.cause == .transfer || lineage.cause == .operator
        guard !isSame, !(isFirst && wasMoved), lineage.owner != account else { return }
        bind(to: account, .token, statement, evidence)
    }

    private mutating func claim(_ evidence: LineageEvidence, by account: Account, now: Date) {
        // No possession gets past a token of somebody who is not known yet.
        let free = evidence.statements.filter {
            $0.isClaimed && !hasUnknownToken($0.transaction) && !isWaitingForToken($0.order)
        }
        guard let newest = free.max(by: { $1.transaction.isNewer(than: $0.transaction) })?.transaction else { return }
        let signedDate = min(newest.signedDate, evidence.proofSignedDate ?? newest.signedDate)
        let identity = LineageClaim.Identity(
            account: account, transactionId: newest.transactionId, signedDate: signedDate)
        guard !history.appliedClaims.contains(identity) else { return }
        var refused: ReasonCode?
        let paidAnew = free.filter(isPaidAnew).map(\.transaction).max { $1.isNewer(than: $0) }
        if lineage.owner == nil {
            bind(to: account, .possession, newest, evidence)
        } else if lineage.owner == account {
            noteClaimed(newest)
        } else if let paid = paidAnew {
            bind(to: account, .purchase, paid, evidence)
        } else if !lineage.sharers.contains(account) {
            if free.contains(where: { isLeftToOwner($0.transaction) }) { payersBesidesOwner.insert(account) }
            refused =
                if case .imported = evidence.evidence {
                    .belongsToAnotherAccount
                } else {
                    restore(newest, for: account, evidence, now: now, rule: rule(newest))
                }
        }
        if refused == nil { history.appliedClaims.insert(identity) }
        claims.append(
            LineageClaim(
                lineage: lineage.key, account: account, transactionId: newest.transactionId,
                signedDate: signedDate, submissionId: evidence.submissionId ?? "", refused: refused))
    }

    /// - Returns: why the account does not get it.
    private mutating func restore(
        _ transaction: Transaction, for account: Account, _ evidence: LineageEvidence, now: Date, rule: RestoreRule
    ) -> ReasonCode? {
        // What Apple took back is no proof that one has it.
        guard transaction.revocationDate == nil else { return .belongsToAnotherAccount }
        switch rule.policy {
        case .keep: return .belongsToAnotherAccount
        case .transferIfInactive where history.isInUse: return .belongsToAnotherAccount
        case .transfer, .transferIfInactive:
            // A former owner may have kept what Apple signed while it was theirs.
            guard isSignedAfterBinding(evidence.proofSignedDate ?? transaction.signedDate) else {
                return .belongsToAnotherAccount
            }
            let recent = history.transfers.count { rule.period.end(after: $0) > now }
            guard recent < rule.transfersMaximum else { return .restoreLimitReached }
            history.transfers.append(now)
            bind(to: account, .transfer, transaction, evidence, policy: rule.policy)
        case .share:
            guard lineage.sharers.count + 1 < rule.accountsMaximum else { return .restoreLimitReached }
            lineage.sharers.insert(account)
            note(
                BindingChange(from: lineage.owner, to: account, cause: .share, policy: .share), transaction, evidence)
        }
        return nil
    }

    private mutating func give(
        _ transaction: Transaction, to account: Account, auditId: Int64, _ evidence: LineageEvidence, now: Date
    ) {
        // Its token means the account from now on, in this lineage, whoever it may be registered for.
        if let token = transaction.appAccountToken, lineage.owner == nil || isNewerThanToken(transaction) {
            remember(token, transaction, evidence)
        }
        guard lineage.owner != account else { return }
        bind(to: account, .operator, transaction, evidence, auditId: auditId)
        lineage.boundSignedDate = max(now, transaction.signedDate)
    }

    private mutating func bind(
        to account: Account, _ cause: BindingChange.Cause, _ transaction: Transaction, _ evidence: LineageEvidence,
        policy: RestorePolicy? = nil, auditId: Int64? = nil
    ) {
        let binding = BindingChange(from: lineage.owner, to: account, cause: cause, policy: policy)
        lineage.owner = account
        lineage.cause = cause
        noteClaimed(transaction)
        lineage.boundSignedDate = max(transaction.signedDate, lineage.boundSignedDate ?? .distantPast)
        lineage.sharers.remove(account)
        note(binding, transaction, evidence, auditId: auditId)
    }

    private mutating func note(
        _ binding: BindingChange, _ transaction: Transaction, _ evidence: LineageEvidence, auditId: Int64? = nil
    ) {
        changes.append(
            Change(
                binding: binding, submissionId: evidence.submissionId, auditId: auditId,
                correlationId: evidence.correlationId, transaction: transaction))
    }

    /// The owner showed evidence of a period: it and all before it are the owner's.
    private mutating func noteClaimed(_ transaction: Transaction) {
        lineage.claimedPurchaseDate = max(lineage.claimedPurchaseDate ?? .distantPast, transaction.purchaseDate)
    }

    private mutating func remember(_ token: UUID, _ statement: Transaction, _ evidence: LineageEvidence) {
        if lineage.token != token { tokenCorrelationId = evidence.correlationId }
        lineage.token = token
        lineage.tokenPurchaseDate = statement.purchaseDate
        lineage.tokenSignedDate = statement.signedDate
    }
}

// MARK: - What is asked of a lineage

extension Ownership {
    /// Who owns a transaction of the lineage.
    package func owner(of statement: LineageEvidence.Statement) -> OrderOwner {
        if hasUnknownToken(statement.transaction) { return .tokenUnknown }
        if statement.transaction.isAutoRenewable, statement.order?.account == nil, isOpen(period(statement)) {
            return .unclaimed
        }
        return lineage.owner.map(OrderOwner.account) ?? .unclaimed
    }

    /// Who gets the items of a purchase of it: the account of the token that Apple signed in it, else the owner.
    ///
    /// A lineage that was moved on purpose keeps the token of its former owner for years: what is bought after the move is
    /// the new owner's, items too. What an operator moved is the operator's word, whenever it was bought.
    package func itemsAccount(of transaction: Transaction, tokens: [AppToken: Account]) -> Account? {
        guard let token = transaction.appToken, let named = tokens[token] else { return lineage.owner }
        guard token.token == lineage.token else { return named }
        let isMovedBefore =
            switch lineage.cause {
            case .operator: true
            case .transfer:
                lineage.boundSignedDate.map { transaction.purchaseDate.milliseconds > $0.milliseconds } ?? false
            case .token, .possession, .purchase, .share, nil: false
            }
        return isMovedBefore ? lineage.owner : named
    }

    /// Whether an order goes where its lineage goes: all that has an owner, and what Apple took back while it was
    /// unclaimed, but for what has a token that is not the lineage's, or waits for whoever paid anew.
    package func takes(_ order: StoredOrder) -> Bool {
        guard order.account == nil else { return true }
        return order.state == .revoked && (order.token == nil || order.token == lineage.token)
            && !(order.isPeriod && isOpen(period(order)))
    }

    /// Whether Apple signed it after what bound the lineage last.
    private func isSignedAfterBinding(_ signedDate: Date) -> Bool {
        guard let bound = lineage.boundSignedDate ?? lineage.boundDate else { return true }
        return signedDate.milliseconds > bound.milliseconds
    }

    private func hasUnknownToken(_ transaction: Transaction) -> Bool {
        guard let token = transaction.appAccountToken else { return false }
        return token != lineage.token && !appliedTokens.contains(token)
    }

    /// Whether an order of it is unclaimed although it has a token: it waits until the token is registered.
    private func isWaitingForToken(_ order: StoredOrder?) -> Bool {
        order.map { $0.account == nil && $0.token != nil } ?? false
    }

    /// Whether it is not known yet who paid for a period: the subscription had lapsed, there is no token, and nobody has
    /// shown evidence of it.
    private func isOpen(_ period: SubscriptionRuns.Period) -> Bool {
        guard lineage.owner != nil, !period.hasToken, !period.isOwned, leavesNewPurchases(period),
            let start = runs.newRun(of: period.purchaseDate)
        else { return false }
        return start > lineage.claimedPurchaseDate ?? .distantPast && !runs.isSettled(start)
    }

    /// Whether a period belongs to a run that was paid anew, and that nobody has shown evidence of.
    private func isPaidAnew(_ statement: LineageEvidence.Statement) -> Bool {
        let transaction = statement.transaction
        guard transaction.isAutoRenewable, transaction.appAccountToken == nil, rule(transaction).newPurchase == .payer,
            let start = runs.newRun(of: transaction.purchaseDate)
        else { return false }
        return start > lineage.claimedPurchaseDate ?? .distantPast && runs.isNewest(start)
    }

    /// Whether a period was paid anew, by whomever, and its product leaves such to the owner.
    private func isLeftToOwner(_ transaction: Transaction) -> Bool {
        transaction.isAutoRenewable && transaction.appAccountToken == nil
            && rule(transaction).newPurchase == .owner && runs.newRun(of: transaction.purchaseDate) != nil
    }

    private func leavesNewPurchases(_ period: SubscriptionRuns.Period) -> Bool {
        !ownersPeriods.contains(period.transactionId)
    }

    // Grace does not lengthen it: whether it is still known depends on what came when, and Apple names renewals as such.
    private func period(_ order: StoredOrder) -> SubscriptionRuns.Period {
        SubscriptionRuns.Period(
            transactionId: order.key.transactionId, purchaseDate: order.purchaseDate,
            end: order.expiresDate ?? .distantFuture, hasToken: order.token != nil, reason: order.transactionReason,
            isOwned: order.account != nil)
    }

    private func period(_ statement: LineageEvidence.Statement) -> SubscriptionRuns.Period {
        let transaction = statement.transaction
        return SubscriptionRuns.Period(
            transactionId: statement.order?.key.transactionId ?? transaction.transactionId,
            purchaseDate: transaction.purchaseDate, end: transaction.expiresDate ?? .distantFuture,
            hasToken: transaction.appAccountToken != nil, reason: transaction.transactionReason,
            isOwned: statement.order?.account != nil)
    }

    /// Of statements of one moment the greater token counts, so that it does not matter which came first.
    private func isNewerThanToken(_ statement: Transaction) -> Bool {
        guard let purchased = lineage.tokenPurchaseDate, let signed = lineage.tokenSignedDate else { return true }
        let age = [purchased.milliseconds, signed.milliseconds]
        guard statement.age == age else { return age.lexicographicallyPrecedes(statement.age) }
        return (statement.appAccountToken?.uuidString ?? "") > (lineage.token?.uuidString ?? "")
    }
}

extension Transaction {
    /// Whether it is a statement of a later purchase, or of one as late that was signed later; tokens break ties.
    fileprivate func isNewer(than other: Transaction) -> Bool {
        guard age == other.age else { return other.age.lexicographicallyPrecedes(age) }
        return (appAccountToken?.uuidString ?? "") > (other.appAccountToken?.uuidString ?? "")
    }

    fileprivate var age: [Int64] { [purchaseDate.milliseconds, signedDate.milliseconds] }
}
