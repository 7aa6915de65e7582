import Foundation
import Messages
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment
@testable import Persistence

/// Orders and lineages in memory, decided by the same rules as in the database: for tests by the thousand.
struct MemoryOrders {
    let catalogue: Catalogue
    let tokens: [AppToken: Account]
    let now: Date
    private(set) var orders: [OrderKey: StoredOrder] = [:]
    /// How often each order was granted.
    private(set) var grants: [OrderKey: Int] = [:]
    /// What all statements of an order's purchase say together.
    private var transactions: [OrderKey: Transaction] = [:]
    private var ids: [OrderKey: OrderKey] = [:]
    private var keys: [String: OrderKey] = [:]
    private(set) var lineages: [LineageKey: Lineage] = [:]
    private var claims: [LineageKey: Set<LineageClaim.Identity>] = [:]

    init(catalogue: Catalogue, tokens: [AppToken: Account], now: Date) {
        self.catalogue = catalogue
        self.tokens = tokens
        self.now = now
    }

    mutating func settle(_ verdicts: [VerdictMessage]) {
        for part in FulfillVerdicts.commits(of: verdicts, transactionsMaximum: .max) {
            settle(
                part.enumerated().map { place, verdict in
                    let row = SubmissionStore.Row(
                        app: verdict.app, account: Account(stored: verdict.account), kind: .signedTransaction,
                        isServer: false, state: .received)
                    return Judged(verdict, row: row, place: place)
                })
        }
    }

    private mutating func settle(_ verdicts: [Judged]) {
        let loaded = load(Statement.all(in: verdicts))
        let decided = DecideBatch.decide(loaded)
        for (key, ownership) in decided.ownerships {
            lineages[key] = ownership.lineage.isStored ? ownership.lineage : ownership.lineage.stored
            for claim in ownership.claims where claim.refused == nil {
                claims[key, default: []].insert(claim.identity)
            }
        }
        for move in decided.moved { orders[move.order.key]?.account = move.account }
        for transition in decided.transitions { write(transition) }
    }

    // MARK: - What LoadBatch reads

    private func load(_ statements: [Statement]) -> Loaded {
        var loaded = Loaded(catalogue: catalogue, now: now)
        loaded.tokens = tokens
        for statement in statements where statement.transaction.hasLineage(by: catalogue) {
            loaded.lineages[statement.lineage] =
                lineages[statement.lineage]
                ?? Lineage(key: statement.lineage, app: statement.transaction.bundleId, isStored: false)
        }
        let matching = PurchaseMatching(
            statements, matches: statements.enumerated().flatMap { matches(of: $0.element, at: $0.offset) },
            catalogue: catalogue)
        loaded.purchases = matching.purchases
        loaded.conflicts = matching.conflicts
        loaded.foreign = matching.foreign
        loaded.evidence = LoadBatch.evidence(of: matching.purchases, in: loaded.lineages)
        let concerned = loaded.lineages.filter { key, lineage in
            LineageConcern.needsOrders(lineage, loaded.evidence[key] ?? [], tokens: tokens)
        }
        let wanted = Set(matching.purchases.filter(\.needsOrder).compactMap(\.stored?.key))
        for (key, order) in orders
        where wanted.contains(key) || concerned[order.lineage] != nil && order.productType != .consumable {
            loaded.orders[key] = order
        }
        for key in concerned.keys {
            var history = LineageHistory()
            history.appliedClaims = claims[key] ?? []
            history.orders = loaded.orders.values.filter { $0.lineage == key && $0.productType != .consumable }
                .sorted { $0.key < $1.key }
            loaded.histories[key] = history
        }
        return loaded
    }

    private func matches(of statement: Statement, at place: Int) -> [OrderStore.Match] {
        let own = PurchaseKeys(of: statement.transaction)
        var found: [(OrderStore.Match.Path, OrderKey)] = ids[statement.id].map { [(.id, $0)] } ?? []
        found += own.key.flatMap { keys[text($0, statement)] }.map { [(.key, $0)] } ?? []
        found += own.fallback.flatMap { keys[text($0, statement)] }.map { [(.fallback, $0)] } ?? []
        return found.compactMap { path, key in
            orders[key].map { order in
                let transaction = transactions[key]
                let known = order.purchase?.statements.first { $0.transactionId == statement.transaction.transactionId }
                return OrderStore.Match(
                    place: place, path: path, order: order, lineItem: transaction?.lineItem,
                    isFamilyCopy: transaction?.isFamilyCopy ?? false, isPurchased: transaction?.isPurchased ?? false,
                    productId: transaction?.productId ?? "", isRepetition: known == statement.transaction)
            }
        }
    }

    private func text(_ key: PurchaseKey, _ statement: Statement) -> String {
        "\(statement.environment.rawValue) \(statement.transaction.bundleId) \(key.text)"
    }

    // MARK: - What WriteBatch writes

    private mutating func write(_ transition: OrderTransition) {
        let transaction = transition.transaction
        if transition.isGrant { grants[transition.key, default: 0] += 1 }
        let order = StoredOrder(
            key: transition.key, app: transaction.bundleId, lineage: transition.lineage, state: transition.state,
            reason: transition.reason, account: transition.account,
            wasGranted: transition.isGrant || transition.before?.wasGranted ?? false,
            productType: transaction.productType, purchaseDate: transaction.purchaseDate,
            expiresDate: transaction.expiresDate, token: transaction.appAccountToken,
            transactionReason: transaction.transactionReason, testPurchase: nil,
            submissionId: transition.source.submissionId, correlationId: transition.source.correlationId,
            hasKeys: transition.before?.hasKeys ?? (transition.conflict == nil), purchase: transition.purchase)
        orders[order.key] = order
        transactions[order.key] = transaction
        for statement in transition.purchase.statements { ids[statement.orderKey] = order.key }
        guard order.hasKeys, transition.conflict == nil else { return }
        let own = PurchaseKeys(of: transaction)
        for key in [own.key, own.fallback].compactMap(\.self) {
            keys["\(order.key.environment.rawValue) \(order.app) \(key.text)"] = order.key
        }
    }
}

extension Lineage {
    /// The same once its row is there.
    fileprivate var stored: Lineage {
        var stored = Lineage(key: key, app: app, owner: owner, cause: cause, sharers: sharers)
        stored.token = token
        stored.tokenPurchaseDate = tokenPurchaseDate
        stored.tokenSignedDate = tokenSignedDate
        stored.boundDate = boundDate
        stored.boundSignedDate = boundSignedDate
        stored.openSince = openSince
        stored.claimedPurchaseDate = claimedPurchaseDate
        return stored
    }
}
