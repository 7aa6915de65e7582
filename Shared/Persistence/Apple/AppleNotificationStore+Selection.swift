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
            SELECT n.app, n.notification_uuid, n.environment, n.type, n.subtype, n.signed_date, n.recorded_at,
                n.submission_id, submissions.state,
                submissions.id IS NOT NULL AND \(SubmissionStore.hasProof) AS is_whole
            FROM apple_notifications n LEFT JOIN submissions ON submissions.id = n.submission_id
            WHERE \(Self.condition) ORDER BY n.recorded_at, n.app, n.notification_uuid LIMIT $8
            """, Self.parameters(selection) + [.int8(Int64(limit))])
        return try result.rows.map { row in
            Chosen(
                app: try row.decode("app"), uuid: try row.decode("notification_uuid"),
                environment: try row.environment(), type: try row.decode("type"),
                subtype: try row.decodeIfPresent("subtype"), signedDate: try row.decodeIfPresent("signed_date"),
                recordedAt: try row.decode("recorded_at"), submissionId: try row.decode("submission_id"),
                state: try row.decodeIfPresent("state", as: String.self) == nil ? nil : try row.submissionState(),
                isWhole: try row.decode("is_whole"))
        }
    }

    private static let condition = """
        (cardinality($1::text[]) = 0 OR n.notification_uuid = ANY($1)) AND ($2::text IS NULL OR n.app = $2)
            AND ($3::text IS NULL OR n.environment = $3) AND ($4::text IS NULL OR n.type = $4)
            AND ($5::text IS NULL OR n.subtype = $5) AND ($6::timestamptz IS NULL OR n.recorded_at >= $6)
            AND ($7::timestamptz IS NULL OR n.recorded_at < $7)
        """

    private static func parameters(_ selection: Selection) -> [PostgresValue] {
        [
            .textArray(selection.uuids), .text(selection.app), .text(selection.environment?.rawValue),
            .text(selection.type), .text(selection.subtype), .timestamptz(selection.since),
            .timestamptz(selection.until),
        ]
    }
}
