package import Postgres
package import PurchaseModel

/// The tables `orders` and `order_transactions`: one row a purchase, and one for each transaction id that Apple gave it.
package enum OrderStore {
    /// Writes new orders with their transaction ids, sorted by key so that concurrent batches cannot dead-lock.
    ///
    /// Only what this statement inserted may be granted: an id or a key that another transaction of the database has just
    /// taken is a conflict, and the caller's transaction begins anew.
    ///
    /// - Throws: `PostgresError`; of SQLSTATE 40001 where an order is there already.
    package static func insert(
        _ orders: [OrderTransition], _ bodies: TransactionBodies, on connection: PostgresConnection
    ) async throws {
        guard !orders.isEmpty else { return }
        let sorted = orders.sorted { $0.key < $1.key }
        let result = try await connection.query(
            insertion(of: try OrderColumn.rows(OrderRows(transitions: sorted, bodies: bodies))))
        guard try result.map({ (written: Int) in written }) == [orders.count] else { throw takenMeanwhile }
        try await writeIds(of: sorted.filter(\.purchase.hasSeveralIds), bodies, on: connection)
    }

    /// Writes what became of orders that this transaction of the database holds locked.
    ///
    /// The time of the first grant stays through a refund and its reversal; that of the refund goes with it. New orders are
    /// inserted before: a key that one of them has is no key of these.
    ///
    /// - Throws: `PostgresError`; of SQLSTATE 40001 where a transaction id or a key has become another order's.
    package static func update(
        _ orders: [OrderTransition], _ bodies: TransactionBodies, on connection: PostgresConnection
    ) async throws {
        guard !orders.isEmpty else { return }
        let sorted = orders.sorted { $0.key < $1.key }
        do {
            _ = try await connection.query(
                updating(from: try OrderColumn.rowsWithGrant(OrderRows(transitions: sorted, bodies: bodies))))
        } catch let error as PostgresError where error.sqlState == "23505" {
            throw takenMeanwhile
        }
        try await writeIds(of: sorted.filter(\.purchase.hasSeveralIds), bodies, on: connection)
    }

    /// Says whose orders are now that are locked, with their lineage.
    ///
    /// - Throws: `PostgresError`.
    package static func give(_ orders: [(key: OrderKey, account: Account)], on connection: PostgresConnection)
        async throws
    {
        guard !orders.isEmpty else { return }
        _ = try await connection.query(
            """
            UPDATE orders o SET account = new.account
            FROM unnest(\(orders.map(\.key.environment)), \(orders.map(\.key.transactionId)), \(orders.map(\.account)))
                AS new (environment, transaction_id, account)
            WHERE (o.environment, o.transaction_id) = (new.environment, new.transaction_id)
            """)
    }

    /// Writes the ids of purchases that have several, with what Apple signed under each.
    private static func writeIds(
        of orders: [OrderTransition], _ bodies: TransactionBodies, on connection: PostgresConnection
    ) async throws {
        let rows = orders.flatMap { order in order.purchase.statements.map { (order: order, statement: $0) } }
        guard !rows.isEmpty else { return }
        let bodies = try rows.map { try bodies.body(of: $0.statement) }
        let result = try await connection.query(
            """
            INSERT INTO order_transactions AS known
                (environment, transaction_id, order_transaction_id, submission_id, statement)
            SELECT * FROM unnest(\(rows.map(\.order.key.environment)), \(rows.map(\.statement.transactionId)),
                \(rows.map(\.order.key.transactionId)), \(rows.map(\.order.submissionId)), \(json: bodies))
                AS new (environment, transaction_id) ORDER BY environment, transaction_id
            ON CONFLICT (environment, transaction_id) DO UPDATE SET statement = excluded.statement
                WHERE known.order_transaction_id = excluded.order_transaction_id
            RETURNING transaction_id
            """)
        guard result.rows.count == rows.count else { throw takenMeanwhile }
    }

    /// Notes what contradicts what is known; the same contradiction once.
    ///
    /// - Throws: `PostgresError`.
    package static func note(_ conflicts: [NotedConflict], on connection: PostgresConnection) async throws {
        guard !conflicts.isEmpty else { return }
        _ = try await connection.query(
            """
            INSERT INTO purchase_conflicts (environment, app, transaction_id, order_transaction_id, cause, submission_id)
            SELECT * FROM unnest(\(conflicts.map(\.transaction.environment)), \(conflicts.map(\.app)),
                \(conflicts.map(\.transaction.transactionId)), \(conflicts.map(\.orderId)), \(conflicts.map(\.cause.rawValue)),
                \(conflicts.map(\.submissionId)))
            ON CONFLICT DO NOTHING
            """)
    }

    /// A row of `purchase_conflicts`.
    package struct NotedConflict: Sendable {
        /// Of the signed data that contradicts.
        package let transaction: (environment: String, transactionId: String)
        package let app: String
        /// The own id of the order that it contradicts.
        package let orderId: String
        package let cause: PurchaseConflict
        package let submissionId: String

        package init(
            environment: StoreEnvironment, transactionId: String, app: String, orderId: String,
            cause: PurchaseConflict, submissionId: String
        ) {
            transaction = (environment.rawValue, transactionId)
            self.app = app
            self.orderId = orderId
            self.cause = cause
            self.submissionId = submissionId
        }
    }

    /// The transaction of the database runs again, and finds what was taken.
    private static let takenMeanwhile = PostgresError(
        code: .statementFailed, reason: "another transaction recorded the same purchase meanwhile", sqlState: "40001")

    // One statement, so that a new order costs one way to the server.
    private static func insertion(of rows: SQL) -> SQL {
        """
        WITH made AS (
            INSERT INTO orders (\(unescaped: OrderColumn.names), granted_at, revoked_at)
            SELECT *, CASE WHEN state = 'granted' THEN now() END, CASE WHEN state = 'revoked' THEN now() END
            FROM \(rows)
            ON CONFLICT DO NOTHING
            RETURNING environment, transaction_id, submission_id
        ), ids AS (
            INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
            SELECT environment, transaction_id, transaction_id, submission_id FROM made
            ON CONFLICT DO NOTHING
            RETURNING transaction_id
        )
        SELECT count(*) AS written FROM ids
        """
    }

    private static func updating(from rows: SQL) -> SQL {
        """
        UPDATE orders o SET \(unescaped: changes),
            revoked_at = CASE WHEN new.state = 'revoked' THEN coalesce(o.revoked_at, now()) END,
            granted_at = CASE WHEN new.is_grant THEN now() ELSE o.granted_at END
        FROM (
            SELECT *, \(unescaped: keyPlace("purchase_key")), \(unescaped: keyPlace("fallback_key")) FROM \(rows)) AS new
        WHERE (o.environment, o.transaction_id) = (new.environment, new.transaction_id)
        """
    }

    private static let changes = OrderColumn.all.compactMap { column -> String? in
        let name = column.name
        return switch column.update {
        case .replaced: "\(name) = new.\(name)"
        case .atGrant: "\(name) = CASE WHEN new.is_grant THEN new.\(name) ELSE o.\(name) END"
        case .key: "\(name) = \(updatedKey(name))"
        case .keyByDate: "\(name) = \(updatedKey(name, staysWhere: isOfSameDay))"
        case .never: nil
        }
    }.joined(separator: ", ")

    /// What an update makes of a purchase key: none of a type that has none, and what contradicts another order keeps its own.
    ///
    /// One that follows from statements that came one after another was not looked for: where another order has it, or gets it in
    /// the same statement, there is none.
    private static func updatedKey(_ name: String, staysWhere isSame: String = "false") -> String {
        """
        CASE WHEN new.product_type NOT IN (\(typesWithKeys)) THEN NULL
            WHEN new.purchase_key IS NULL AND new.fallback_key IS NULL THEN o.\(name)
            WHEN new.\(name) = o.\(name) OR \(isSame) THEN o.\(name)
            WHEN new.\(name)_place = 1 AND NOT EXISTS (SELECT FROM orders other
                WHERE (other.environment, other.app, other.\(name)) = (new.environment, new.app, new.\(name)))
                THEN new.\(name) END
        """
    }

    /// The place of a row among those that are to have its key: the first gets it.
    private static func keyPlace(_ name: String) -> String {
        "row_number() OVER (PARTITION BY environment, app, \(name) ORDER BY transaction_id) AS \(name)_place"
    }

    private static let isOfSameDay = """
        regexp_replace(new.fallback_key, '-?[0-9]+$', '') = regexp_replace(o.fallback_key, '-?[0-9]+$', '')
            AND abs(substring(new.fallback_key FROM '-?[0-9]+$')::numeric
                - substring(o.fallback_key FROM '-?[0-9]+$')::numeric) <= 86400
        """
}

/// Locks of line items: one period under two original ids, in two batches at the same moment, is still one order.
///
/// The lineages of such batches are two, so that no other lock keeps them apart, and a unique index cannot: a family member's
/// copy may have the payer's line item, and Apple may say later that it was paid for.
extension OrderStore {
    private enum LineItemLock {
        /// The first number of the advisory lock of all line items: shared by who locks some, alone for who locks many.
        static let all: Int32 = 0x4C_49_4E_45
        /// The first number of those of single line items; the second is a hash.
        static let each: Int32 = 0x4C_49_4E_46
        /// The most that one transaction locks singly: PostgreSQL has room for some thousands in all
        /// (`max_locks_per_transaction`).
        static let singlyMaximum = 200
    }

    /// Locks the line items of periods until the transaction of the database ends; after lineages, before orders are matched.
    ///
    /// - Throws: `PostgresError`.
    package static func lockLineItems(
        of statements: [(environment: StoreEnvironment, transaction: Transaction)], on connection: PostgresConnection
    ) async throws {
        let items = Set(
            statements.compactMap { environment, transaction -> String? in
                guard transaction.isAutoRenewable, let lineItem = transaction.lineItem else { return nil }
                // A control character is in no bundle id.
                return "\(environment.rawValue)\n\(transaction.bundleId)\n\(lineItem)"
            })
        guard !items.isEmpty else { return }
        guard items.count <= LineItemLock.singlyMaximum else {
            _ = try await connection.query("SELECT pg_advisory_xact_lock(\(LineItemLock.all), 0)::text")
            return
        }
        _ = try await connection.query(
            """
            SELECT pg_advisory_xact_lock_shared(\(LineItemLock.all), 0)::text
            UNION ALL
            SELECT pg_advisory_xact_lock(\(LineItemLock.each), hash)::text
            FROM (SELECT DISTINCT hashtext(item) AS hash FROM unnest(\(items.sorted())) AS item ORDER BY hash) AS items
            """)
    }
}
