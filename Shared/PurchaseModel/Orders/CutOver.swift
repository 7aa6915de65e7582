package import Foundation

/// Until when an older system granted what was bought.
package struct CutOver: Sendable, Hashable {
    /// What was bought before it, the older system granted; nil: everything, until somebody sets a time.
    package let date: Date?
    /// Whether events tell of what the older system granted, as it is recorded here.
    package let isAnnounced: Bool

    package init(date: Date?, isAnnounced: Bool) {
        self.date = date
        self.isAnnounced = isAnnounced
    }

    /// Whether a time is before it, in the milliseconds that Apple signs.
    package func isAfter(_ time: Date) -> Bool {
        date.map { time.milliseconds < $0.milliseconds } ?? true
    }
}

/// The cut-overs of all apps.
package struct CutOvers: Sendable, Hashable {
    /// What a cut-over is for.
    package struct Key: Sendable, Hashable {
        package let environment: StoreEnvironment
        /// The app's bundle id.
        package let app: String
        /// Empty for every product that has none of its own.
        package let productId: String

        package init(environment: StoreEnvironment, app: String, productId: String) {
            self.environment = environment
            self.app = app
            self.productId = productId
        }
    }

    private let byKey: [Key: CutOver]

    package init(_ byKey: [Key: CutOver] = [:]) {
        self.byKey = byKey
    }

    /// The cut-over of a purchase that the older system granted; nil where it is to be granted here.
    ///
    /// - Parameter type: the catalogue's, for what Apple's data does not state.
    package func cutOver(
        of transaction: Transaction, in environment: StoreEnvironment, type: ProductType?
    ) -> CutOver? {
        guard !byKey.isEmpty else { return nil }
        let (app, productId) = (transaction.bundleId, transaction.productId)
        let rule =
            byKey[Key(environment: environment, app: app, productId: productId)]
            ?? byKey[Key(environment: environment, app: app, productId: "")]
        guard let rule, rule.isAfter(transaction.boughtDate(type)) else { return nil }
        return rule
    }
}

extension Transaction {
    /// When it was bought.
    ///
    /// A restored copy of a non-consumable may have the date of the restore. The date of the first purchase says nothing of
    /// everything else: it is the lineage's.
    fileprivate func boughtDate(_ type: ProductType?) -> Date {
        let type = productType == .unstated ? type ?? .unstated : productType
        guard type == .nonConsumable, let originalPurchaseDate else { return purchaseDate }
        return min(purchaseDate, originalPurchaseDate)
    }

    /// Whether anything of it can still be used after a cut-over: not what is used up, nor a period that was over by then.
    func mayBeUsed(after cutOver: CutOver) -> Bool {
        if productType == .consumable { return false }
        guard let expiresDate else { return true }
        return !(cutOver.date.map { expiresDate.milliseconds <= $0.milliseconds } ?? false)
    }
}
