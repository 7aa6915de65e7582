import Foundation
import Messages
import Persistence
import PurchaseModel

/// Whose one lineage is, and how that changes: the rules of binding and of restoring, without I/O.
///
/// - A token of Apple's data binds it to the token's account. A lineage has the token of its newest purchase; the same
///   token again says nothing new, so that what was moved on purpose stays moved. Another token of a newer purchase, or
///   of the same one signed later, moves it.
/// - Possession binds it while it is nobody's. When it is somebody's, the product's restore policy decides.
/// - An operator's word binds and moves.
struct LineageOwner: Sendable {
    /// A binding that came about.
    struct Change: Sendable {
        let binding: BindingChange
        let submissionId: String?
        let auditId: Int64?
        let correlationId: String
        /// The transaction that led to it.
        let transaction: PurchasedTransaction
    }

    /// As it was when it was locked.
    let before: LineageStore.Lineage
    private(set) var lineage: LineageStore.Lineage
    /// What is known of it from before; only where several accounts may claim it.
    var record = LineageClaimStore.Record()
    private(set) var changes: [Change] = []
    private(set) var claims: [LineageClaimStore.Claim] = []
    /// The correlation id of what told another token; nil where nothing did.
    private var learntFrom: String?
    /// The registered tokens of its transactions that it heard of now.
    ///
    /// What it did not hear of is a doubt still, though somebody else's purchase may tell whose the token is: else its
    /// order would be decided, and never be taken up for the token.
    private var heardTokens: Set<UUID> = []

    init(_ lineage: LineageStore.Lineage) {
        before = lineage
        self.lineage = lineage
    }

    /// Whether its orders are others' now, or somebody's for the first time.
    var hasNewOwner: Bool { !lineage.account.isSameAccount(as: before.account) }

    /// Whether orders may be its account's now that were not: it has a new owner, or learnt another token.
    var mayTakeAlong: Bool { hasNewOwner || lineage.token != before.token }

    /// The correlation id of what changed its owner, a sharer or its token last; nil where nothing did.
    var correlationId: String? { changes.last?.correlationId ?? learntFrom }

    /// The accounts that a limit keeps from it.
    var limitedAccounts: Set<String> {
        Set(claims.filter { $0.refused == .restoreLimitReached }.map(\.account))
    }

    /// Takes in what a verdict or an operator says.
    ///
    /// - Parameters:
    ///   - tokens: whose the registered tokens are.
    ///   - rule: the restore policy of a transaction's product.
    ///   - now: when limits are counted.
    mutating func hear(
        _ word: LineageWord, tokens: [AppToken: String], now: Date, rule: (PurchasedTransaction) -> RestoreRule
    ) {
        let named = word.statements.filter { $0.appToken.map { tokens[$0] != nil } ?? false }
        heardTokens.formUnion(named.compactMap(\.appAccountToken))
        if let newest = named.max(by: { $1.isNewer(than: $0) }), let token = newest.appToken,
            let account = tokens[token]
        {
            hear(token.token, of: account, in: newest, word)
        }
        switch word.claim {
        case .possession(let account, let submissionId, let claimed):
            // No possession gets past a token of somebody who is not known yet.
            let free = claimed.filter { !record.doubted.contains($0.transactionId) && !isDoubtful($0) }
            guard let newest = free.max(by: { $1.isNewer(than: $0) }) else { return }
            claim(newest, by: account, submissionId: submissionId, word, now: now, rule: rule(newest))
        case .operator(let account, let auditId):
            give(word.statements[0], to: account, auditId: auditId, word)
        case nil: break
        }
    }

    /// Whose a transaction of the lineage is.
    func owner(of transaction: PurchasedTransaction) -> OrderOwner {
        if isDoubtful(transaction) { return .tokenUnknown }
        return lineage.account.map(OrderOwner.account) ?? .unclaimed
    }

    /// Whether an order goes where its lineage goes: all that is somebody's, and what Apple took back while it was
    /// nobody's, but for what has a token that is not the lineage's.
    func takesAlong(_ order: ParkedOrderStore.Held) -> Bool {
        guard order.standing.account == nil else { return true }
        return order.standing.state == .revoked && (order.token == nil || order.token == lineage.token)
    }

    private func isDoubtful(_ transaction: PurchasedTransaction) -> Bool {
        guard let token = transaction.appAccountToken else { return false }
        return token != lineage.token && !heardTokens.contains(token)
    }

    private mutating func hear(
        _ token: UUID, of account: String, in statement: PurchasedTransaction, _ word: LineageWord
    ) {
        if lineage.account == nil {
            remember(token, statement, word)
            bind(to: account, .token, statement, word)
            return
        }
        guard isNewer(statement) else { return }
        let isFirst = lineage.token == nil
        let isSame = lineage.token == token
        remember(token, statement, word)
        // The first token of a lineage that was moved on purpose is taken for the one it always had.
        let wasMoved = lineage.cause == .transfer || lineage.cause == .operator
        guard !isSame, !(isFirst && wasMoved), !lineage.account.isSameAccount(as: account) else { return }
        bind(to: account, .token, statement, word)
    }

    private mutating func claim(
        _ transaction: PurchasedTransaction, by account: String, submissionId: String, _ word: LineageWord, now: Date,
        rule: RestoreRule
    ) {
        guard !record.heard.contains(submissionId) else { return }
        var refused: ReasonCode?
        if lineage.account == nil {
            bind(to: account, .possession, transaction, word)
        } else if !lineage.account.isSameAccount(as: account), !lineage.sharers.contains(account) {
            refused = restore(transaction, for: account, word, now: now, rule: rule)
        }
        if refused == nil { record.heard.insert(submissionId) }
        claims.append(
            LineageClaimStore.Claim(
                lineage: lineage.key, submissionId: submissionId, account: account, refused: refused))
    }

    /// - Returns: why the account does not get it.
    private mutating func restore(
        _ transaction: PurchasedTransaction, for account: String, _ word: LineageWord, now: Date, rule: RestoreRule
    ) -> ReasonCode? {
        // What Apple took back is no proof that one has it.
        guard transaction.revocationDate == nil else { return .belongsToAnotherAccount }
        switch rule.policy {
        case .keep: return .belongsToAnotherAccount
        case .transferIfInactive where record.isInUse: return .belongsToAnotherAccount
        case .transfer, .transferIfInactive:
            let recent = record.transfers.count { rule.period.end(after: $0) > now }
            guard recent < rule.transfersMaximum else { return .restoreLimitReached }
            record.transfers.append(now)
            bind(to: account, .transfer, transaction, word, policy: rule.policy)
        case .share:
            guard lineage.sharers.count + 1 < rule.accountsMaximum else { return .restoreLimitReached }
            lineage.sharers.insert(account)
            note(BindingChange(from: lineage.account, to: account, cause: .share, policy: .share), transaction, word)
        }
        return nil
    }

    private mutating func give(
        _ transaction: PurchasedTransaction, to account: String, auditId: Int64, _ word: LineageWord
    ) {
        // Its token means the account from now on, in this lineage, whoever it may be registered for.
        if let token = transaction.appAccountToken, lineage.account == nil || isNewer(transaction) {
            remember(token, transaction, word)
        }
        guard !lineage.account.isSameAccount(as: account) else { return }
        bind(to: account, .operator, transaction, word, auditId: auditId)
    }

    private mutating func bind(
        to account: String, _ cause: BindingChange.Cause, _ transaction: PurchasedTransaction, _ word: LineageWord,
        policy: RestorePolicy? = nil, auditId: Int64? = nil
    ) {
        let binding = BindingChange(from: lineage.account, to: account, cause: cause, policy: policy)
        lineage.account = account
        lineage.cause = cause
        lineage.sharers.remove(account)
        note(binding, transaction, word, auditId: auditId)
    }

    private mutating func note(
        _ binding: BindingChange, _ transaction: PurchasedTransaction, _ word: LineageWord, auditId: Int64? = nil
    ) {
        changes.append(
            Change(
                binding: binding, submissionId: word.submissionId, auditId: auditId,
                correlationId: word.correlationId, transaction: transaction))
    }

    private mutating func remember(_ token: UUID, _ statement: PurchasedTransaction, _ word: LineageWord) {
        if lineage.token != token { learntFrom = word.correlationId }
        lineage.token = token
        lineage.tokenPurchaseDate = statement.purchaseDate
        lineage.tokenSignedDate = statement.signedDate
    }

    /// Of statements of one moment the greater token counts, so that it does not matter which came first.
    private func isNewer(_ statement: PurchasedTransaction) -> Bool {
        guard let purchased = lineage.tokenPurchaseDate, let signed = lineage.tokenSignedDate else { return true }
        let age = [purchased.milliseconds, signed.milliseconds]
        guard statement.age == age else { return statement.age > age }
        return (statement.appAccountToken?.uuidString ?? "") > (lineage.token?.uuidString ?? "")
    }
}

extension PurchasedTransaction {
    /// Its token within its app.
    fileprivate var appToken: AppToken? { appAccountToken.map { AppToken(app: bundleId, token: $0) } }

    /// Whether it is a statement of a later purchase, or of one as late that was signed later; tokens break ties.
    fileprivate func isNewer(than other: PurchasedTransaction) -> Bool {
        guard age == other.age else { return age > other.age }
        return (appAccountToken?.uuidString ?? "") > (other.appAccountToken?.uuidString ?? "")
    }

    fileprivate var age: [Int64] { [purchaseDate.milliseconds, signedDate.milliseconds] }
}

extension Date {
    /// Since 1970; the database keeps instants to the microsecond, and Apple signs them to the millisecond.
    fileprivate var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1_000).rounded()) }
}

extension [Int64] {
    fileprivate static func > (left: [Int64], right: [Int64]) -> Bool { right.lexicographicallyPrecedes(left) }
}
