package import Messages
package import Postgres
package import PurchaseModel

/// Parked rows of `submissions`, and the orders they wait for (`submission_transactions`).
package enum WaitingSubmissionStore {
    /// A submission that is parked, locked.
    package struct Waiting: Sendable {
        /// Its id.
        package let id: String
        /// The account that posted it.
        package let account: Account
        /// What the app was told until now.
        package let outcome: SubmissionOutcome

        package init(id: String, account: Account, outcome: SubmissionOutcome) {
            self.id = id
            self.account = account
            self.outcome = outcome
        }
    }

    /// The ids of the submissions that are parked because of these orders.
    ///
    /// Complete for orders that the caller's transaction holds locked: whoever parks a submission holds its orders.
    ///
    /// - Throws: `PostgresError`.
    package static func ids(
        waitingFor keys: [OrderKey], on connection: PostgresConnection
    ) async throws -> Set<String> {
        guard !keys.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT DISTINCT l.submission_id
            FROM \(SQL.rows(of: keys)) AS asked (environment, transaction_id)
            JOIN submission_transactions l USING (environment, transaction_id)
            JOIN submissions s ON s.id = l.submission_id AND s.state = 'parked'
            """)
        return Set(try result.map { (id: String) in id })
    }

    /// Locks submissions in the order of their ids, so that concurrent batches cannot dead-lock.
    ///
    /// - Returns: those of `waiting` that are still parked, as they stand now.
    /// - Throws: `PostgresError`.
    package static func lock(
        _ ids: Set<String>, waiting: Set<String>, on connection: PostgresConnection
    ) async throws -> [Waiting] {
        guard !ids.isEmpty || !waiting.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT id, account, CASE WHEN state = 'parked' AND id = ANY(\(waiting.sorted())) THEN outcome END AS outcome
            FROM submissions WHERE id = ANY(\(ids.union(waiting).sorted())) ORDER BY id FOR UPDATE
            """)
        return try result.map { (id: String, account: Account, outcome: JSONColumn<SubmissionOutcome>?) in
            outcome.map { Waiting(id: id, account: account, outcome: $0.value) }
        }.compactMap { $0 }
    }

    /// An order that a submission names, as it stands now.
    package struct NamedOrder: Sendable {
        /// The transaction id under which the submission names it.
        package let id: OrderKey
        package let summary: OrderSummary
        /// What the poster would be told of it.
        package let outcome: TransactionOutcome
        /// Whether the submission waits for it; a receipt names others, too.
        package let isAwaited: Bool
    }

    /// The orders that parked submissions name: those that their outcomes list, and those of `changed` they wait for.
    ///
    /// - Throws: `PostgresError`.
    package static func orders(
        of submissions: [Waiting], changed: [OrderKey], on connection: PostgresConnection
    ) async throws -> [String: [NamedOrder]] {
        var asked: [(submission: String, id: OrderKey, isListed: Bool)] = []
        for submission in submissions {
            for id in submission.outcome.transactions.map(\.key) { asked.append((submission.id, id, true)) }
            for key in changed { asked.append((submission.id, key, false)) }
        }
        guard !asked.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT asked.submission_id AS asked_submission_id, asked.transaction_id AS asked_id, \(OrderStore.columns),
                (o.transaction - 'evidence')::text AS transaction,
                w.submission_id IS NOT NULL AS is_awaited,
                ARRAY(SELECT s.account FROM lineage_shares s
                    WHERE s.environment = o.environment AND s.original_transaction_id = o.original_transaction_id
                        AND o.product_type <> 'consumable'
                    UNION SELECT l.account FROM ledger_entries l WHERE l.environment = o.environment
                        AND l.transaction_id = o.transaction_id AND l.kind = 'grant') AS users
            FROM unnest(\(asked.map(\.submission)), \(asked.map(\.id.environment)), \(asked.map(\.id.transactionId)),
                    \(asked.map(\.isListed)))
                AS asked (submission_id, environment, transaction_id, is_listed)
            JOIN order_transactions t USING (environment, transaction_id)
            JOIN orders o ON (o.environment, o.transaction_id) = (t.environment, t.order_transaction_id)
            LEFT JOIN submission_transactions w ON (w.environment, w.transaction_id, w.submission_id)
                = (o.environment, o.transaction_id, asked.submission_id)
            WHERE asked.is_listed OR w.submission_id IS NOT NULL
            """)
        var orders: [String: [NamedOrder]] = [:]
        for row in result.rows {
            var summary = OrderSummary(try OrderStore.order(row, purchase: nil))
            // Who got the items has what it asked for, too.
            summary.sharers = Set(try row.decode("users", as: [String].self).map { Account(stored: $0) })
            orders[try row.decode("asked_submission_id", as: String.self), default: []].append(
                NamedOrder(
                    id: try row.orderKey("asked_id"), summary: summary,
                    outcome: TransactionOutcome(
                        try row.json("transaction", as: Transaction.self), state: nil, reason: nil),
                    isAwaited: try row.decode("is_awaited")))
        }
        return orders
    }

    /// Who waits for an order that is another's now waits for that one.
    ///
    /// - Throws: `PostgresError`.
    package static func move(
        _ orders: [(from: OrderKey, to: OrderKey)], on connection: PostgresConnection
    ) async throws {
        guard !orders.isEmpty else { return }
        _ = try await connection.query(
            """
            WITH gone AS (
                DELETE FROM submission_transactions s
                USING unnest(\(orders.map(\.from.environment)), \(orders.map(\.from.transactionId)),
                    \(orders.map(\.to.transactionId))) AS moved (environment, transaction_id, order_id)
                WHERE (s.environment, s.transaction_id) = (moved.environment, moved.transaction_id)
                RETURNING s.environment, moved.order_id, s.submission_id
            )
            INSERT INTO submission_transactions (environment, transaction_id, submission_id)
            SELECT DISTINCT environment, order_id, submission_id FROM gone ON CONFLICT DO NOTHING
            """)
    }

    /// Remembers which submission names which orders, so that it hears of their later grant.
    ///
    /// - Throws: `PostgresError`.
    package static func link(
        _ links: [(key: OrderKey, submissionId: String)], on connection: PostgresConnection
    ) async throws {
        guard !links.isEmpty else { return }
        _ = try await connection.query(
            """
            INSERT INTO submission_transactions (environment, transaction_id, submission_id)
            SELECT DISTINCT environment, transaction_id, submission_id
            FROM unnest(\(links.map(\.key.environment)), \(links.map(\.key.transactionId)), \(links.map(\.submissionId)))
                AS new (environment, transaction_id, submission_id)
            ORDER BY 1, 2, 3
            ON CONFLICT DO NOTHING
            """)
    }
}

extension TransactionOutcome {
    /// What finds its order: under production where Apple's data names no environment.
    package var key: OrderKey { OrderKey(environment: environment ?? .production, transactionId: transactionId) }
}
