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

/// What becomes of a transaction that nobody has yet: the rules of ownership and of granting, without I/O.
///
/// Rule 1: an appAccountToken inside Apple's signed data names the account, whoever posts it. Rule 2: otherwise the
/// account that posts it. A doubt is parked, not guessed.
public struct OrderDecision: Sendable, Hashable {
    /// Granted, parked or revoked.
    public let state: OrderState
    /// Why it is parked or revoked; nil when granted.
    public let reason: ReasonCode?
    /// Whose it is; nil when that is in doubt.
    public let account: String?
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
        _ state: OrderState, _ reason: ReasonCode?, account: String?, items: [Catalogue.ItemGrant] = [],
        entitlements: [String] = [], entitledUntil: Date? = nil, catalogueVersion: Int64? = nil,
        isPriceExpected: Bool? = nil
    ) {
        self.state = state
        self.reason = reason
        self.account = account
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
    ///   - poster: the account that posted it; nil when it came without one.
    ///   - isClaimed: whether the poster names it as its own; what merely stands in the same receipt is not.
    ///   - tokenOwner: whose its token is.
    ///   - product: the catalogue's word on the product; nil when it has none.
    ///   - catalogueVersion: the number of that catalogue.
    public static func decide(
        _ transaction: PurchasedTransaction, poster: String?, isClaimed: Bool = true, tokenOwner: TokenOwner,
        product: Catalogue.Product?, catalogueVersion: Int64? = nil
    ) -> OrderDecision {
        let account: String?
        switch tokenOwner {
        case .account(let owner): account = owner
        case .noToken: account = isClaimed ? poster : nil
        case .unknown: account = nil
        }
        if transaction.revocationDate != nil {
            return OrderDecision(.revoked, .revokedByApple, account: account)
        }
        guard let account else {
            return OrderDecision(.parked, tokenOwner == .unknown ? .accountTokenUnknown : .unclaimed, account: nil)
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
            .granted, nil, account: account, items: items, entitlements: product.entitlements, entitledUntil: end,
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

    /// The most one order may credit of one item: far above any real sale, and far below where a sum of a million
    /// orders would overflow 64 bits.
    public static let amountMaximum: Int64 = 1_000_000_000_000
}
