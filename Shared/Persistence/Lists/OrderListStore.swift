package import Foundation
package import Postgres
package import PurchaseModel

/// The orders of an app, those that were written down last first.
package struct OrderListStore: Sendable {
    /// Which orders: those that all of these are true of.
    package struct Selection: Sendable, Hashable {
        package let app: String
        package var environment: StoreEnvironment?
        package var state: OrderState?
        package var reason: String?
        package var account: Account?
        package var productId: String?
        /// Written down then or later.
        package var since: Date?
        /// Written down before then.
        package var until: Date?

        /// All orders of an app.
        package init(app: String) {
            self.app = app
        }
    }

    /// An order of the list.
    package struct Row: Sendable {
        package let environment: StoreEnvironment
        /// Nil while nobody's.
        package let account: Account?
        /// The submission that brought it first.
        package let submissionId: String
        package let transaction: AccountStore.Transaction

        init(_ row: PostgresRow) throws {
            environment = try row.environment()
            account = try row.accountIfPresent()
            submissionId = try row.decode("submission_id")
            transaction = try AccountStore.Transaction(row)
        }
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Reads a page; there may be fewer rows than the limit although there is a next one.
    ///
    /// - Throws: `PostgresError`.
    package func page(
        _ selection: Selection, after position: ListPosition?, limit: Int
    ) async throws -> ListPage<Row> {
        try await ListLook.page(after: position, limit: limit, on: pool, Row.init) { Self.statement(selection, $0) }
    }

    /// By the orders of an account, by what is parked, or by all of them; in each environment apart, as the indexes are.
    static func statement(_ selection: Selection, _ look: ListLook) -> SQL {
        let environments = selection.environment.map { [$0] } ?? StoreEnvironment.allCases
        return look.statement(
            environments.map { environment in
                selection.account == nil && selection.state == .parked
                    ? parked(selection, environment, look) : newest(selection, environment, look)
            },
            where: """
                (\(selection.state) IS NULL OR state = \(selection.state))
                    AND (\(selection.reason) IS NULL OR reason = \(selection.reason))
                    AND (\(selection.productId) IS NULL OR product_id = \(selection.productId))
                """)
    }

    private static let columns: SQL = """
        environment, account, submission_id, \(AccountStore.Transaction.columns),
            \(ListLook.number("created_at")) AS number, transaction_id AS list_id, environment AS list_environment
        """
    private static let order: SQL = "ORDER BY created_at DESC, transaction_id DESC"

    private static func newest(
        _ selection: Selection, _ environment: StoreEnvironment, _ look: ListLook
    ) -> SQL {
        let ofAccount: SQL = selection.account.map { "account = \($0) AND" } ?? ""
        return """
            SELECT \(columns) FROM orders
            WHERE \(ofAccount) app = \(selection.app) AND environment = \(environment) AND \(times(selection, look.position))
            \(order) \(look.end)
            """
    }

    /// From one reason to the next, since the index of what is parked has the reason before the time.
    private static func parked(
        _ selection: Selection, _ environment: StoreEnvironment, _ look: ListLook
    ) -> SQL {
        """
        WITH RECURSIVE \(ParkedReasons.ofApp(selection.app, in: environment))
        SELECT found.* FROM parked_reasons CROSS JOIN LATERAL (
            SELECT \(columns) FROM orders
            WHERE \(ParkedReasons.isParked) AND app = \(selection.app) AND environment = \(environment)
                AND reason = parked_reasons.reason AND \(times(selection, look.position))
            \(order) \(look.end)
        ) found ORDER BY number DESC, list_id DESC \(look.end)
        """
    }

    /// The first condition is the index's, the second tells orders of both environments apart that have one time and id.
    private static func times(_ selection: Selection, _ position: ListPosition?) -> SQL {
        var conditions: [SQL] = ["true"]
        if let since = selection.since { conditions.append("created_at >= \(since)") }
        if let until = selection.until { conditions.append("created_at < \(until)") }
        if let position {
            let time = ListLook.time(position.number)
            conditions.append("(created_at, transaction_id) <= (\(time), \(position.id))")
            conditions.append(
                "(created_at, transaction_id, environment) < (\(time), \(position.id), \(position.environment))")
        }
        return conditions.joined(separator: " AND ")
    }
}

/// Why orders of an app are parked: from one reason to the next in the index orders_parked.
enum ParkedReasons {
    /// The words of that index; a state is one of three, and by these words the planner takes no other index.
    static let isParked: SQL = "state NOT IN ('granted', 'revoked')"

    /// As a recursive `parked_reasons (reason)`.
    static func ofApp(_ app: String, in environment: StoreEnvironment) -> SQL {
        let isTheirs: SQL = "\(isParked) AND app = \(app) AND environment = \(environment)"
        return """
            parked_reasons AS (
                (SELECT reason FROM orders WHERE \(isTheirs) ORDER BY reason LIMIT 1)
                UNION ALL
                SELECT next.reason FROM parked_reasons CROSS JOIN LATERAL (
                    SELECT reason FROM orders WHERE \(isTheirs) AND reason > parked_reasons.reason ORDER BY reason LIMIT 1) next
            )
            """
    }
}
