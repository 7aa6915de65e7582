import Messages
import Persistence
import PurchaseModel

/// Finds out which statements belong to one purchase: to an order that is there, or to each other.
///
/// Whatever matches any of a purchase's transaction ids or keys is that purchase. Ids and keys that lead to two, one line
/// item under two original ids or products, one fallback under two line items: nothing is granted by that, and somebody
/// is told (`purchase_conflicts`).
struct PurchaseMatching {
    private(set) var purchases: [PurchaseStatements] = []
    private(set) var conflicts: [OrderStore.NotedConflict] = []
    /// The orders of transaction ids whose statements say nothing about them: another app's.
    private(set) var foreign: [OrderKey: StoredOrder] = [:]

    private let catalogue: Catalogue
    private var byId: [OrderKey: Int] = [:]
    private var byKey: [Key: Int] = [:]
    private var byOrder: [OrderKey: Int] = [:]
    private var lineItems: [Key: Transaction] = [:]

    private struct Key: Hashable {
        let environment: StoreEnvironment
        let app: String
        let text: String

        init(_ statement: Statement, _ text: String) {
            environment = statement.environment
            app = statement.transaction.bundleId
            self.text = text
        }
    }

    /// A purchase of the batch, or an order of which the batch has said nothing yet.
    private enum Target: Hashable {
        case purchase(Int)
        case stored(OrderKey)
    }

    /// - Parameter matches: of the statements, by their places.
    init(_ statements: [Statement], matches: [OrderStore.Match], catalogue: Catalogue) {
        self.catalogue = catalogue
        let matches = Dictionary(grouping: matches, by: \.place)
        for (place, statement) in statements.enumerated() { add(statement, matches[place] ?? []) }
    }

    private mutating func add(_ posted: Statement, _ matches: [OrderStore.Match]) {
        let isNew = byId[posted.id] == nil && !matches.contains { $0.path == .id }
        let statement = isNew && isAnothersLineItem(posted, matches) ? posted.asFamilyCopy : posted
        let idMatch = matches.first { $0.path == .id }
        if let idMatch, idMatch.order.app != statement.transaction.bundleId {
            // Apple's ids are not shared by apps; whatever says otherwise says nothing about this order.
            foreign[statement.id] = idMatch.order
            return
        }
        if let place = byId[statement.id], !purchases[place].isOf(statement.transaction.bundleId) { return }
        let own = byId[statement.id].map(Target.purchase) ?? idMatch.map { target(of: $0.order) }
        if own == nil, let contradiction = contradiction(statement, matches) {
            hold(statement, contradiction.cause, against: contradiction.order)
            return
        }
        var found = targets(of: statement, matches)
        if let own {
            // What was held for a contradiction goes by its ids alone.
            if isContradicted(own, matches) { found = [] }
            found.remove(own)
            if let other = found.first {
                let place = put(statement, into: own, idMatch)
                purchases[place].conflict = .twoOrders
                note(statement, .twoOrders, against: key(of: other))
            } else {
                index(statement, at: put(statement, into: own, idMatch))
            }
        } else if found.count > 1 {
            hold(statement, .twoOrders, against: found.map(key).min() ?? statement.id)
        } else {
            let match = matches.first { found.first == target(of: $0.order) }
            index(statement, at: put(statement, into: found.first, match))
        }
    }

    /// The purchases that its keys lead to; where one has its line item, the second of the purchase says nothing beside it.
    private func targets(of statement: Statement, _ matches: [OrderStore.Match]) -> Set<Target> {
        let keys = PurchaseKeys(of: statement.transaction)
        var found = Set(matches.filter { $0.path == .key }.map { target(of: $0.order) })
        if let key = keys.key, let place = byKey[Key(statement, key.text)] { found.insert(.purchase(place)) }
        guard found.isEmpty else { return found }
        let lineItem = statement.transaction.lineItem
        for match in matches
        where match.path == .fallback && (lineItem == nil || match.lineItem ?? lineItem == lineItem) {
            found.insert(target(of: match.order))
        }
        for (index, key) in ([keys.fallback].compactMap(\.self) + keys.neighbours).enumerated() {
            guard let place = byKey[Key(statement, key.text)] else { continue }
            let other = purchases[place].lineItem
            let isSame = index == 0 ? other == nil || other == lineItem : false
            if lineItem == nil || other == nil || isSame { found.insert(.purchase(place)) }
        }
        return found
    }

    /// Whether what a receipt lists, which does not say who paid, has the line item of a purchase under another original
    /// id of which Apple signed that it was paid for.
    ///
    /// Then it is not paid for: it is a family member's copy, or the same purchase again. Neither brings items.
    private func isAnothersLineItem(_ statement: Statement, _ matches: [OrderStore.Match]) -> Bool {
        let transaction = statement.transaction
        guard transaction.isAutoRenewable, transaction.ownership == nil, let lineItem = transaction.lineItem else {
            return false
        }
        let isKnown = matches.contains { match in
            match.path == .lineItem && match.isPurchased && match.order.hasKeys
                && match.order.lineage != statement.lineage && match.productId == transaction.productId
        }
        let isInBatch = lineItems[Key(statement, lineItem)].map { other in
            other.isPurchased && other.originalTransactionId != transaction.originalTransactionId
                && other.productId == transaction.productId
        }
        return isKnown || isInBatch ?? false
    }

    /// Why a statement under a new transaction id cannot be what its keys say.
    private func contradiction(
        _ statement: Statement, _ matches: [OrderStore.Match]
    ) -> (cause: PurchaseConflict, order: OrderKey)? {
        let transaction = statement.transaction
        let product = catalogue.product(app: transaction.bundleId, id: transaction.productId)
        let type = transaction.productType == .unstated ? product?.type ?? .unstated : transaction.productType
        if transaction.isMisnumbered(type) {
            let original = OrderKey(
                environment: statement.environment, transactionId: transaction.originalTransactionId)
            return (.originalDiffers, original)
        }
        guard transaction.isAutoRenewable, let lineItem = transaction.lineItem else { return nil }
        // A family member's copy has an original id of its own, and may have the purchaser's line item.
        for match in matches where match.path == .lineItem && !match.isFamilyCopy && !transaction.isFamilyCopy {
            if match.order.lineage != statement.lineage || match.productId != transaction.productId {
                return (.lineItemOfAnother, match.order.key)
            }
        }
        if !transaction.isFamilyCopy, let other = lineItems[Key(statement, lineItem)],
            other.originalTransactionId != transaction.originalTransactionId
                || other.productId != transaction.productId
        {
            return (
                .lineItemOfAnother,
                OrderKey(environment: statement.environment, transactionId: other.transactionId)
            )
        }
        // What the line item says goes before the second of the purchase.
        if let key = PurchaseKeys(of: transaction).key,
            byKey[Key(statement, key.text)] != nil || matches.contains(where: { $0.path == .key })
        {
            return nil
        }
        for match in matches where match.path == .fallback {
            if let other = match.lineItem, other != lineItem { return (.twoLineItems, match.order.key) }
        }
        if let fallback = PurchaseKeys(of: transaction).fallback, let place = byKey[Key(statement, fallback.text)],
            let other = purchases[place].lineItem, other != lineItem
        {
            return (.twoLineItems, purchases[place].key)
        }
        return nil
    }

    private func target(of order: StoredOrder) -> Target {
        byOrder[order.key].map(Target.purchase) ?? .stored(order.key)
    }

    private func key(of target: Target) -> OrderKey {
        switch target {
        case .purchase(let place): purchases[place].key
        case .stored(let key): key
        }
    }

    private func isContradicted(_ target: Target, _ matches: [OrderStore.Match]) -> Bool {
        switch target {
        case .purchase(let place): purchases[place].isContradicted
        case .stored(let key): matches.contains { $0.order.key == key && !$0.order.hasKeys }
        }
    }

    /// - Returns: the purchase's place.
    private mutating func put(_ statement: Statement, into target: Target?, _ match: OrderStore.Match?) -> Int {
        let isRepetition = match?.path == .id && match?.isRepetition ?? false
        switch target {
        case .purchase(let place):
            purchases[place].add(statement, isRepetition: isRepetition)
            byId[statement.id] = place
            return place
        case .stored, nil:
            let place = purchases.count
            let stored = target == nil ? nil : match?.order
            purchases.append(PurchaseStatements(statement, stored: stored, isRepetition: isRepetition))
            if let stored { byOrder[stored.key] = place }
            byId[statement.id] = place
            return place
        }
    }

    private mutating func index(_ statement: Statement, at place: Int) {
        guard !purchases[place].isContradicted else { return }
        let keys = PurchaseKeys(of: statement.transaction)
        for key in [keys.key, keys.fallback].compactMap(\.self) { byKey[Key(statement, key.text)] = place }
        if statement.transaction.isAutoRenewable, !statement.transaction.isFamilyCopy,
            let lineItem = statement.transaction.lineItem
        {
            lineItems[Key(statement, lineItem)] = statement.transaction
        }
    }

    /// Records it as an order of its own that is not granted.
    private mutating func hold(_ statement: Statement, _ cause: PurchaseConflict, against order: OrderKey) {
        byId[statement.id] = purchases.count
        purchases.append(PurchaseStatements(statement, stored: nil, isRepetition: false, conflict: cause))
        note(statement, cause, against: order)
    }

    private mutating func note(_ statement: Statement, _ cause: PurchaseConflict, against order: OrderKey) {
        conflicts.append(
            OrderStore.NotedConflict(
                environment: statement.environment, transactionId: statement.transaction.transactionId,
                app: statement.transaction.bundleId, orderId: order.transactionId, cause: cause,
                submissionId: statement.judged.verdict.submissionId))
    }
}

extension PurchaseStatements {
    /// The line item that one of its statements, or its order, names.
    fileprivate var lineItem: String? { statements.lazy.compactMap(\.transaction.lineItem).first }

    /// Whether it was held for a contradiction: its keys may be another's.
    fileprivate var isContradicted: Bool { stored.map { !$0.hasKeys } ?? (conflict != nil) }

    fileprivate func isOf(_ app: String) -> Bool { statements[0].transaction.bundleId == app }
}
