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
        let verdict = row.forgotten.map { verdict.forgetting($0, row.account) } ?? verdict
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
            evidence = verdict.claimsAreUnproven ? .number(account) : .possession(account)
        }
        poster = account.text.isEmpty ? nil : account
    }

    /// The account that posted it; nil where Apple did.
    let poster: Account?

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
            let claimed = transactions.filter { isClaimed($0.transactionId) }
            if !claimed.isEmpty, claimed.allSatisfy(isNamed) { bare.claimsAreUnproven = false }
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

    init(transaction: Transaction, environment: StoreEnvironment, judged: Judged, isClaimed: Bool) {
        self.transaction = transaction
        self.environment = environment
        self.judged = judged
        self.isClaimed = isClaimed
    }

    /// Every statement of the verdicts in their order.
    static func all(in verdicts: [Judged]) -> [Statement] {
        verdicts.flatMap { judged -> [Statement] in
            let claims = judged.verdict.claims.map { Set($0) }
            let reversesRefunds = judged.verdict.notification?.type == "REFUND_REVERSED"
            return judged.transactions.map { transaction in
                let environment = transaction.orderEnvironment
                var transaction = reversesRefunds ? transaction.reversingRefunds : transaction
                // Production's purchases are paid for; a mark there is a mistake, and must not hold up a purchase.
                if environment != .sandbox { transaction.testPurchase = nil }
                // Whoever has come by an old key can sign whatever he claims.
                let isClaimed =
                    judged.evidence != nil && transaction.isVouchedFor && transaction.bundleId == judged.app
                    && claims?.contains(transaction.transactionId) ?? true
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

    var lineage: LineageKey {
        LineageKey(environment: environment, originalTransactionId: transaction.originalTransactionId)
    }

    var id: OrderKey { OrderKey(environment: environment, transactionId: transaction.transactionId) }

    /// The account that claims it by evidence; nil where nobody does.
    var claimant: Account? { isClaimed ? judged.evidence?.claimant : nil }
}
