package import Foundation
import Postgres
package import PurchaseModel

/// Whose data people looked at, as it is listed.
extension ViewStore {
    /// Which views; all conditions have to be true.
    package struct Selection: Sendable {
        package var account: Account?
        package var actor: String?
        package var since: Date?
        /// Views of nothing but this environment's; nil for all.
        package var environment: StoreEnvironment?

        package init() {}
    }

    /// One view of one account or order.
    package struct Row: Sendable {
        package let id: Int64
        package let createdAt: Date
        package let actor: String
        package let route: String
        package let requestId: String
        package let subject: Subject

        init(_ row: PostgresRow) throws {
            id = try row.decode("id")
            createdAt = try row.decode("created_at")
            actor = try row.decode("actor")
            route = try row.decode("route")
            requestId = try row.decode("request_id")
            subject = Subject(
                environment: try row.decodeIfPresent("environment"), account: try row.accountIfPresent(),
                transactionId: try row.decodeIfPresent("transaction_id"))
        }
    }

    /// A page of an app's views, the newest first; there may be fewer than the limit although there is a next one.
    ///
    /// - Throws: `PostgresError`.
    package func page(
        of app: String, _ selection: Selection, after position: ListPosition?, limit: Int
    ) async throws -> ListPage<Row> {
        try await ListLook.page(after: position, limit: limit, on: pool, Row.init) {
            Self.statement(app, selection, $0)
        }
    }

    static func statement(_ app: String, _ selection: Selection, _ look: ListLook) -> SQL {
        let rest: SQL = look.position.map { "AND id < \($0.number)" } ?? ""
        let ofAccount: SQL = selection.account.map { "AND account = \($0)" } ?? ""
        let branch: SQL = """
            SELECT *, id AS number, '' AS list_id, '' AS list_environment
            FROM views WHERE app = \(app) \(ofAccount) \(rest) ORDER BY id DESC \(look.end)
            """
        return look.statement(
            [branch],
            where: """
                (\(selection.actor) IS NULL OR actor = \(selection.actor)) AND (\(selection.since) IS NULL OR created_at >= \(selection.since))
                    AND (\(selection.environment) IS NULL OR environment = \(selection.environment))
                """)
    }
}
