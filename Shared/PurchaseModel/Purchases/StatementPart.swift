import Foundation

/// A part of a transaction that statements tell as a whole, such as a price with its currency.
struct StatementPart: Sendable {
    /// Its name in `StatementSources.parts`.
    let name: String
    /// Whether a statement tells it.
    let isPresent: @Sendable (Transaction) -> Bool
    /// Whether the first one's content comes before the second one's, in some fixed order.
    let isBefore: @Sendable (Transaction, Transaction) -> Bool
    /// Takes it over.
    let copy: @Sendable (_ from: Transaction, _ to: inout Transaction) -> Void
    /// Which of two statements counts.
    var precedence = Precedence.signed
    /// Whether a statement that does not state it says that it is not so.
    var isDenied: @Sendable (Transaction) -> Bool = { _ in false }
    /// Whether a statement's word counts before every other's for which this is not so.
    var isPreferred: @Sendable (Transaction) -> Bool = { _ in true }

    /// Which of two statements counts.
    enum Precedence: Sendable {
        /// The signed transaction before the receipt, then the newer.
        case signed
        /// The newer, whatever it is.
        case newest
    }

    /// Which of two transactions' words counts, and where it comes from; no source where neither tells it.
    ///
    /// - Parameter base: the source of the first, which is the one that counts more as a whole.
    func choose(
        _ first: Transaction, _ second: Transaction, base: StatementSources.Source
    ) -> (isOther: Bool, source: StatementSources.Source?) {
        let left = source(of: first, base)
        let right = source(of: second, second.source)
        guard let right else { return (false, left) }
        guard let left else { return (true, right) }
        let isSecondPreferred = isPreferred(second)
        guard isPreferred(first) == isSecondPreferred else {
            return isSecondPreferred ? (true, right) : (false, left)
        }
        if isLess(left, right) { return (true, right) }
        if isLess(right, left) { return (false, left) }
        return (isBefore(first, second), left)
    }

    private func source(
        of transaction: Transaction, _ base: StatementSources.Source
    ) -> StatementSources.Source? {
        transaction.sources?.parts[name]
            ?? (isPresent(transaction) || base.isSigned && isDenied(transaction) ? base : nil)
    }

    private func isLess(_ left: StatementSources.Source, _ right: StatementSources.Source) -> Bool {
        guard left.date != right.date else { return left.isLess(than: right) }
        return switch precedence {
        case .signed: left.isLess(than: right)
        case .newest: left.date < right.date
        }
    }
}

extension StatementPart {
    /// Everything that a transaction consists of, but for what all its statements have in common.
    static let all: [StatementPart] =
        [
            // What every statement tells.
            original, StatementPart("product_id", \.productId), StatementPart("quantity", \.quantity),
            StatementPart("purchased_at", \.purchaseDate),
            StatementPart(
                name: "product_type", isPresent: { $0.productType != .unstated },
                isBefore: { $0.productType.rawValue < $1.productType.rawValue },
                copy: { $1.productType = $0.productType }),
        ] + [
            StatementPart("environment", \.environment) { $0.rawValue },
            StatementPart("previous_original_transaction_id", \.previousOriginalTransactionId),
            StatementPart("original_purchased_at", \.originalPurchaseDate),
            StatementPart("expires_at", \.expiresDate), StatementPart("token", \.appAccountToken) { $0.uuidString },
            StatementPart("ownership", \.ownership), StatementPart("storefront", \.storefront),
            StatementPart("upgraded", \.isUpgraded) { $0 ? 1 : 0 },
            StatementPart("subscription_group_id", \.subscriptionGroupId),
            StatementPart("transaction_reason", \.transactionReason),
            StatementPart("web_order_line_item_id", \.webOrderLineItemId),
            StatementPart("refund_reversed_at", \.refundReversedDate),
            StatementPart("app_transaction_id", \.appTransactionId),
            StatementPart("bundle_field", \.bundleField),
            StatementPart("test_purchase", \.testPurchase) { $0.rawValue },
            StatementPart("commitment", \.commitment) { "\($0)" }, StatementPart("evidence", \.evidence),
        ] + [price, offer, revocation, revocationShare]

    // What names no environment may be the sandbox's transaction of the same id: it moves no lineage.
    private static let original = StatementPart(
        name: "original_transaction_id", isPresent: { _ in true },
        isBefore: { $0.originalTransactionId < $1.originalTransactionId },
        copy: { $1.originalTransactionId = $0.originalTransactionId }, isPreferred: { $0.environment != nil })

    private static let price = StatementPart(
        name: "price", isPresent: { $0.priceMilliunits != nil },
        isBefore: {
            ($0.priceMilliunits ?? .min, $0.currency ?? "") < ($1.priceMilliunits ?? .min, $1.currency ?? "")
        },
        copy: { from, to in
            to.priceMilliunits = from.priceMilliunits
            to.currency = from.currency
        })

    private static let offer = StatementPart(
        name: "offer", isPresent: { $0.offerType != nil || $0.offerIdentifier != nil || $0.offerDiscountType != nil },
        isBefore: {
            ($0.offerType ?? .min, $0.offerIdentifier ?? "", $0.offerDiscountType ?? "", $0.offerPeriod ?? "")
                < ($1.offerType ?? .min, $1.offerIdentifier ?? "", $1.offerDiscountType ?? "", $1.offerPeriod ?? "")
        },
        copy: { from, to in
            to.offerType = from.offerType
            to.offerIdentifier = from.offerIdentifier
            to.offerDiscountType = from.offerDiscountType
            to.offerPeriod = from.offerPeriod
        })

    static let revocationName = "revocation"
    static let revocationShareName = "revocation_share"

    // Of two revocations of one date the later counts, and any before none. Apple's server says of each transaction whether
    // it is revoked, also by leaving it out; a device that leaves it out says nothing (``Teller``).
    private static let revocation = StatementPart(
        name: revocationName, isPresent: { $0.revocationDate != nil },
        isBefore: {
            ($0.revocationDate ?? .distantPast, $0.revocationReason ?? .min, $0.teller == .server ? 1 : 0)
                < ($1.revocationDate ?? .distantPast, $1.revocationReason ?? .min, $1.teller == .server ? 1 : 0)
        },
        copy: { from, to in
            to.revocationDate = from.revocationDate
            to.revocationReason = from.revocationReason
            to.teller = from.teller
        }, precedence: .newest, isDenied: { $0.teller == .server })

    // Every statement tells it, also by leaving it out: a receipt that has the same refund later does not know that it
    // was a part only, or the end of a family.
    private static let revocationShare = StatementPart(
        name: revocationShareName, isPresent: { _ in true },
        isBefore: {
            ($0.revocationPercentage ?? .min, $0.revocationType ?? "")
                < ($1.revocationPercentage ?? .min, $1.revocationType ?? "")
        },
        copy: { from, to in
            to.revocationType = from.revocationType
            to.revocationPercentage = from.revocationPercentage
        })

    private init<Value: Comparable & SendableMetatype>(
        _ name: String, _ path: any WritableKeyPath<Transaction, Value> & Sendable
    ) {
        self.init(
            name: name, isPresent: { _ in true }, isBefore: { $0[keyPath: path] < $1[keyPath: path] },
            copy: { $1[keyPath: path] = $0[keyPath: path] })
    }

    private init<Value: Comparable & SendableMetatype>(
        _ name: String, _ path: any WritableKeyPath<Transaction, Value?> & Sendable
    ) {
        self.init(name, path) { $0 }
    }

    private init<Value: SendableMetatype, Rank: Comparable & SendableMetatype>(
        _ name: String, _ path: any WritableKeyPath<Transaction, Value?> & Sendable,
        rank: @escaping @Sendable (Value) -> Rank
    ) {
        self.init(
            name: name, isPresent: { $0[keyPath: path] != nil },
            isBefore: { left, right in
                guard let right = right[keyPath: path].map(rank) else { return false }
                return left[keyPath: path].map { rank($0) < right } ?? true
            },
            copy: { $1[keyPath: path] = $0[keyPath: path] })
    }
}
