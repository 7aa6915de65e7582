import Foundation
import Messages
import Persistence
import PurchaseModel

/// The lineages that a transaction of the database holds locked, and whose each of their orders is.
struct OwnerBook: Sendable {
    private(set) var lineages: [LineageKey: LineageOwner]

    init(_ lineages: [LineageKey: LineageStore.Lineage] = [:]) {
        self.lineages = lineages.mapValues(LineageOwner.init)
    }

    subscript(key: LineageKey) -> LineageOwner? {
        get { lineages[key] }
        set { lineages[key] = newValue }
    }

    /// The lineages that are somebody else's now, or somebody's for the first time.
    ///
    /// What was only now found to be a lineage, or learnt another token, is among them: orders of it may have waited for
    /// that.
    var keysWithNewOwner: [LineageKey] {
        lineages.filter { _, owner in
            owner.mayTakeAlong || !owner.before.isKnown && owner.before.account != nil
        }.map(\.key)
    }

    /// Everything that came about, by lineage in the order of the keys.
    var changes: [(owner: LineageOwner, change: LineageOwner.Change)] {
        lineages.sorted { $0.key < $1.key }.flatMap { _, owner in owner.changes.map { (owner, $0) } }
    }

    /// The lineages of which an owner, a sharer or the token changed, with the correlation id of what led to it.
    var correlations: [LineageKey: String] { lineages.compactMapValues(\.correlationId) }

    /// The parked orders that went to another account: whoever waits for them hears of it.
    func waitedFor(in held: [ParkedOrderStore.Held]) -> [OrderKey] {
        held.filter { order in
            order.standing.state == .parked && order.standing.account != nil
                && lineages[order.lineage]?.hasNewOwner ?? false
        }.map(\.key)
    }

    /// The lineage of a transaction; nil where it has none, as consumables have.
    ///
    /// Apple's ids are not shared by apps; whatever says otherwise is of no lineage.
    func lineage(of transaction: PurchasedTransaction, in environment: StoreEnvironment) -> LineageOwner? {
        let key = LineageKey(environment: environment, originalTransactionId: transaction.originalTransactionId)
        guard let owner = lineages[key], owner.lineage.app == transaction.bundleId,
            transaction.productType != .consumable
        else { return nil }
        return owner
    }

    /// What becomes of a transaction.
    ///
    /// - Parameters:
    ///   - holder: whose its order is already; nil where it is nobody's.
    ///   - possessor: the account that claims it; counts where it has no lineage and no holder.
    ///   - tokens: whose the registered tokens are.
    func decision(
        _ transaction: PurchasedTransaction, in environment: StoreEnvironment, holder: OrderHolder? = nil,
        possessor: String?, tokens: [AppToken: String], by catalogue: Catalogue
    ) -> OrderDecision {
        let lineage = lineage(of: transaction, in: environment)
        let owner: OrderOwner
        if let holder, holder.token == transaction.appAccountToken {
            // Nothing new is said of whose it is. So an operator's word stays, though the token be nobody's.
            owner = .account(lineage?.lineage.account ?? holder.account)
        } else {
            owner =
                lineage?.owner(of: transaction)
                ?? OrderOwner(
                    token: TokenOwner(transaction, owners: tokens), possessor: holder?.account ?? possessor)
        }
        return OrderDecision.decide(
            transaction, owner: owner, sharers: lineage?.lineage.sharers ?? [],
            product: catalogue.product(app: transaction.bundleId, id: transaction.productId),
            catalogueVersion: catalogue.version)
    }
}

/// Whose an order is that was not granted yet.
struct OrderHolder: Sendable {
    let account: String
    /// The token that its transaction had when it came to the account.
    let token: UUID?
}

extension TokenOwner {
    /// Whose a transaction is by its token, from the tokens that are registered.
    init(_ transaction: PurchasedTransaction, owners: [AppToken: String]) {
        guard let token = transaction.appAccountToken else {
            self = .noToken
            return
        }
        if let account = owners[AppToken(app: transaction.bundleId, token: token)] {
            self = .account(account)
        } else {
            self = .unknown
        }
    }
}
