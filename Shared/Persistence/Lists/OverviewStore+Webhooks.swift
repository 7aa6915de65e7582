package import Foundation
import Postgres

/// What waits for an app's endpoints, or was given up for them.
extension OverviewStore {
    /// An endpoint, as far as the app's own events go.
    package struct Endpoint: Sendable, Hashable {
        package let id: String
        /// At most ``Limit/pending``.
        package let pending: Int64
        /// When the oldest of them was first due.
        package let oldestPending: Date?
        /// Of the ``Limit/abandoned`` of all apps that were written last.
        package let abandoned: Int64
        package let oldestAbandoned: Date?
        package let disabledAt: Date?
        package let disabledReason: String?
        package let failingSince: Date?
        /// Whether there may be more of either.
        package let isAtLeast: Bool

        init(_ row: PostgresRow) throws {
            id = try row.decode("id")
            pending = try row.decode("pending")
            oldestPending = try row.decodeIfPresent("oldest_pending")
            abandoned = try row.decode("abandoned")
            oldestAbandoned = try row.decodeIfPresent("oldest_abandoned")
            disabledAt = try row.decodeIfPresent("disabled_at")
            disabledReason = try row.decodeIfPresent("disabled_reason")
            failingSince = try row.decodeIfPresent("failing_since")
            isAtLeast = try row.decode("is_at_least")
        }
    }

    /// Endpoints that something of the app waits for, or was given up for, and its own that are switched off; by id.
    ///
    /// Deliveries have no app, their events have: so many of each endpoint are looked at.
    ///
    /// - Throws: `PostgresError`.
    package func endpoints(_ app: String) async throws -> [Endpoint] {
        try await pool.query(Self.endpointsStatement(app)).rows.map(Endpoint.init)
    }

    static func endpointsStatement(_ app: String) -> SQL {
        let (ofApp, own) = (SQL.once(app), SQL.once([app]))
        return """
            WITH RECURSIVE \(DueRowsStore.endpoints), pending AS (
                SELECT endpoint_id AS id, count(*) FILTER (WHERE e.app = \(ofApp)) AS count,
                    min(d.created_at) FILTER (WHERE e.app = \(ofApp)) AS oldest, count(*) >= \(Limit.pending) AS is_full
                FROM (SELECT endpoint_id FROM endpoints LIMIT \(unescaped: "\(Limit.endpoints)")) known CROSS JOIN LATERAL (
                    SELECT event_id, created_at FROM webhook_deliveries
                    WHERE endpoint_id = known.endpoint_id AND due_at IS NOT NULL
                    ORDER BY due_at LIMIT \(unescaped: "\(Limit.pending)")) d
                CROSS JOIN LATERAL (SELECT app FROM events WHERE id = d.event_id OFFSET 0) e
                GROUP BY endpoint_id
            ), given_up AS MATERIALIZED (
                SELECT event_id, endpoint_id, created_at FROM webhook_deliveries WHERE state = 'abandoned'
                ORDER BY event_id DESC, endpoint_id DESC LIMIT \(unescaped: "\(Limit.abandoned)")
            ), abandoned AS (
                SELECT d.endpoint_id AS id, count(*) AS count, min(d.created_at) AS oldest
                FROM given_up d CROSS JOIN LATERAL (SELECT app FROM events WHERE id = d.event_id OFFSET 0) e
                WHERE e.app = \(ofApp) GROUP BY d.endpoint_id
            ), off AS (
                SELECT s.id FROM webhook_endpoint_settings s JOIN webhook_endpoints e ON e.id = s.id
                WHERE s.apps = \(own) AND s.removed_at IS NULL AND e.disabled_at IS NOT NULL
            ), ids AS (
                SELECT id FROM pending WHERE count > 0 UNION SELECT id FROM abandoned UNION SELECT id FROM off
            )
            SELECT ids.id, coalesce(p.count, 0) AS pending, p.oldest AS oldest_pending, coalesce(a.count, 0) AS abandoned,
                a.oldest AS oldest_abandoned, e.disabled_at, e.disabled_reason, e.failing_since,
                coalesce(p.is_full, false) OR (SELECT count(*) FROM given_up) >= \(Limit.abandoned) AS is_at_least
            FROM ids LEFT JOIN pending p ON p.id = ids.id LEFT JOIN abandoned a ON a.id = ids.id
            LEFT JOIN webhook_endpoints e ON e.id = ids.id ORDER BY ids.id
            """
    }
}
