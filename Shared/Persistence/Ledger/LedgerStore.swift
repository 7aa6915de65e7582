import Foundation
package import Postgres
package import PurchaseModel

/// The tables `ledger_entries` and `balances`: what accounts hold of each item, and every line that made it so.
///
/// A line moves an amount between a book of the studio's (`issued`, `spent`) and what an account holds; above zero it goes
/// to the account. Lines are never changed; a balance is their sum, kept in the transaction that writes them.
///
/// Three callers, three ways in:
/// - purchases: `GrantStore.write`, `takeBack(_:alsoLocking:on:)`;
/// - players who spend: `spend(_:of:on:record:)`, which writes nothing when something is missing;
/// - operators: `adjust(…)`.
package enum LedgerStore {
    /// What a line and a balance may be.
    package enum Limit {
        /// The most that an account may hold of an item, and owe; what would go beyond is not credited.
        ///
        /// A million times the largest single line, and a ninth of where 64 bits end.
        package static let balance: Int64 = 1_000_000_000_000_000_000
        /// The most that one line may move.
        package static let amount: Int64 = OrderDecision.amountMaximum
        /// Items of one spend, or of one adjustment.
        package static let items = 100
    }

    /// Why a line was written.
    package enum Cause: Sendable, Hashable {
        /// A purchase granted it.
        case grant(OrderKey)
        /// Apple took the purchase back.
        case revocation(OrderKey)
        /// Apple gave it back after all.
        case reversal(OrderKey)
        /// It was granted for what turned out to be a family member's copy.
        case correction(OrderKey)
        /// A player spent it: the id of the row in `spends`.
        case spend(Int64)
        /// An operator's word: the id of the row in `audit_log`.
        case adjustment(Int64)

        var kind: String {
            switch self {
            case .grant: "grant"
            case .revocation: "revocation"
            case .reversal: "reversal"
            case .correction: "correction"
            case .spend: "spend"
            case .adjustment: "adjustment"
            }
        }

        /// The order that it is about; nil of spending and of adjustments.
        package var order: OrderKey? {
            switch self {
            case .grant(let key), .revocation(let key), .reversal(let key), .correction(let key): key
            case .spend, .adjustment: nil
            }
        }

        var spend: Int64? {
            if case .spend(let id) = self { id } else { nil }
        }

        var adjustment: Int64? {
            if case .adjustment(let id) = self { id } else { nil }
        }
    }

    /// A line about to be written.
    package struct Entry: Sendable, Hashable {
        /// Why.
        package let cause: Cause
        /// 1, 2, 3, … among the lines of one cause.
        package let sequence: Int32
        /// The account.
        package let customer: Customer
        /// The item.
        package let item: String
        /// How many; above zero to the account.
        package let amount: Int64

        /// Makes a line.
        package init(cause: Cause, sequence: Int32, customer: Customer, item: String, amount: Int64) {
            self.cause = cause
            self.sequence = sequence
            self.customer = customer
            self.item = item
            self.amount = amount
        }

        var holding: Holding { Holding(customer: customer, item: item) }
    }

    /// What a balance is of.
    package struct Holding: Sendable, Hashable, Comparable {
        /// The account.
        package let customer: Customer
        /// The item.
        package let item: String

        /// The order in which balances are locked, the same everywhere.
        package static func < (left: Holding, right: Holding) -> Bool {
            left.customer == right.customer ? left.item < right.item : left.customer < right.customer
        }
    }

    /// That an account has less of an item than is to be taken.
    package struct Shortage: Sendable, Hashable {
        /// The item.
        package let item: String
        /// How many it has; below zero it owes.
        package let balance: Int64
        /// How many are needed.
        package let needed: Int64
    }

    /// Locks balances in the caller's transaction, all at once in one order; one that is not there begins at 0.
    ///
    /// - Returns: how much each holds.
    /// - Throws: `PostgresError`.
    package static func lock(
        _ holdings: Set<Holding>, on connection: PostgresConnection
    ) async throws -> [Holding: Int64] {
        guard !holdings.isEmpty else { return [:] }
        let sorted = holdings.sorted()
        let result = try await connection.query(
            """
            INSERT INTO balances (environment, app, account, item, amount)
            SELECT environment, app, account, item, 0
            FROM unnest(\(columns(of: sorted))) AS held (environment, app, account, item)
            ORDER BY account, app, environment, item
            ON CONFLICT (account, app, environment, item) DO UPDATE SET amount = balances.amount
            RETURNING environment, app, account, item, amount
            """)
        return try amounts(result)
    }

    static func amounts(_ result: PostgresResult) throws -> [Holding: Int64] {
        let amounts = try result.map {
            (environment: StoreEnvironment, app: String, account: Account, item: String, amount: Int64) in
            (holding(environment, app, account, item), amount)
        }
        return Dictionary(amounts) { $1 }
    }

    /// Writes lines and adds them to the balances, in the caller's transaction.
    ///
    /// A transaction that takes something locks all of its balances first, by ``lock(_:on:)``.
    ///
    /// - Returns: the lines as they were written: a balance that would leave its limits takes only what fits.
    /// - Throws: `PostgresError`; a cause and sequence that exists already is one.
    @discardableResult
    package static func post(_ entries: [Entry], on connection: PostgresConnection) async throws -> [Entry] {
        guard !entries.isEmpty else { return [] }
        let refused = try await postFitting(entries, on: connection)
        guard !refused.isEmpty else { return entries }
        // What does not fit is refused with its balance locked; it is cut to what fits, and written then.
        var amounts = try await lock(refused, on: connection)
        var cut: [Entry] = []
        for entry in entries where refused.contains(entry.holding) {
            let old = bounded(amounts[entry.holding, default: 0])
            let fitting =
                entry.amount > 0
                ? min(entry.amount, max(0, Limit.balance - old)) : max(entry.amount, min(0, -Limit.balance - old))
            guard fitting != 0 else { continue }
            amounts[entry.holding] = old + fitting
            cut.append(
                Entry(
                    cause: entry.cause, sequence: entry.sequence, customer: entry.customer, item: entry.item,
                    amount: fitting))
        }
        if !cut.isEmpty { _ = try await postFitting(cut, on: connection) }
        return entries.filter { !refused.contains($0.holding) } + cut
    }

    /// A balance to reckon with: no sum with an amount overflows, whatever the table holds.
    static func bounded(_ balance: Int64) -> Int64 { min(max(balance, -2 * Limit.balance), 2 * Limit.balance) }

    /// - Returns: the balances that would have left their limits; nothing is written of those.
    private static func postFitting(
        _ entries: [Entry], on connection: PostgresConnection
    ) async throws -> Set<Holding> {
        // Balances are locked in the order of their key, the same in every process, or two batches could dead-lock.
        let result = try await connection.query(
            """
            WITH new AS (
                SELECT * FROM unnest(\(columns(of: entries.map(\.holding))),
                    \(entries.map(\.cause.order?.transactionId)), \(entries.map(\.cause.spend)),
                    \(entries.map(\.cause.adjustment)), \(entries.map(\.cause.kind)), \(entries.map(\.sequence)),
                    \(entries.map(\.amount))) WITH ORDINALITY
                    AS new (environment, app, account, item, transaction_id, spend_id, audit_id, kind, sequence, amount,
                        place)
            ), sums AS (
                INSERT INTO balances AS held (environment, app, account, item, amount)
                SELECT environment, app, account, item, sum(amount)::int8 FROM new
                GROUP BY account, app, environment, item ORDER BY account, app, environment, item
                ON CONFLICT (account, app, environment, item)
                    DO UPDATE SET amount = held.amount + excluded.amount
                    WHERE CASE WHEN excluded.amount > 0 THEN held.amount <= \(Limit.balance) - excluded.amount
                        ELSE held.amount >= -\(Limit.balance) - excluded.amount END
                RETURNING environment, app, account, item
            ), entries AS (
                INSERT INTO ledger_entries (environment, transaction_id, spend_id, audit_id, kind, book, sequence, app,
                    account, item, amount)
                SELECT environment, transaction_id, spend_id, audit_id, kind,
                    CASE kind WHEN 'spend' THEN 'spent' ELSE 'issued' END, sequence, app, account, item, amount
                FROM new JOIN sums USING (environment, app, account, item) ORDER BY place
            )
            SELECT environment, app, account, item FROM new
            EXCEPT SELECT environment, app, account, item FROM sums
            """)
        return Set(try result.map(holding))
    }

    /// For `unnest`: environment, app, account, item.
    static func columns(of holdings: [Holding]) -> SQL {
        """
        \(holdings.map(\.customer.environment)), \(holdings.map(\.customer.app)), \(holdings.map(\.customer.account)),
            \(holdings.map(\.item))
        """
    }

    static func holding(
        _ environment: StoreEnvironment, _ app: String, _ account: Account, _ item: String
    ) -> Holding {
        Holding(customer: Customer(environment: environment, app: app, account: account), item: item)
    }
}
