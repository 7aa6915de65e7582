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
        /// Whether it brings items at all; a family member's copy may not, and then all that is left is corrected.
        package let bringsItems: Bool

        package init(
            key: OrderKey, takeBack: TakeBack, bringsItems: Bool = true,
            policy: @escaping @Sendable (String) -> TakeBackPolicy
        ) {
            self.key = key
            self.takeBack = takeBack
            self.bringsItems = bringsItems
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
        let takings = takings.filter { !$0.bringsItems || $0.takeBack.shareBefore != $0.takeBack.shareAfter }
        let lines = try await lines(of: takings.map(\.key), on: connection)
        guard !lines.isEmpty else { return [] }
        let holdings = grants.union(lines.values.flatMap { $0.sums.map(\.holding) })
        var balances = try await lock(holdings, on: connection).mapValues(bounded)
        var entries: [Entry] = []
        for taking in takings.sorted(by: { $0.key < $1.key }) {
            guard let order = lines[taking.key] else { continue }
            var sequences = order.sequences
            for sum in order.sums {
                let change = change(of: sum, by: taking, balance: balances[sum.holding, default: 0])
                guard change != 0 else { continue }
                balances[sum.holding, default: 0] += change
                let cause: Cause =
                    change > 0
                    ? .reversal(taking.key)
                    : taking.bringsItems ? .revocation(taking.key) : .correction(taking.key)
                sequences[cause.kind, default: 0] += 1
                entries.append(
                    Entry(
                        cause: cause, sequence: sequences[cause.kind, default: 1], customer: sum.holding.customer,
                        item: sum.holding.item, amount: change))
            }
        }
        return try await post(entries, on: connection)
    }

    private static func change(of sum: OrderLines.Sum, by taking: Taking, balance: Int64) -> Int64 {
        let policy = taking.policy(sum.holding.item)
        guard taking.bringsItems else {
            let rest = max(0, sum.granted - sum.taken)
            return policy == .toNegative ? -rest : -min(rest, max(balance, 0))
        }
        return taking.takeBack.change(
            granted: sum.granted, taken: sum.taken, balance: balance, policy: policy)
    }

    /// What the ledger says of one order.
    private struct OrderLines {
        struct Sum {
            let holding: Holding
            /// By all of its lines, less what was corrected.
            let granted: Int64
            let taken: Int64
        }

        /// By account and item, sorted.
        var sums: [Sum] = []
        /// The last sequence of each kind of line.
        var sequences: [String: Int32] = [:]
    }

    private static func lines(
        of keys: [OrderKey], on connection: PostgresConnection
    ) async throws -> [OrderKey: OrderLines] {
        guard !keys.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT l.environment, l.transaction_id, l.app, l.account, l.item,
                coalesce(sum(l.amount) FILTER (WHERE l.kind IN ('grant', 'correction')), 0)::int8 AS granted,
                coalesce(-sum(l.amount) FILTER (WHERE l.kind IN ('revocation', 'reversal')), 0)::int8 AS taken,
                coalesce(max(l.sequence) FILTER (WHERE l.kind = 'revocation'), 0) AS revocation,
                coalesce(max(l.sequence) FILTER (WHERE l.kind = 'reversal'), 0) AS reversal,
                coalesce(max(l.sequence) FILTER (WHERE l.kind = 'correction'), 0) AS correction
            FROM \(SQL.rows(of: keys)) AS asked (environment, transaction_id)
            JOIN ledger_entries l USING (environment, transaction_id)
            GROUP BY l.environment, l.transaction_id, l.app, l.account, l.item
            ORDER BY l.account, l.app, l.environment, l.item
            """)
        var lines: [OrderKey: OrderLines] = [:]
        for row in result.rows {
            let (environment, id, app, account, item, granted, taken, revocation, reversal, correction) =
                try row.decode(
                    (StoreEnvironment, String, String, Account, String, Int64, Int64, Int32, Int32, Int32).self)
            let key = OrderKey(environment: environment, transactionId: id)
            let holding = holding(environment, app, account, item)
            var order = lines[key] ?? OrderLines()
            order.sums.append(OrderLines.Sum(holding: holding, granted: granted, taken: taken))
            for (kind, last) in [("revocation", revocation), ("reversal", reversal), ("correction", correction)] {
                order.sequences[kind] = max(order.sequences[kind] ?? 0, last)
            }
            lines[key] = order
        }
        return lines
    }
}
