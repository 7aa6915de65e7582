package import Postgres
package import PurchaseModel

extension LedgerStore {
    /// What became of a wish to spend.
    package enum Spent: Sendable, Hashable {
        /// It is written; how much the account has of each item now, sorted by item.
        case spent([Catalogue.ItemGrant])
        /// Nothing is written: the account has too little of these.
        case insufficient([Shortage])
        /// Nothing is written: `record` had no row for it.
        case abandoned
    }

    /// Takes what a player spends, in the caller's transaction: all of it, or nothing.
    ///
    /// The balances are locked first, so that two requests cannot spend the same; then what is missing is found; then
    /// `record` writes the row in `spends` (whose answer may tell the balances that are left) and gives its id; then the
    /// lines are written.
    ///
    /// - Parameters:
    ///   - items: what is spent, 1 or more of each; an item that is named twice is summed up.
    ///   - customer: who spends.
    ///   - record: writes the row in `spends` and returns its id; nil when there is a row of that key already. It is
    ///     told what will be left.
    /// - Throws: `LedgerError` for amounts that no request may have; `PostgresError`; what `record` throws.
    package static func spend(
        _ items: [Catalogue.ItemGrant], of customer: Customer, on connection: PostgresConnection,
        record: (_ balances: [Catalogue.ItemGrant]) async throws -> Int64?
    ) async throws -> Spent {
        let needed = try summed(items)
        guard needed.allSatisfy({ $0.amount > 0 }) else { throw LedgerError.amountOutOfRange }
        let locked = try await lockExisting(needed.map { Holding(customer: customer, item: $0.item) }, on: connection)
        var shortages: [Shortage] = []
        var left: [Catalogue.ItemGrant] = []
        for need in needed {
            let balance = locked[Holding(customer: customer, item: need.item), default: 0]
            if balance < need.amount {
                shortages.append(Shortage(item: need.item, balance: balance, needed: need.amount))
            } else {
                left.append(Catalogue.ItemGrant(item: need.item, amount: balance - need.amount))
            }
        }
        guard shortages.isEmpty else { return .insufficient(shortages) }
        guard let id = try await record(left) else { return .abandoned }
        try await post(
            needed.enumerated().map { index, need in
                Entry(
                    cause: .spend(id), sequence: Int32(index + 1), customer: customer, item: need.item,
                    amount: -need.amount)
            }, on: connection)
        return .spent(left)
    }

    /// Locks the balances that are there: a wish for what nobody ever had leaves no row behind.
    private static func lockExisting(
        _ holdings: [Holding], on connection: PostgresConnection
    ) async throws -> [Holding: Int64] {
        let result = try await connection.query(
            """
            SELECT environment, app, account, item, amount FROM balances
            WHERE (environment, app, account, item)
                IN (SELECT * FROM unnest(\(columns(of: holdings))))
            ORDER BY account, app, environment, item FOR UPDATE
            """)
        return try amounts(result)
    }

    /// Each item once, sorted by name.
    static func summed(_ items: [Catalogue.ItemGrant]) throws -> [Catalogue.ItemGrant] {
        guard !items.isEmpty, items.count <= Limit.items else { throw LedgerError.tooManyItems }
        var sums: [String: Int64] = [:]
        for item in items {
            // Each is bounded before it is added, so that the sum of a hundred cannot overflow.
            guard item.amount.magnitude <= Limit.amount.magnitude else { throw LedgerError.amountOutOfRange }
            sums[item.item, default: 0] += item.amount
        }
        return sums.sorted { $0.key < $1.key }.map { Catalogue.ItemGrant(item: $0.key, amount: $0.value) }
    }
}

/// What no caller may ask of the ledger.
package enum LedgerError: Error, Sendable, Hashable {
    /// No item, or more than `LedgerStore.Limit.items`.
    case tooManyItems
    /// Zero, or more than `LedgerStore.Limit.amount`, or a spend below zero.
    case amountOutOfRange
}
