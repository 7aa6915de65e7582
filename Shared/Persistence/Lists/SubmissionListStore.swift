package import Foundation
package import Messages
package import Postgres
package import PurchaseModel

/// What was posted for an app, the newest first; what is opened again counts as new.
package struct SubmissionListStore: Sendable {
    /// The condition of the index submissions_unfulfilled.
    ///
    /// It is no plain comparison: from `state = 'received'` PostgreSQL would conclude it, and read the index whole for purchases
    /// that it finds by their ids, as long as nothing is known of a table that was empty.
    static let isUnfulfilled: SQL = "state || '' <> 'fulfilled'"

    /// Which submissions: those that all of these are true of.
    package struct Selection: Sendable, Hashable {
        package let app: String
        /// Without an account, those that are fulfilled are none of the list: there is one for each purchase.
        package var account: Account?
        package var state: SubmissionState?
        package var reason: String?
        package var kind: ProofKind?

        /// All that are not fulfilled.
        package init(app: String) {
            self.app = app
        }
    }

    /// A submission of the list.
    package struct Row: Sendable {
        package let id: String
        /// Nil where Apple posted it.
        package let account: Account?
        package let kind: ProofKind
        /// The transaction or the order id that was posted, or the transaction that a receipt was posted for.
        package let number: String?
        /// What the app was built for, as it said.
        package let expectedEnvironment: String?
        package let state: SubmissionState
        package let reason: ReasonCode?
        package let receivedAt: Date
        package let reopenedAt: Date?
        package let settledAt: Date?
        package let dueAt: Date?
        package let alarmedAt: Date?
        package let attempts: Int
        package let correlationId: String
        package let isImported: Bool

        init(_ row: PostgresRow) throws {
            id = try row.decode("id")
            account = try row.accountIfPresent().flatMap { $0.text.isEmpty ? nil : $0 }
            kind = try row.known("kind")
            number = try row.decodeIfPresent("posted_number")
            expectedEnvironment = try row.decodeIfPresent("expected_environment")
            state = try row.known("state")
            reason = try row.reasonIfPresent()
            receivedAt = try row.decode("received_at")
            reopenedAt = try row.decodeIfPresent("reopened_at")
            settledAt = try row.decodeIfPresent("settled_at")
            dueAt = try row.decodeIfPresent("due_at")
            alarmedAt = try row.decodeIfPresent("alarmed_at")
            attempts = Int(try row.decode("attempts", as: Int32.self))
            correlationId = try row.decode("correlation_id")
            isImported = try row.decode("is_imported")
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

    /// One submission of an app with its outcome; nil where there is none.
    ///
    /// - Throws: `PostgresError`.
    package func find(_ id: String, app: String) async throws -> (row: Row, outcome: SubmissionOutcome?)? {
        let result = try await pool.query(
            "SELECT \(Self.columns), outcome FROM submissions WHERE id = \(id) AND app = \(app)")
        guard let row = result.rows.first else { return nil }
        return (try Row(row), try row.jsonIfPresent("outcome", as: SubmissionOutcome.self))
    }

    private static let columns: SQL = """
        id, account, kind, expected_environment, state, reason, received_at, reopened_at, settled_at, due_at, alarmed_at,
            attempts, correlation_id, is_imported,
            CASE WHEN kind IN ('transaction_id', 'order_id') THEN coalesce(named_transaction_id, partition_key)
                ELSE named_transaction_id END AS posted_number
        """

    /// By the submissions of an account, or by those of each state apart, as the indexes are.
    static func statement(_ selection: Selection, _ look: ListLook) -> SQL {
        let states = selection.state.map { [$0] } ?? SubmissionState.allCases.filter { $0 != .fulfilled }
        let branches: [SQL] =
            if let account = selection.account {
                [branch("account = \(account) AND account <> ''", selection, look)]
            } else {
                states.map {
                    branch("state = '\(unescaped: $0.rawValue)' AND \(Self.isUnfulfilled)", selection, look)
                }
            }
        return look.statement(
            branches,
            where: """
                (\(selection.state) IS NULL OR state = \(selection.state))
                    AND (\(selection.reason) IS NULL OR reason = \(selection.reason))
                    AND (\(selection.kind) IS NULL OR kind = \(selection.kind))
                """)
    }

    private static func branch(_ condition: SQL, _ selection: Selection, _ look: ListLook) -> SQL {
        let time = SubmissionStore.unsettledSince
        let rest: SQL =
            look.position.map { position -> SQL in
                let place = ListLook.time(position.number)
                return "AND \(time) <= \(place) AND (\(time), id) < (\(place), \(position.id))"
            } ?? ""
        return """
            SELECT \(columns), \(ListLook.number(time)) AS number, id AS list_id, '' AS list_environment
            FROM submissions WHERE \(condition) AND app = \(selection.app) \(rest)
            ORDER BY \(time) DESC, id DESC \(look.end)
            """
    }
}
