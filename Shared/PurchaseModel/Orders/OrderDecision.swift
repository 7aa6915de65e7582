package import Foundation

/// Whose a transaction is, by its appAccountToken.
package enum TokenOwner: Sendable, Hashable {
    /// The signed data carries no token.
    case noToken
    /// The token is this account's.
    case account(Account)
    /// The token is nobody's that we know.
    case unknown
}

/// Whose an order is.
///
/// Rule 1: an appAccountToken inside Apple's signed data names the account, whoever posts it. Rule 2: otherwise the
/// owner of its lineage. Rule 3: otherwise the account that claims it by possession. A doubt is parked, not guessed.
package enum OrderOwner: Sendable, Hashable {
    /// This account's.
    case account(Account)
    /// Its token is of nobody that we know.
    case tokenUnknown
    /// Nobody's until somebody claims it.
    case unclaimed

    /// Whose a transaction is that has no lineage, such as a consumable.
    ///
    /// - Parameters:
    ///   - token: whose its token is.
    ///   - claimant: the account that claims it by evidence; nil where nobody does.
    package init(token: TokenOwner, claimant: Account?) {
        switch token {
        case .account(let account): self = .account(account)
        case .unknown: self = .tokenUnknown
        case .noToken: self = claimant.map(OrderOwner.account) ?? .unclaimed
        }
    }

    /// The account; nil while in doubt.
    package var account: Account? {
        guard case .account(let account) = self else { return nil }
        return account
    }
}

/// What becomes of a transaction that nobody has yet: the rules of granting, without I/O.
package struct OrderDecision: Sendable, Hashable {
    /// Granted, parked or revoked.
    package let state: OrderState
    /// Why it is parked or revoked; nil when granted.
    package let reason: ReasonCode?
    /// Whose it is; nil when that is in doubt.
    package let account: Account?
    /// Who may use the entitlements, too, sorted: those who share the owner's lineage.
    package let sharers: [Account]
    /// What is credited: the catalogue's amounts times the quantity.
    package let items: [Catalogue.ItemGrant]
    /// What the account may use from now on.
    package let entitlements: [String]
    /// Until when the entitlements are good; nil for ever.
    package let entitledUntil: Date?
    /// The number of the catalogue by which it was granted; nil when it was not.
    package let catalogueVersion: Int64?
    /// Whether it cost what the catalogue expects; nil when nobody says.
    package let isPriceExpected: Bool?
    /// By which an older system granted it, as far as anybody has it; nil where it is to be granted here.
    package let cutOver: CutOver?

    private init(
        _ state: OrderState, _ reason: ReasonCode?, account: Account?, sharers: Set<Account> = [],
        items: [Catalogue.ItemGrant] = [], entitlements: [String] = [], entitledUntil: Date? = nil,
        catalogueVersion: Int64? = nil,
        isPriceExpected: Bool? = nil, cutOver: CutOver?
    ) {
        self.state = state
        self.reason = reason
        self.account = account
        self.sharers = sharers.sorted()
        self.items = items
        self.entitlements = entitlements
        self.entitledUntil = entitledUntil
        self.catalogueVersion = catalogueVersion
        self.isPriceExpected = isPriceExpected
        self.cutOver = cutOver
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - transaction: verified, with an environment.
    ///   - owner: whose it is.
    ///   - sharers: who may use it, too.
    ///   - product: the catalogue's word on the product; nil when it has none.
    ///   - catalogueVersion: the number of that catalogue.
    ///   - isAmbiguous: whether what Apple signed contradicts what is known of the purchase.
    ///   - cutOver: that of an older system which granted it; nil where it is to be granted here.
    ///   - isOperators: whether an operator decided that it was paid for, where Apple's data names no environment or is
    ///     signed under certificates that have expired.
    package static func decide(
        _ transaction: Transaction, owner: OrderOwner, sharers: Set<Account> = [], product: Catalogue.Product?,
        catalogueVersion: Int64? = nil, cutOver: CutOver? = nil, isAmbiguous: Bool = false, isOperators: Bool = false
    ) -> OrderDecision {
        func parked(_ reason: ReasonCode, _ account: Account? = nil) -> OrderDecision {
            OrderDecision(.parked, reason, account: account, cutOver: cutOver)
        }
        guard transaction.isVouchedFor || isOperators else { return parked(.signedWithExpiredCertificate) }
        if transaction.revocationDate != nil {
            return OrderDecision(.revoked, .revokedByApple, account: owner.account, cutOver: cutOver)
        }
        if isAmbiguous { return parked(.purchaseAmbiguous) }
        guard transaction.environment != nil || isOperators else { return parked(.environmentMissing) }
        // What waits for its token is decided anew once that is registered; so it does not matter which comes first.
        if !isOperators, owner != .tokenUnknown, Vocabulary.holding(transaction, by: product) != nil {
            return parked(.vocabularyUnknown, owner.account)
        }
        guard let account = owner.account else {
            return parked(owner == .tokenUnknown ? .accountTokenUnknown : .unclaimed)
        }
        guard let product else {
            // What the older system granted and nobody can use any more needs no catalogue.
            if let cutOver, !transaction.mayBeUsed(after: cutOver) {
                return OrderDecision(.granted, nil, account: account, cutOver: cutOver)
            }
            return parked(.productUnknown, account)
        }
        guard transaction.productType == .unstated || product.type == transaction.productType else {
            return parked(.productTypeMismatch, account)
        }
        // Without its end a period would be good for ever.
        guard transaction.expiresDate != nil || product.type != .autoRenewable else {
            return parked(.transactionIncomplete, account)
        }
        guard let items = cutOver == nil ? multiplied(product.items, by: transaction.quantity) : [] else {
            return parked(.amountTooLarge, account)
        }
        // Apple says when a subscription ends that it renews; of others only the studio knows.
        let end = transaction.expiresDate ?? product.duration?.end(after: transaction.purchaseDate)
        return OrderDecision(
            .granted, nil, account: account, sharers: sharers,
            items: product.givesItems(to: transaction) ? items : [],
            entitlements: product.givesEntitlements(to: transaction) ? product.entitlements : [],
            entitledUntil: end, catalogueVersion: catalogueVersion,
            isPriceExpected: product.isPriceExpected(of: transaction), cutOver: cutOver)
    }

    private static func multiplied(_ items: [Catalogue.ItemGrant], by quantity: Int) -> [Catalogue.ItemGrant]? {
        var result: [Catalogue.ItemGrant] = []
        for grant in items {
            let (amount, overflow) = grant.amount.multipliedReportingOverflow(by: Int64(quantity))
            if overflow || amount > amountMaximum { return nil }
            result.append(Catalogue.ItemGrant(item: grant.item, amount: amount))
        }
        return result
    }

    /// How many pieces of a product one order may have, so that no item of it is credited beyond ``amountMaximum``.
    package static func quantityMaximum(of product: Catalogue.Product) -> Int64 {
        product.items.map { amountMaximum / max(1, $0.amount) }.min() ?? .max
    }

    /// The most one order may credit of one item: far above any real sale, and far below where a sum of a million
    /// orders would overflow 64 bits.
    package static let amountMaximum: Int64 = 1_000_000_000_000
}
