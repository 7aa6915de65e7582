package import Foundation
import Postgres
package import PurchaseModel

/// Notifications as an operator chooses them, to look at them or to have them judged again.
extension AppleNotificationStore {
    /// Which notifications: those that fit all that is set.
    package struct Selection: Sendable {
        /// Apple's UUIDs; empty for any.
        package var uuids: [String] = []
        package var app: String?
        package var environment: StoreEnvironment?
        package var type: String?
        package var subtype: String?
        /// Recorded at this instant or later.
        package var since: Date?
        /// Recorded before this instant.
        package var until: Date?

        package init() {}
    }

    /// A notification that was chosen.
    package struct Chosen: Codable, Sendable, Hashable {
        package let app: String
        package let uuid: String
        package let environment: StoreEnvironment
        package let type: String
        package let subtype: String?
        package let signedDate: Date?
        package let recordedAt: Date
        package let submissionId: String
        /// How its submission stands; nil where that was removed, since its retention is over.
        package let state: SubmissionState?
        /// Whether the signed text is there still: its retention may be over, or an account forgotten that it names.
        package let isWhole: Bool
    }

    /// The notifications of a selection, the oldest first.
    ///
    /// - Throws: `PostgresError`.
    package func select(_ selection: Selection, limit: Int) async throws -> [Chosen] {
        let result = try await pool.query(
            """
            SELECT n.app, n.notification_uuid AS uuid, n.environment, n.type, n.subtype, n.signed_date, n.recorded_at,
                n.submission_id, submissions.state,
                submissions.id IS NOT NULL AND \(SubmissionStore.hasProof) AS is_whole
            FROM apple_notifications n LEFT JOIN submissions ON submissions.id = n.submission_id
            WHERE \(Self.condition(selection)) ORDER BY n.recorded_at, n.app, n.notification_uuid LIMIT \(limit)
            """)
        return try result.map(Chosen.init)
    }

    private static func condition(_ selection: Selection) -> SQL {
        let uuids = SQL.once(selection.uuids)
        return """
            (cardinality(\(uuids)) = 0 OR n.notification_uuid = ANY(\(uuids)))
                AND (\(selection.app) IS NULL OR n.app = \(selection.app))
                AND (\(selection.environment) IS NULL OR n.environment = \(selection.environment))
                AND (\(selection.type) IS NULL OR n.type = \(selection.type))
                AND (\(selection.subtype) IS NULL OR n.subtype = \(selection.subtype))
                AND (\(selection.since) IS NULL OR n.recorded_at >= \(selection.since))
                AND (\(selection.until) IS NULL OR n.recorded_at < \(selection.until))
            """
    }
}
