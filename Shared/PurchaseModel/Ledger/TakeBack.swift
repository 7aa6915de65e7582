/// How much of what an order brought is taken back, and was before: a rule without I/O.
///
/// Apple names the part of the price that was refunded; the same part of each item is taken, rounded down in the player's
/// favour. Source: developer.apple.com/documentation/appstoreserverapi/revocationpercentage.
package struct TakeBack: Sendable, Hashable {
    /// All of it, in thousandths of a per cent.
    package static let wholeShare: Int64 = 100_000

    /// The share that was taken back until now, in thousandths of a per cent.
    package let shareBefore: Int64
    /// The share that is taken back from now on.
    package let shareAfter: Int64

    /// What a newer statement changes.
    package init(from before: Transaction, to after: Transaction) {
        shareBefore = Self.share(of: before)
        shareAfter = Self.share(of: after)
    }

    /// The share of a transaction that Apple took back: nothing, what it names, or all where it names none.
    package static func share(of transaction: Transaction) -> Int64 {
        guard transaction.revocationDate != nil else { return 0 }
        return min(max(transaction.revocationPercentage ?? wholeShare, 0), wholeShare)
    }

    /// What becomes of one item of an account.
    ///
    /// - Parameters:
    ///   - granted: how much the order granted.
    ///   - taken: how much of that is taken back already; less than its share where a policy let it be.
    ///   - balance: how much the account has now, of this order and all others.
    ///   - policy: how far a refund goes.
    /// - Returns: above zero what is given back, below zero what is taken.
    package func change(granted: Int64, taken: Int64, balance: Int64, policy: TakeBackPolicy) -> Int64 {
        let before = Self.part(shareBefore, of: granted)
        let after = Self.part(shareAfter, of: granted)
        // Given back is what was taken, and no more: who lost less than the share gets less.
        if after <= before { return after < before ? max(0, taken - after) : 0 }
        let due = min(after - before, granted - taken)
        return switch policy {
        case .leave: 0
        case .toNegative: -due
        case .toZero: -min(due, max(balance, 0))
        }
    }

    private static func part(_ share: Int64, of amount: Int64) -> Int64 {
        // In full width: the product of an amount and a share may have more than 64 bits.
        wholeShare.dividingFullWidth(amount.multipliedFullWidth(by: share)).quotient
    }
}
