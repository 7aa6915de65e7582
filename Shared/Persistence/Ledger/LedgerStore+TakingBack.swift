package import Postgres
package import PurchaseModel

extension LedgerStore {
    /// An order of which another share is taken back than before.
    package struct Taking: Sendable {
        /// The order; locked in this transaction.
        package let key: OrderKey
        /// The shares.
        package let takeBack: TakeBack
        /// How far it goes, by item.
        package let policy: @Sendable (String) -> TakeBackPolicy

        /// Makes one.
        package init(key: OrderKey, takeBack: TakeBack, policy: @escaping @Sendable (String) -> TakeBackPolicy) {
            self.key = key
            self.takeBack = takeBack
            self.policy = policy
        }
    }

    /// Takes back, and gives back, what orders brought to the accounts that got it; in the caller's transaction.
    ///
    /// - Parameters:
    ///   - takings: each order once.
    ///   - grants: balances that the same transaction adds to afterwards: they are locked together with the others.
    /// - Returns: the lines that were written.
    /// - Throws: `PostgresError`.
    package static func takeBack(
        _ takings: [Taking], alsoLocking grants: Set<Holding>, on connection: PostgresConnection
    ) async throws -> [Entry] {
        let takings = takings.filter { $0.takeBack.shareBefore != $0.takeBack.shareAfter }
        let lines = try await lines(of: takings.map(\.key), on: connection)
        guard !lines.isEmpty else { return [] }
        let holdings = grants.union(lines.values.flatMap { $0.sums.map(\.holding) })
        var balances = try await lock(holdings, on: connection).mapValues(bounded)
        var entries: [Entry] = []
        for taking in takings.sorted(by: { $0.key < $1.key }) {
            guard let order = lines[taking.key] else { continue }
            var taken = order.revocations
            var given = order.reversals
            for sum in order.sums {
                let due = taking.takeBack.change(
                    granted: sum.granted, taken: sum.taken, balance: balances[sum.holding, default: 0],
                    policy: taking.policy(sum.holding.item))
                // Where several ids of a purchase were refunded, each as an order, one of them is given back.
                let change = due > 0 ? min(due, max(0, sum.once - (sum.granted - sum.taken))) : due
                guard change != 0 else { continue }
                balances[sum.holding, default: 0] += change
                if change > 0 { given += 1 } else { taken += 1 }
                entries.append(
                    Entry(
                        cause: change > 0 ? .reversal(taking.key) : .revocation(taking.key),
                        sequence: change > 0 ? given : taken, customer: sum.holding.customer, item: sum.holding.item,
                        amount: change))
            }
        }
        return try await post(entries, on: connection)
    }

    /// What the ledger says of one order.
    private struct OrderLines {
        struct Sum {
            let holding: Holding
            /// By all of its lines, less what was corrected.
            let granted: Int64
            /// By one line: what one purchase brings, where merged orders brought it several times.
            let once: Int64
            let taken: Int64
        }

        /// By account and item, sorted.
        var sums: [Sum] = []
        /// The last sequence of each kind.
        var revocations: Int32 = 0
        var reversals: Int32 = 0
    }

    private static func lines(
        of keys: [OrderKey], on connection: PostgresConnection
    ) async throws -> [OrderKey: OrderLines] {
        guard !keys.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT l.environment, l.transaction_id, l.app, l.account, l.item,
                coalesce(sum(l.amount) FILTER (WHERE l.kind IN ('grant', 'correction')), 0)::int8 AS granted,
                coalesce(max(l.amount) FILTER (WHERE l.kind = 'grant'), 0) AS once,
                coalesce(-sum(l.amount) FILTER (WHERE l.kind IN ('revocation', 'reversal')), 0)::int8 AS taken,
                coalesce(max(l.sequence) FILTER (WHERE l.kind = 'revocation'), 0) AS revocations,
                coalesce(max(l.sequence) FILTER (WHERE l.kind = 'reversal'), 0) AS reversals
            FROM unnest($1::text[], $2::text[]) AS asked (environment, transaction_id)
            JOIN ledger_entries l USING (environment, transaction_id)
            GROUP BY l.environment, l.transaction_id, l.app, l.account, l.item
            ORDER BY l.account, l.app, l.environment, l.item
            """, [.textArray(keys.map(\.environment.rawValue)), .textArray(keys.map(\.transactionId))])
        var lines: [OrderKey: OrderLines] = [:]
        for row in result.rows {
            let key = try row.orderKey()
            let holding = try holding(row)
            lines[key, default: OrderLines()].sums.append(
                OrderLines.Sum(
                    holding: holding, granted: try row.decode("granted"), once: try row.decode("once"),
                    taken: try row.decode("taken")))
            let revocations = max(lines[key]?.revocations ?? 0, try row.decode("revocations"))
            let reversals = max(lines[key]?.reversals ?? 0, try row.decode("reversals"))
            lines[key]?.revocations = revocations
            lines[key]?.reversals = reversals
        }
        return lines
    }
}
