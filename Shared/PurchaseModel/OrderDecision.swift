public import Foundation

/// Whose a transaction is, by its appAccountToken.
public enum TokenOwner: Sendable, Hashable {
    /// The signed data carries no token.
    case noToken
    /// The token is this account's.
    case account(String)
    /// The token is nobody's that we know.
    case unknown
}

/// Whose an order is.
///
/// Rule 1: an appAccountToken inside Apple's signed data names the account, whoever posts it. Rule 2: otherwise the
/// owner of its lineage. Rule 3: otherwise the account that claims it by possession. A doubt is parked, not guessed.
public enum OrderOwner: Sendable, Hashable {
    /// This account's.
    case account(String)
    /// Its token is of nobody that we know.
    case tokenUnknown
    /// Nobody's until somebody claims it.
    case unclaimed

    /// Whose a transaction is that has no lineage, such as a consumable.
    ///
    /// - Parameters:
    ///   - token: whose its token is.
    ///   - possessor: the account that claims it; nil where nobody does.
    public init(token: TokenOwner, possessor: String?) {
        switch token {
        case .account(let account): self = .account(account)
        case .unknown: self = .tokenUnknown
        case .noToken: self = possessor.map(OrderOwner.account) ?? .unclaimed
        }
    }

    /// The account; nil while in doubt.
    public var account: String? {
        guard case .account(let account) = self else { return nil }
        return account
    }
}

/// What becomes of a transaction that nobody has yet: the rules of granting, without I/O.
public struct OrderDecision: Sendable, Hashable {
    /// Granted, parked or revoked.
    public let state: OrderState
    /// Why it is parked or revoked; nil when granted.
    public let reason: ReasonCode?
    /// Whose it is; nil when that is in doubt.
    public let account: String?
    /// Who may use the entitlements, too, sorted: those who share the owner's lineage.
    public let sharers: [String]
    /// What is credited: the catalogue's amounts times the quantity.
    public let items: [Catalogue.ItemGrant]
    /// What the account may use from now on.
    public let entitlements: [String]
    /// Until when the entitlements are good; nil for ever.
    public let entitledUntil: Date?
    /// The number of the catalogue by which it was granted; nil when it was not.
    public let catalogueVersion: Int64?
    /// Whether it cost what the catalogue expects; nil when nobody says.
    public let isPriceExpected: Bool?

    private init(
        _ state: OrderState, _ reason: ReasonCode?, account: String?, sharers: Set<String> = [],
        items: [Catalogue.ItemGrant] = [], entitlements: [String] = [], entitledUntil: Date? = nil,
        catalogueVersion: Int64? = nil,
        isPriceExpected: Bool? = nil
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
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - transaction: verified, with an environment.
    ///   - owner: whose it is.
    ///   - sharers: who may use it, too.
    ///   - product: the catalogue's word on the product; nil when it has none.
    ///   - catalogueVersion: the number of that catalogue.
    public static func decide(
        _ transaction: PurchasedTransaction, owner: OrderOwner, sharers: Set<String> = [], product: Catalogue.Product?,
        catalogueVersion: Int64? = nil
    ) -> OrderDecision {
        if transaction.revocationDate != nil {
            return OrderDecision(.revoked, .revokedByApple, account: owner.account)
        }
        guard let account = owner.account else {
            return OrderDecision(.parked, owner == .tokenUnknown ? .accountTokenUnknown : .unclaimed, account: nil)
        }
        guard let product else {
            return OrderDecision(.parked, .productUnknown, account: account)
        }
        guard transaction.productType == .unstated || product.type == transaction.productType else {
            return OrderDecision(.parked, .productTypeMismatch, account: account)
        }
        guard let items = multiplied(product.items, by: transaction.quantity) else {
            return OrderDecision(.parked, .amountTooLarge, account: account)
        }
        // Apple says when a subscription ends that it renews; of others only the studio knows.
        let end = transaction.expiresDate ?? product.duration?.end(after: transaction.purchaseDate)
        return OrderDecision(
            .granted, nil, account: account, sharers: sharers, items: items, entitlements: product.entitlements,
            entitledUntil: end,
            catalogueVersion: catalogueVersion, isPriceExpected: product.isPriceExpected(of: transaction))
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
    public static func quantityMaximum(of product: Catalogue.Product) -> Int64 {
        product.items.map { amountMaximum / max(1, $0.amount) }.min() ?? .max
    }

    /// The most one order may credit of one item: far above any real sale, and far below where a sum of a million
    /// orders would overflow 64 bits.
    public static let amountMaximum: Int64 = 1_000_000_000_000
}
