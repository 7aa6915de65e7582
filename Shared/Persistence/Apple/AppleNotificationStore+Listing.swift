package import Foundation
import Messages
import Postgres
package import PurchaseModel

/// An app's notifications as a backend lists them.
extension AppleNotificationStore {
    /// A notification, and what came of it.
    package struct Listed: Sendable {
        package let uuid: String
        package let environment: StoreEnvironment
        package let type: String
        package let subtype: String?
        package let signedDate: Date?
        package let recordedAt: Date
        package let submissionId: String
        /// How its submission stands; nil where that was removed, since its retention is over.
        package let state: SubmissionState?
        package let reason: ReasonCode?
        /// What it is about, as far as its submission says it.
        package let transactionIds: [String]

        init(_ row: PostgresRow) throws {
            uuid = try row.decode("uuid")
            environment = try row.environment()
            type = try row.decode("type")
            subtype = try row.decodeIfPresent("subtype")
            signedDate = try row.decodeIfPresent("signed_date")
            recordedAt = try row.decode("recorded_at")
            submissionId = try row.decode("submission_id")
            state = try row.decodeIfPresent("state", as: SubmissionState.self)
            reason = try row.reasonIfPresent()
            let outcome = try row.jsonIfPresent("outcome", as: SubmissionOutcome.self)
            transactionIds = outcome?.transactions.map(\.transactionId) ?? []
        }
    }

    /// A page of an app's notifications, those that came last first; there may be fewer than the limit although there is a next one.
    ///
    /// - Parameters:
    ///   - type: Apple's word.
    ///   - since: recorded then or later.
    /// - Throws: `PostgresError`.
    package func page(
        of app: String, environment: StoreEnvironment?, type: String?, since: Date?, after position: ListPosition?,
        limit: Int
    ) async throws -> ListPage<Listed> {
        try await ListLook.page(after: position, limit: limit, on: pool, Listed.init) {
            Self.statement(app, environment, type, since, $0)
        }
    }

    /// By type, or by environment, as the indexes are; the submissions only of what is told.
    static func statement(
        _ app: String, _ environment: StoreEnvironment?, _ type: String?, _ since: Date?, _ look: ListLook
    ) -> SQL {
        let branches: [SQL] =
            if let type {
                [branch("type = \(type)", app, since, look)]
            } else {
                (environment.map { [$0] } ?? StoreEnvironment.allCases).map {
                    branch("environment = \($0)", app, since, look)
                }
            }
        let looked = look.statement(branches, where: "(\(environment) IS NULL OR environment = \(environment))")
        return """
            SELECT looked.*, s.state, s.reason, s.outcome FROM (\(looked)) looked
            LEFT JOIN submissions s ON s.id = looked.submission_id AND looked.is_meant
            ORDER BY is_meant DESC, number DESC, list_id DESC
            """
    }

    private static func branch(_ condition: SQL, _ app: String, _ since: Date?, _ look: ListLook) -> SQL {
        let rest: SQL =
            look.position.map { position -> SQL in
                let time = ListLook.time(position.number)
                return "AND recorded_at <= \(time) AND (recorded_at, notification_uuid) < (\(time), \(position.id))"
            } ?? ""
        let first: SQL = since.map { "AND recorded_at >= \($0)" } ?? ""
        return """
            SELECT notification_uuid AS uuid, environment, type, subtype, signed_date, recorded_at, submission_id,
                \(ListLook.number("recorded_at")) AS number, notification_uuid AS list_id, '' AS list_environment
            FROM apple_notifications WHERE \(condition) AND app = \(app) \(first) \(rest)
            ORDER BY recorded_at DESC, notification_uuid DESC \(look.end)
            """
    }
}
