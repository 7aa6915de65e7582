import Foundation
import Messages
import Persistence
import PurchaseModel

/// A verdict with the row of its submission: who posted it, and for which app, says the row and not the message.
///
/// It is a class because it is large, never changes, and every statement has it.
final class Judged: Sendable {
    let verdict: VerdictMessage
    /// The bundle id of the app that it was posted for.
    let app: String
    /// Why the poster says that what is claimed is theirs; nil where Apple posted it, or nothing is claimed.
    let evidence: Evidence?
    /// Its place in the batch.
    let place: Int

    init(_ verdict: VerdictMessage, row: SubmissionStore.Row, place: Int) {
        var verdict = row.forgotten.map { verdict.forgetting($0, row.account) } ?? verdict
        unknownFields = verdict.takeUnknownFields()
        self.verdict = verdict
        app = row.app
        self.place = place
        parkedParts = row.parkedParts
        let account = row.forgotten?.pseudonym ?? row.account
        if account.text.isEmpty || verdict.notification != nil {
            evidence = nil
        } else if row.isImported {
            evidence = .imported(account)
        } else if row.isServer {
            evidence = .server(account)
        } else {
            evidence = verdict.claims.areUnproven ? .number(account) : .possession(account)
        }
        poster = account.text.isEmpty ? nil : account
    }

    /// The account that posted it; nil where Apple did.
    let poster: Account?
    /// Names of fields that the worker does not know, each once.
    let unknownFields: [String]

    /// What earlier parts of the same receipt left held, as it stood then.
    let parkedParts: [TransactionOutcome]

    /// Everything that Apple signed in it; empty where it is not genuine.
    var transactions: [Transaction] {
        guard case .genuine(let transactions) = verdict.verdict else { return [] }
        return transactions
    }
}

extension VerdictMessage {
    /// The verdict on what somebody posted who was to be forgotten afterwards: by the pseudonym, without the tokens that the
    /// account had, and without its name where the caller's correlation id has it.
    ///
    /// What has such a token is the poster's by Apple's word, and so claimed with proof, though only a number was posted.
    fileprivate func forgetting(_ forgotten: ForgetRequestStore.Forgotten, _ account: Account) -> VerdictMessage {
        var bare = self
        bare.account = forgotten.pseudonym.text
        bare.correlationId = ForgettingStore.bare(correlationId, of: account)
        if case .genuine(let transactions) = verdict {
            let isNamed = { (transaction: Transaction) in
                transaction.appAccountToken.map { forgotten.tokens.contains($0) } ?? false
                    && transaction.purchaseDate <= forgotten.requestedAt
            }
            bare.verdict = .genuine(transactions.map { isNamed($0) ? $0.withoutToken : $0 })
            let claimed = transactions.filter { bare.claims.contains($0.transactionId) }
            if !claimed.isEmpty, claimed.allSatisfy(isNamed) { bare.claims.areUnproven = false }
        }
        for place in bare.renewals.indices {
            guard let token = bare.renewals[place].appAccountToken, forgotten.tokens.contains(token) else { continue }
            bare.renewals[place].appAccountToken = nil
            bare.renewals[place].evidence = nil
        }
        return bare
    }
}

/// What one verdict says of one transaction; a class for the same reason.
final class Statement: Sendable {
    let transaction: Transaction
    let environment: StoreEnvironment
    let judged: Judged
    /// Whether it is among those that the poster claims.
    let isClaimed: Bool

    /// Apple's servers agree only in time; a day is more than enough for it.
    static let deviceDelayDefault: TimeInterval = 86_400

    init(transaction: Transaction, environment: StoreEnvironment, judged: Judged, isClaimed: Bool) {
        self.transaction = transaction
        self.environment = environment
        self.judged = judged
        self.isClaimed = isClaimed
    }

    /// Every statement of the verdicts in their order.
    ///
    /// - Parameters:
    ///   - canBeAsked: whether Apple can be asked about the transactions of an app: then its answer alone counts.
    ///   - deviceDelay: how long after a revocation was told a device's word that there is none must be signed, in seconds,
    ///     where Apple cannot be asked.
    static func all(
        in verdicts: [Judged], canBeAsked: (String) -> Bool = { _ in false },
        deviceDelay: TimeInterval = deviceDelayDefault
    ) -> [Statement] {
        verdicts.flatMap { judged -> [Statement] in
            let reversesRefunds = judged.verdict.notification?.type == "REFUND_REVERSED"
            return judged.transactions.map { transaction in
                let environment = transaction.orderEnvironment
                var transaction = reversesRefunds ? transaction.reversingRefunds : transaction
                // What no account posted, Apple did: a notification, or what the sweep found.
                if judged.poster == nil {
                    transaction = transaction.fromServer
                } else if !canBeAsked(transaction.bundleId) {
                    transaction = transaction.countingWithoutRevocation(after: deviceDelay)
                }
                // Production's purchases are paid for; a mark there is a mistake, and must not hold up a purchase.
                if environment != .sandbox { transaction.testPurchase = nil }
                // Whoever has come by an old key can sign whatever he claims.
                let isClaimed =
                    judged.evidence != nil && transaction.isVouchedFor && transaction.bundleId == judged.app
                    && judged.verdict.claims.contains(transaction.transactionId)
                return Statement(
                    transaction: transaction, environment: environment, judged: judged, isClaimed: isClaimed)
            }
        }
    }

    /// The same without its token.
    var withoutToken: Statement {
        Statement(
            transaction: transaction.withoutToken, environment: environment, judged: judged, isClaimed: isClaimed)
    }

    /// The same as a family member's copy.
    var asFamilyCopy: Statement {
        var transaction = transaction
        transaction.ownership = Vocabulary.Ownership.familyShared
        return Statement(transaction: transaction, environment: environment, judged: judged, isClaimed: isClaimed)
    }

    /// The same under the lineage's own original id.
    func under(_ lineage: LineageKey) -> Statement {
        var transaction = transaction
        transaction.originalTransactionId = lineage.originalTransactionId
        return Statement(transaction: transaction, environment: environment, judged: judged, isClaimed: isClaimed)
    }

    /// The same where its original id is another lineage's by now.
    func resolved(by members: [LineageKey: LineageStore.Member]) -> Statement {
        guard let member = members[lineage], member.app == transaction.bundleId else { return self }
        return under(member.lineage)
    }

    /// The lineage whose place its own took; nil where it names none.
    var previous: LineageKey? {
        guard let previous = transaction.previousOriginalTransactionId, !previous.isEmpty else { return nil }
        return LineageKey(environment: environment, originalTransactionId: previous)
    }

    /// Whether it can say that its lineage has another original id: what is bought anew each time has one for each purchase,
    /// and what nobody vouches for, or names no environment, says nothing of a lineage.
    func mayJoin(by catalogue: Catalogue) -> Bool {
        let product = catalogue.product(app: transaction.bundleId, id: transaction.productId)
        let type = transaction.productType == .unstated ? product?.type ?? .unstated : transaction.productType
        return transaction.isVouchedFor && transaction.environment != nil
            && (transaction.isAutoRenewable || type == .autoRenewable || type == .nonConsumable)
    }

    var lineage: LineageKey {
        LineageKey(environment: environment, originalTransactionId: transaction.originalTransactionId)
    }

    var id: OrderKey { OrderKey(environment: environment, transactionId: transaction.transactionId) }

    /// The account that claims it by evidence; nil where nobody does.
    var claimant: Account? { isClaimed ? judged.evidence?.claimant : nil }
}

extension VerdictMessage {
    /// Takes out the names of fields that are not known, each once: they are noted, and are no part of a purchase.
    fileprivate mutating func takeUnknownFields() -> [String] {
        var names: Set<String> = []
        if case .genuine(var transactions) = verdict, transactions.contains(where: { $0.unknownFields != nil }) {
            for place in transactions.indices {
                names.formUnion(transactions[place].unknownFields ?? [])
                transactions[place].unknownFields = nil
            }
            verdict = .genuine(transactions)
        }
        for place in renewals.indices {
            names.formUnion(renewals[place].unknownFields ?? [])
            renewals[place].unknownFields = nil
        }
        names.formUnion(notification?.unknownFields ?? [])
        notification?.unknownFields = nil
        return names.sorted()
    }
}
