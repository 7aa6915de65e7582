import Foundation
import Messages
import Persistence
import PurchaseModel

/// What follows from a batch and from what is stored: a pure function, tested by the thousand without a database.
enum DecideBatch {
    static func decide(_ loaded: Loaded) -> Decided {
        var decided = Decided()
        decided.ownerships = ownerships(loaded)
        let orders = move(loaded, &decided)
        for purchase in loaded.purchases {
            guard let transition = transition(of: purchase, orders, loaded, decided.ownerships) else { continue }
            decided.transitions.append(transition)
        }
        decided.conflicts = typeConflicts(loaded, decided)
        let own = Set(decided.transitions.map(\.key)).union(loaded.purchases.map(\.key))
        for order in orders.values.sorted(by: { $0.key < $1.key }) where !own.contains(order.key) {
            guard let transition = release(order, loaded, decided.ownerships) else { continue }
            decided.transitions.append(transition)
        }
        decided.known = Set(loaded.purchases.compactMap(\.stored?.key))
        decided.changed += decided.transitions.filter { $0.before?.state == .parked && $0.isDecidedAnew }.map(\.key)
        decided.summaries = summaries(loaded, decided, orders)
        decided.changed += Set(loaded.released.compactMap { decided.summaries[$0]?.key })
            .subtracting(decided.changed).sorted()
        return decided
    }

    // MARK: - Lineages

    private static func ownerships(_ loaded: Loaded) -> [LineageKey: Ownership] {
        let catalogue = loaded.catalogue
        let (periods, freed) = (periods(loaded), freed(loaded))
        return Dictionary(
            uniqueKeysWithValues: loaded.lineages.map { key, lineage in
                var ownership = Ownership(lineage) { transaction in
                    catalogue.product(app: transaction.bundleId, id: transaction.productId)?.restore ?? .keep
                }
                ownership.history = loaded.histories[key] ?? LineageHistory()
                let evidences = (loaded.evidence[key] ?? []).filter { evidence in
                    evidence.statements.allSatisfy { $0.transaction.bundleId == lineage.app }
                }
                ownership.note(periods: periods[key] ?? [])
                for evidence in evidences {
                    ownership.apply(evidence, tokens: loaded.tokens, now: loaded.now)
                    // The orders of the batch are not written yet; who claims the lineage next must reckon with them.
                    if evidence.statements.contains(where: { isInUse($0, of: ownership, loaded) }) {
                        ownership.history.isInUse = true
                    }
                }
                for evidence in freed[key] ?? [] where ownership.owner(of: evidence.statements[0]) != .tokenUnknown {
                    ownership.apply(evidence, tokens: loaded.tokens, now: loaded.now)
                }
                ownership.noteWaiting()
                return (key, ownership)
            })
    }

    /// What orders bring that wait, or were refunded while they were nobody's, and of which the batch says nothing: one with the
    /// token of another period's statement goes by that, and says as much about its lineage.
    private static func freed(_ loaded: Loaded) -> [LineageKey: [LineageEvidence]] {
        let said = Set(
            loaded.evidence.values.joined().flatMap(\.statements).compactMap { $0.order?.key })
        let orders = loaded.orders.values.filter { order in
            (order.state == .parked || order.isNobodysRefund) && order.productType != .consumable
                && !said.contains(order.key)
        }
        let freed = orders.sorted { $0.key < $1.key }.compactMap { order -> (LineageKey, LineageEvidence)? in
            guard let transaction = order.purchase?.transaction, transaction.environment != nil,
                transaction.isVouchedFor, let token = transaction.appToken, loaded.tokens[token] != nil,
                loaded.lineages[order.lineage]?.app == order.app
            else { return nil }
            let statement = LineageEvidence.Statement(transaction: transaction, order: order, isClaimed: false)
            return (
                order.lineage,
                LineageEvidence(
                    statements: [statement], evidence: nil, submissionId: nil, correlationId: order.correlationId)
            )
        }
        return Dictionary(grouping: freed, by: \.0).mapValues { $0.map(\.1) }
    }

    /// The periods of the batch with all that is known of each: not as single statements have them, or it would matter
    /// which came together.
    private static func periods(_ loaded: Loaded) -> [LineageKey: [LineageEvidence.Statement]] {
        var periods: [LineageKey: [LineageEvidence.Statement]] = [:]
        for var purchase in loaded.purchases
        where purchase.conflict == nil && purchase.hasPeriod && purchase.purchase.transaction.isVouchedFor {
            if let stored = purchase.stored {
                // What came exactly so before is known by what is stored.
                guard let locked = loaded.orders[stored.key], locked.purchase != nil else { continue }
                purchase.stored = locked
            }
            periods[purchase.lineage, default: []].append(
                LineageEvidence.Statement(
                    transaction: purchase.purchase.transaction, order: purchase.stored, isClaimed: false))
        }
        return periods
    }

    private static func isInUse(
        _ statement: LineageEvidence.Statement, of ownership: Ownership, _ loaded: Loaded
    ) -> Bool {
        guard let account = ownership.owner(of: statement).account else { return false }
        let transaction = statement.transaction
        let decision = OrderDecision.decide(
            transaction, owner: .account(account),
            product: loaded.catalogue.product(app: transaction.bundleId, id: transaction.productId))
        return !decision.entitlements.isEmpty && decision.entitledUntil.map { $0 > loaded.now } ?? true
    }

    /// Moves what hangs on lineages with a new owner.
    ///
    /// - Returns: the locked orders as they stand then.
    private static func move(_ loaded: Loaded, _ decided: inout Decided) -> [OrderKey: StoredOrder] {
        var orders = loaded.orders
        for order in loaded.orders.values.sorted(by: { $0.key < $1.key }) where order.productType != .consumable {
            guard let ownership = decided.ownerships[order.lineage], ownership.lineage.app == order.app,
                ownership.mayTakeOrders, let account = ownership.lineage.owner, ownership.takes(order),
                order.account != account
            else { continue }
            orders[order.key]?.account = account
            decided.moved.append(Decided.Move(order: order, account: account))
            if order.state == .parked, ownership.hasNewOwner { decided.changed.append(order.key) }
        }
        return orders
    }

    // MARK: - Orders

    private static func transition(
        of purchase: PurchaseStatements, _ orders: [OrderKey: StoredOrder], _ loaded: Loaded,
        _ ownerships: [LineageKey: Ownership]
    ) -> OrderTransition? {
        var purchase = purchase
        if let stored = purchase.stored {
            // What came exactly so before is not locked, unless it is parked or its lineage moves.
            guard let locked = orders[stored.key], locked.purchase != nil,
                !purchase.bringsNothing || locked.isUnclaimed
            else { return nil }
            purchase.stored = locked
        }
        let lead = purchase.lead
        return OrderRules.transition(
            of: purchase.stored, key: purchase.key, purchase: purchase.purchase, conflict: purchase.conflict,
            submissionId: lead.judged.verdict.submissionId, correlationId: lead.judged.verdict.correlationId
        ) { transaction in
            terms(
                transaction, stored: purchase.stored, claimant: lead.claimant, conflict: purchase.conflict,
                environment: purchase.environment, loaded, ownerships)
        }
    }

    /// The statements that say another type of product than what the order stands by.
    private static func typeConflicts(_ loaded: Loaded, _ decided: Decided) -> [OrderStore.NotedConflict] {
        let transitions = Dictionary(decided.transitions.map { ($0.key, $0) }) { first, _ in first }
        return loaded.purchases.flatMap { purchase -> [OrderStore.NotedConflict] in
            guard let transaction = transitions[purchase.key]?.transaction else { return [] }
            return purchase.statements.filter { statement in
                let type = statement.transaction.productType
                guard type != .unstated, transaction.productType != .unstated else { return false }
                return type != transaction.productType || transaction.contradictingTypes != nil
            }.map {
                OrderStore.NotedConflict(
                    environment: $0.environment, transactionId: $0.transaction.transactionId,
                    app: $0.transaction.bundleId, orderId: purchase.key.transactionId, cause: .typeDiffers,
                    submissionId: $0.judged.verdict.submissionId)
            }
        }
    }

    /// Decides an order anew of which the batch says nothing: it waited for its lineage to have an owner, for a token, for
    /// the catalogue, or for an operator.
    private static func release(
        _ order: StoredOrder, _ loaded: Loaded, _ ownerships: [LineageKey: Ownership]
    ) -> OrderTransition? {
        let isCandidate = loaded.candidates.contains(order.key)
        guard order.state == .parked || isCandidate && order.isNobodysRefund, let purchase = order.purchase,
            isCandidate || order.isUnclaimed,
            isCandidate || ownerships[order.lineage]?.mayTakeOrders ?? false
                || ownerships[order.lineage].map({ !$0.before.isStored }) ?? false
        else { return nil }
        let claim = order.isUnclaimed ? loaded.operatorClaims[order.key] : nil
        let conflict = loaded.contradicted[order.key]
        let transition = OrderRules.transition(
            of: order, key: order.key, purchase: purchase, conflict: conflict, submissionId: order.submissionId,
            correlationId: order.correlationId
        ) { transaction in
            terms(
                transaction, stored: order, claimant: nil, conflict: conflict, environment: order.key.environment,
                operatorClaim: claim, loaded, ownerships)
        }
        // What is decided as it was is not told again, at every look.
        return transition?.isDecidedAnew ?? false ? transition : nil
    }

    /// What decides about a transaction beside what Apple says of it.
    private static func terms(
        _ transaction: Transaction, stored: StoredOrder?, claimant: Account?, conflict: PurchaseConflict?,
        environment: StoreEnvironment, operatorClaim: OperatorClaimStore.Due? = nil, _ loaded: Loaded,
        _ ownerships: [LineageKey: Ownership]
    ) -> OrderRules.Terms {
        let key = LineageKey(environment: environment, originalTransactionId: transaction.originalTransactionId)
        // Apple's ids are not shared by apps; whatever says otherwise is of no lineage.
        let ownership = ownerships[key].flatMap {
            $0.lineage.app == transaction.bundleId && transaction.productType != .consumable && conflict == nil
                ? $0 : nil
        }
        let product = loaded.catalogue.product(app: transaction.bundleId, id: transaction.productId)
        return OrderRules.Terms(
            owner: owner(
                of: transaction, stored: stored, claimant: claimant, operatorClaim: operatorClaim, in: ownership,
                tokens: loaded.tokens),
            itemsAccount: operatorClaim == nil
                ? ownership?.itemsAccount(of: transaction, tokens: loaded.tokens) : nil,
            sharers: ownership?.lineage.sharers ?? [], product: product,
            catalogueVersion: loaded.catalogue.version,
            cutOver: loaded.cutOvers.cutOver(of: transaction, in: environment, type: product?.type),
            isOperators: operatorClaim != nil)
    }

    private static func owner(
        of transaction: Transaction, stored: StoredOrder?, claimant: Account?, operatorClaim: OperatorClaimStore.Due?,
        in ownership: Ownership?, tokens: [AppToken: Account]
    ) -> OrderOwner {
        // An operator's claim goes before a token of nobody.
        if let operatorClaim { return .account(ownership?.lineage.owner ?? operatorClaim.account) }
        // Nothing new says whose it is. So an operator's claim stays, though the token be nobody's.
        if let account = stored?.account, stored?.token == transaction.appAccountToken {
            return .account(ownership?.lineage.owner ?? account)
        }
        if let ownership {
            return ownership.owner(
                of: LineageEvidence.Statement(transaction: transaction, order: stored, isClaimed: claimant != nil))
        }
        return OrderOwner(token: TokenOwner(transaction, owners: tokens), claimant: stored?.account ?? claimant)
    }

    // MARK: - What posters are told

    private static func summaries(
        _ loaded: Loaded, _ decided: Decided, _ orders: [OrderKey: StoredOrder]
    ) -> [OrderKey: OrderSummary] {
        let transitions = Dictionary(decided.transitions.map { ($0.key, $0) }) { first, _ in first }
        var summaries = loaded.foreign.mapValues { OrderSummary($0) }
        for purchase in loaded.purchases {
            let stored = orders[purchase.key] ?? purchase.stored
            guard var summary = transitions[purchase.key].map({ OrderSummary($0) }) ?? stored.map({ OrderSummary($0) })
            else { continue }
            if let ownership = decided.ownerships[purchase.lineage] {
                summary.sharers = ownership.lineage.sharers
                summary.limitedAccounts = ownership.limitedAccounts
                summary.payersBesidesOwner = ownership.payersBesidesOwner
            }
            for statement in purchase.statements { summaries[statement.id] = summary }
        }
        return summaries
    }
}

extension TokenOwner {
    /// Whose a transaction is by its token, from the tokens that are registered.
    init(_ transaction: Transaction, owners: [AppToken: Account]) {
        guard let token = transaction.appToken else {
            self = .noToken
            return
        }
        self = owners[token].map(TokenOwner.account) ?? .unknown
    }
}
