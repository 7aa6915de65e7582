import Messages
package import Postgres
package import PurchaseModel

/// The table `double_grants`: what accounts got of one purchase more than once, before migration 6 merged its orders.
package enum DoubleGrantStore {
    /// Rows of one commit.
    private static let batch = 200

    /// What became of a row.
    package struct Decided: Sendable, Hashable {
        /// The purchase.
        package let order: OrderKey
        package let customer: Customer
        package let item: String
        /// How many were granted too much.
        package let amount: Int64
        /// How many were taken back, fewer where the account had spent them; nil where they are left to it.
        package let corrected: Int64?
    }

    /// Decides all rows that are open: takes back what the account still has of it, or leaves it.
    ///
    /// A line of the kind `correction` for each row, and an event `iap.account.adjusted` for each account and order, are in
    /// the commit that marks the rows; so it may be ended at any time, and goes on where it ended. No balance goes below
    /// zero by it, and no order loses more than is left of what it brought.
    ///
    /// - Parameter leave: whether the accounts keep what they got.
    /// - Returns: the rows that this call decided.
    /// - Throws: `PostgresError`; what was decided before stays so.
    package static func correct(pool: PostgresPool, leave: Bool) async throws -> [Decided] {
        var decided: [Decided] = []
        while true {
            let next = try await correctNext(pool: pool, leave: leave, limit: batch)
            guard !next.isEmpty else { return decided }
            decided += next
        }
    }

    /// Decides the next rows in one commit.
    static func correctNext(pool: PostgresPool, leave: Bool, limit: Int) async throws -> [Decided] {
        try await pool.withTransaction { connection in
            let open = try await lockOpen(limit: limit, on: connection)
            guard !open.isEmpty else { return [] }
            let decided = leave ? open : try await takeBack(open, on: connection)
            try await mark(decided, on: connection)
            return decided
        }
    }

    private static func lockOpen(limit: Int, on connection: PostgresConnection) async throws -> [Decided] {
        let result = try await connection.query(
            """
            SELECT environment, order_transaction_id, app, account, item, amount FROM double_grants
            WHERE state = 'open' ORDER BY environment, order_transaction_id, account, item LIMIT $1 FOR UPDATE
            """, [.int8(Int64(limit))])
        return try result.rows.map { row in
            Decided(
                order: try row.orderKey("order_transaction_id"), customer: try row.customer(),
                item: try row.decode("item"), amount: try row.decode("amount"), corrected: nil)
        }
    }

    // Never inlined: the optimizer of Swift 6.3 crashes on throwing async functions inside closures.
    @inline(never)
    private static func takeBack(
        _ open: [Decided], on connection: PostgresConnection
    ) async throws -> [Decided] {
        // Orders before balances, as whoever refunds them does: what is left of the order is read under its lock.
        let orders = Set(open.map(\.order)).sorted()
        _ = try await connection.query(
            """
            SELECT transaction_id FROM orders
            WHERE (environment, transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
            ORDER BY environment, transaction_id FOR UPDATE
            """, OrderStore.keyColumns(orders))
        var balances = try await LedgerStore.lock(Set(open.map(\.holding)), on: connection)
        let left = try await leftOfOrders(orders, on: connection)
        var sequences = left.sequences
        var entries: [LedgerStore.Entry] = []
        let decided = open.map { row in
            let rest = left.sums[OrderHolding(order: row.order, holding: row.holding), default: 0]
            let taken = max(0, min(row.amount, balances[row.holding, default: 0], rest))
            if taken > 0 {
                balances[row.holding, default: 0] -= taken
                sequences[row.order, default: 0] += 1
                entries.append(
                    LedgerStore.Entry(
                        cause: .correction(row.order), sequence: sequences[row.order, default: 1],
                        customer: row.customer, item: row.item, amount: -taken))
            }
            return Decided(
                order: row.order, customer: row.customer, item: row.item, amount: row.amount, corrected: taken)
        }
        try await LedgerStore.post(entries, on: connection)
        _ = try await EventStore.write(drafts(of: entries), lease: .zero, on: connection)
        return decided
    }

    /// What one order brought to one balance.
    private struct OrderHolding: Hashable {
        let order: OrderKey
        let holding: LedgerStore.Holding
    }

    /// What is left to accounts of what orders brought, and the last number of their corrections.
    private static func leftOfOrders(
        _ orders: [OrderKey], on connection: PostgresConnection
    ) async throws -> (sums: [OrderHolding: Int64], sequences: [OrderKey: Int32]) {
        let result = try await connection.query(
            """
            SELECT environment, transaction_id, app, account, item, sum(amount)::int8 AS amount,
                coalesce(max(sequence) FILTER (WHERE kind = 'correction'), 0) AS corrections
            FROM unnest($1::text[], $2::text[]) AS asked (environment, transaction_id)
            JOIN ledger_entries USING (environment, transaction_id)
            GROUP BY 1, 2, 3, 4, 5
            """, OrderStore.keyColumns(orders))
        var sums: [OrderHolding: Int64] = [:]
        var sequences: [OrderKey: Int32] = [:]
        for row in result.rows {
            let order = try row.orderKey()
            sums[OrderHolding(order: order, holding: try LedgerStore.holding(row))] = try row.decode("amount")
            sequences[order] = max(sequences[order] ?? 0, try row.decode("corrections"))
        }
        return (sums, sequences)
    }

    private static func drafts(of entries: [LedgerStore.Entry]) -> [EventDraft] {
        struct Recipient: Hashable {
            let order: OrderKey?
            let customer: Customer
        }
        let grouped = Dictionary(grouping: entries) { Recipient(order: $0.cause.order, customer: $0.customer) }
        return entries.reduce(into: [Recipient]()) { recipients, entry in
            let recipient = Recipient(order: entry.cause.order, customer: entry.customer)
            if recipients.last != recipient { recipients.append(recipient) }
        }.map { recipient in
            EventDraft(
                type: PurchaseEvent.adjusted, environment: recipient.customer.environment, app: recipient.customer.app,
                account: recipient.customer.account, correlationId: "merge_\(recipient.order?.transactionId ?? "")",
                payload: PurchaseEvent.Payload(
                    transaction: nil,
                    entries: (grouped[recipient] ?? []).map {
                        Catalogue.ItemGrant(item: $0.item, amount: $0.amount)
                    }))
        }
    }

    private static func mark(_ decided: [Decided], on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            UPDATE double_grants d SET state = CASE WHEN new.corrected IS NULL THEN 'left' ELSE 'corrected' END,
                corrected = new.corrected, decided_at = now()
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[])
                AS new (environment, order_transaction_id, account, item, corrected)
            WHERE (d.environment, d.order_transaction_id, d.account, d.item)
                = (new.environment, new.order_transaction_id, new.account, new.item)
            """,
            OrderStore.keyColumns(decided.map(\.order)) + [
                .textArray(decided.map(\.customer.account.text)), .textArray(decided.map(\.item)),
                .int8Array(decided.map(\.corrected)),
            ])
    }
}

extension DoubleGrantStore.Decided {
    fileprivate var holding: LedgerStore.Holding { LedgerStore.Holding(customer: customer, item: item) }
}
