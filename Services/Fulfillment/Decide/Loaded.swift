import Foundation
import Messages
import Persistence
import PurchaseModel

/// All that decides about a batch: what it says, and what is stored, locked.
struct Loaded: Sendable {
    var purchases: [PurchaseStatements] = []
    var conflicts: [OrderStore.NotedConflict] = []
    /// The orders of transaction ids whose statements say nothing about them.
    var foreign: [OrderKey: StoredOrder] = [:]
    /// The lineages that are concerned, locked.
    var lineages: [LineageKey: Lineage] = [:]
    /// The lineages of original ids that are not their own, by what the batch names.
    var members: [LineageKey: LineageStore.Member] = [:]
    /// Lineages that were made one in this transaction of the database, with what told of it.
    var joins: [LineageJoins.Made] = []
    /// The transaction ids of what was held as long as two lineages were two: whoever waits for them hears of their order.
    var released: Set<OrderKey> = []
    /// What is known of those that several accounts may claim, or of which orders wait; with their orders.
    var histories: [LineageKey: LineageHistory] = [:]
    /// What is brought about each lineage, in the order it came.
    var evidence: [LineageKey: [LineageEvidence]] = [:]
    /// The orders that are locked.
    var orders: [OrderKey: StoredOrder] = [:]
    /// Whose the registered tokens are.
    var tokens: [AppToken: Account] = [:]
    /// Until when older systems granted what was bought.
    var cutOvers = CutOvers()
    /// What operators claim, by order.
    var operatorClaims: [OrderKey: OperatorClaimStore.Due] = [:]
    /// Candidates that turn out to be another order's purchase, now that it is known what they are.
    var contradicted: [OrderKey: PurchaseConflict] = [:]
    /// Orders to be decided anew although nothing is said of them: their doubt may be over.
    var candidates: Set<OrderKey> = []
    /// The submissions in which tokens stood that say nothing any more, since their account was forgotten.
    var voided: Set<String> = []
    /// The JSON of what the batch says.
    var bodies = TransactionBodies.none
    let catalogue: Catalogue
    /// When limits are counted, and entitlements are in force.
    let now: Date
}

/// What is to be written.
struct Decided: Sendable {
    var ownerships: [LineageKey: Ownership] = [:]
    /// What becomes of orders, those of the batch first.
    var transitions: [OrderTransition] = []
    /// Orders that go to another account with their lineage.
    var moved: [Move] = []
    /// How the orders of the batch stand afterwards, by each transaction id that the batch names.
    var summaries: [OrderKey: OrderSummary] = [:]
    /// What contradicts orders by what was decided.
    var conflicts: [OrderStore.NotedConflict] = []
    /// Orders that others may wait for: parked before, and decided anew.
    var changed: [OrderKey] = []
    /// The orders of the batch that were there before.
    var known: Set<OrderKey> = []

    struct Move: Sendable {
        /// As it was.
        let order: StoredOrder
        let account: Account
    }

    /// Everything that came about in lineages, in the order of their keys.
    var bindings: [(ownership: Ownership, change: Ownership.Change)] {
        ownerships.sorted { $0.key < $1.key }.flatMap { _, ownership in ownership.changes.map { (ownership, $0) } }
    }

    /// The lineages of which an order, the owner, a sharer or the token changed, with the correlation id of what led to it.
    var lineages: [LineageKey: String] {
        // A period may become its owner's without a new owner: one that waited for whoever paid it.
        var lineages = Dictionary(moved.map { ($0.order.lineage, $0.order.correlationId) }) { first, _ in first }
        lineages.merge(ownerships.compactMapValues(\.correlationId)) { $1 }
        for transition in transitions where ownerships[transition.lineage] != nil && transition.changesLineage {
            lineages[transition.lineage] = transition.correlationId
        }
        return lineages
    }

    /// The lineages of which nothing is told: all that changed of them is what an older system granted.
    var silentLineages: Set<LineageKey> {
        let changes = transitions.filter(\.changesLineage)
        return Set(changes.filter(\.isSilent).map(\.lineage)).subtracting(
            changes.filter { !$0.isSilent }.map(\.lineage))
    }

    /// The transaction ids that were told for the first time, with their apps.
    var appeared: [(app: String, transactionId: String)] {
        transitions.flatMap { transition in
            let known = Set(transition.before?.purchase?.statements.map(\.transactionId) ?? [])
            return transition.purchase.statements.filter { !known.contains($0.transactionId) }
                .map { (transition.transaction.bundleId, $0.transactionId) }
        }
    }

    var grantedCount: Int { transitions.count { $0.isGrant && !$0.isGrantedElsewhere } }
    var grantedElsewhereCount: Int { transitions.count { $0.isGrant && $0.isGrantedElsewhere } }
    var claimedCount: Int {
        transitions.count { $0.isGrant && !$0.isGrantedElsewhere && $0.before?.isUnclaimed ?? false }
    }
}

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
    var bringsNothing: Bool {
        isRepetition && stored.map { $0.wasGranted || $0.account != nil } ?? false
    }

    /// Whether its order is locked: a parked one may be granted meanwhile, and whoever grants it tells those alone who wait for
    /// it already.
    var needsOrder: Bool { !bringsNothing || stored?.state == .parked }
}
