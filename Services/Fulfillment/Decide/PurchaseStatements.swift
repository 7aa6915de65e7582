import Messages
import Persistence
import PurchaseModel

/// What the verdicts of one batch say of one purchase.
struct PurchaseStatements: Sendable {
    /// Of the same app, in the order they came; never empty.
    private(set) var statements: [Statement]
    /// The order that they belong to, seen without a lock until it is locked; nil for a new one.
    var stored: StoredOrder?
    /// Whether each of them came exactly so before.
    private(set) var isRepetition: Bool
    /// What they contradict; such a purchase is recorded and not granted.
    var conflict: PurchaseConflict?

    init(_ statement: Statement, stored: StoredOrder?, isRepetition: Bool, conflict: PurchaseConflict? = nil) {
        statements = [statement]
        self.stored = stored
        self.isRepetition = isRepetition
        self.conflict = conflict
    }

    mutating func add(_ statement: Statement, isRepetition: Bool) {
        statements.append(statement)
        self.isRepetition = self.isRepetition && isRepetition
    }

    /// The first that somebody claims by evidence; else the first that is claimed, else the first.
    var lead: Statement {
        statements.first { $0.claimant != nil } ?? statements.first { $0.isClaimed } ?? statements[0]
    }

    var environment: StoreEnvironment { statements[0].environment }

    /// The order's own id: the stored one's, else the first transaction id that is told.
    var key: OrderKey { stored?.key ?? statements[0].id }

    /// The lineage that it belongs to.
    var lineage: LineageKey { stored?.lineage ?? statements[0].lineage }

    /// What the statements say together, with what is stored where it was read.
    var purchase: Purchase {
        let transactions = statements.map(\.transaction)
        guard let known = stored?.purchase else {
            return Purchase(transactions[0]).adding(Array(transactions.dropFirst()))
        }
        return known.adding(transactions)
    }

    /// Whether it is known of which environment a statement is: it says so, or what it tells is known of a purchase that
    /// was made at the same moment. (A production's and a sandbox's purchase may have one id.)
    func knowsEnvironment(of statement: Statement) -> Bool {
        let transaction = statement.transaction
        guard transaction.environment == nil else { return true }
        if let stored, stored.reason != .environmentMissing, stored.lineage == statement.lineage,
            stored.purchaseDate.milliseconds == transaction.purchaseDate.milliseconds
        {
            return true
        }
        return statements.contains { other in
            other.transaction.environment != nil && other.lineage == statement.lineage
                && other.transaction.purchaseDate.milliseconds == transaction.purchaseDate.milliseconds
        }
    }

    /// Whether it is a period of a subscription, by any of its statements.
    var hasPeriod: Bool { statements.contains { $0.transaction.isAutoRenewable } }

    /// Whether nothing can follow but for whose its lineage is: it came so before, and has an account.
    var isSettled: Bool {
        isRepetition && stored.map { $0.wasGranted || $0.account != nil } ?? false
    }
}
