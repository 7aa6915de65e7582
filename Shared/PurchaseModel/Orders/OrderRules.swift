package import Foundation

/// An order as it is stored.
package struct StoredOrder: Sendable, Hashable {
    package let key: OrderKey
    /// The app's bundle id.
    package let app: String
    package let lineage: LineageKey
    package var state: OrderState
    /// Why it is not granted.
    package var reason: ReasonCode?
    /// Whose it is; nil while in doubt.
    package var account: Account?
    /// Whether it was granted once, also where it is revoked now.
    package let wasGranted: Bool
    package let productType: ProductType
    package let purchaseDate: Date
    package let expiresDate: Date?
    /// The appAccountToken that Apple's data has for it.
    package let token: UUID?
    /// Apple's `transactionReason`: `PURCHASE`, `RENEWAL`; nil where it is not known.
    package let transactionReason: String?
    package let testPurchase: TestPurchase?
    /// The submission that brought it, or claimed it later.
    package let submissionId: String
    /// Follows a purchase from the request to the webhook.
    package let correlationId: String
    /// Whether its row has keys; what contradicted another order has none, and gets none.
    package let hasKeys: Bool
    /// Whether an older system granted it, as far as anybody has it.
    package let isGrantedElsewhere: Bool
    /// What Apple signed of it; nil where nobody asked for that.
    package let purchase: Purchase?

    package init(
        key: OrderKey, app: String, lineage: LineageKey, state: OrderState, reason: ReasonCode?, account: Account?,
        wasGranted: Bool, productType: ProductType, purchaseDate: Date, expiresDate: Date?, token: UUID?,
        transactionReason: String?, testPurchase: TestPurchase?, submissionId: String, correlationId: String,
        hasKeys: Bool, isGrantedElsewhere: Bool = false, purchase: Purchase?
    ) {
        self.key = key
        self.app = app
        self.lineage = lineage
        self.state = state
        self.reason = reason
        self.account = account
        self.wasGranted = wasGranted
        self.productType = productType
        self.purchaseDate = purchaseDate
        self.expiresDate = expiresDate
        self.token = token
        self.transactionReason = transactionReason
        self.testPurchase = testPurchase
        self.submissionId = submissionId
        self.correlationId = correlationId
        self.hasKeys = hasKeys
        self.isGrantedElsewhere = isGrantedElsewhere
        self.purchase = purchase
    }

    /// Whether nothing of it is vouched for: it says nothing of its lineage.
    package var isUnvouched: Bool { state == .parked && reason == .signedWithExpiredCertificate }
    /// Whether it is parked, and no account known.
    package var isUnclaimed: Bool { state == .parked && account == nil }
    /// Whether Apple took it back before anybody knew whose it is.
    package var isNobodysRefund: Bool { state == .revoked && account == nil }

    /// Whether it is a period of an auto-renewable subscription.
    package var isPeriod: Bool {
        expiresDate != nil && (productType == .autoRenewable || productType == .unstated)
    }
}

/// What becomes of an order by what is known of its purchase: grant, park, hold, revoke, reinstate.
package enum OrderRules {
    /// By what an order is decided beside what Apple signed.
    package struct Terms: Sendable {
        /// Whose it is.
        package let owner: OrderOwner
        /// Who gets its items; nil where that is whose it is.
        package let itemsAccount: Account?
        /// Who may use it, too.
        package let sharers: Set<Account>
        /// What the catalogue says of the product; nil when it does not know it.
        package let product: Catalogue.Product?
        /// The number of that catalogue.
        package let catalogueVersion: Int64?
        /// That of an older system which granted it; nil where it is to be granted here.
        package let cutOver: CutOver?
        /// Whether an operator decided: that ends every doubt about which purchase it is.
        package let isOperators: Bool

        package init(
            owner: OrderOwner, itemsAccount: Account? = nil, sharers: Set<Account>, product: Catalogue.Product?,
            catalogueVersion: Int64?, cutOver: CutOver? = nil, isOperators: Bool = false
        ) {
            self.owner = owner
            self.itemsAccount = itemsAccount
            self.sharers = sharers
            self.product = product
            self.catalogueVersion = catalogueVersion
            self.cutOver = cutOver
            self.isOperators = isOperators
        }
    }

    /// - Parameters:
    ///   - stored: as it is stored, locked, with its purchase; nil for a new one.
    ///   - purchase: all that is known of it now.
    ///   - conflict: what it contradicts; nil where it contradicts nothing.
    ///   - terms: asked only where it was never granted.
    /// - Returns: nil where nothing changes.
    package static func transition(
        of stored: StoredOrder?, key: OrderKey, purchase: Purchase, conflict: PurchaseConflict?, submissionId: String,
        correlationId: String, terms: (Transaction) -> Terms
    ) -> OrderTransition? {
        var transaction = purchase.transaction
        if let stored, stored.wasGranted {
            transaction.keepType(of: stored)
            guard purchase != stored.purchase else { return nil }
            let isRevoked = transaction.revocationDate != nil
            return OrderTransition(
                before: stored, key: key, purchase: purchase, transaction: transaction,
                change: change(from: stored.purchase?.transaction ?? transaction, to: transaction),
                state: isRevoked ? .revoked : .granted, reason: isRevoked ? .revokedByApple : nil,
                account: stored.account, decision: nil, conflict: conflict, submissionId: submissionId,
                correlationId: correlationId)
        }
        let terms = terms(transaction)
        transaction.takeType(of: terms.product)
        let decision = OrderDecision.decide(
            transaction, owner: terms.owner, sharers: terms.sharers, product: terms.product,
            catalogueVersion: terms.catalogueVersion, cutOver: terms.cutOver,
            isAmbiguous: isAmbiguous(stored, transaction, conflict, terms), isOperators: terms.isOperators)
        if let stored, purchase == stored.purchase, decision.state == stored.state, decision.reason == stored.reason,
            decision.account == stored.account
        {
            return nil
        }
        return OrderTransition(
            before: stored, key: key, purchase: purchase, transaction: transaction, change: .decided,
            state: decision.state, reason: decision.reason, account: decision.account,
            itemsAccount: terms.itemsAccount, decision: decision, conflict: conflict, submissionId: submissionId,
            correlationId: correlationId)
    }

    private static func isAmbiguous(
        _ stored: StoredOrder?, _ transaction: Transaction, _ conflict: PurchaseConflict?, _ terms: Terms
    ) -> Bool {
        guard !terms.isOperators else { return false }
        let type = transaction.productType == .unstated ? terms.product?.type ?? .unstated : transaction.productType
        return conflict != nil || stored.map { !$0.hasKeys } ?? false || transaction.isMisnumbered(type)
    }

    private static func change(from before: Transaction, to after: Transaction) -> OrderTransition.Change {
        switch (before.revocationDate, after.revocationDate) {
        case (nil, nil): .restated
        case (nil, _): .revoked
        case (_, nil): .reinstated
        default:
            TakeBack.share(of: before) == TakeBack.share(of: after) && before.isFamilyRevoke == after.isFamilyRevoke
                ? .restated : .revokedOtherwise
        }
    }
}

extension Transaction {
    /// Takes the lineage, the product and the type that an order was granted by, where they would become others, or a type that nobody
    /// here knows: an order leaves its lineage only with all of it.
    fileprivate mutating func keepType(of order: StoredOrder) {
        originalTransactionId = order.lineage.originalTransactionId
        if let known = order.purchase?.transaction { productId = known.productId }
        guard productType != order.productType, order.productType != .unstated || !productType.isKnown else { return }
        productType = order.productType
    }

    /// Takes the catalogue's type, where Apple signed that one and others, and all of them are known; else one that is not known, so that
    /// it is held.
    fileprivate mutating func takeType(of product: Catalogue.Product?) {
        guard let types = contradictingTypes else { return }
        if let unknown = types.first(where: { !$0.isKnown }) {
            productType = unknown
        } else if let type = product?.type, types.contains(type) {
            productType = type
        }
    }
}
