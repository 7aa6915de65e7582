package import Postgres

/// The table `webhook_resends`: deliveries that somebody asked to be made again.
///
/// Who asks writes rows here and nothing else; the notification service, whose deliveries they are, takes them up. So a
/// process that faces the players can have no webhook forgotten.
package struct WebhookResendStore: Sendable {
    /// The limits of one look and one request.
    package enum Limit {
        /// Deliveries that one statement looks at.
        package static let rowsPerLook = 1_000
        /// Deliveries that one transaction asks for.
        package static let rowsPerBatch = 1_000
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What is read of the deliveries that may be asked for.
    package var deliveries: DeliveryReading { DeliveryReading(pool: pool) }

    /// A place in the order of deliveries: what stands at it or before is done with.
    package struct Position: Sendable, Equatable {
        /// The event's id.
        package let event: String
        /// The endpoint's id.
        package let endpoint: String

        /// Makes one.
        package init(event: String, endpoint: String) {
            self.event = event
            self.endpoint = endpoint
        }
    }

    /// A delivery that is meant.
    package struct Match: Sendable, Equatable {
        /// Which.
        package let position: Position
        /// Its state when it was looked at.
        package let state: String
    }

    /// Some of the deliveries that are meant, the oldest events first.
    package struct Page: Sendable {
        /// The deliveries.
        package let matches: [Match]
        /// Where to go on; nil where that was all.
        package let next: Position?
    }

    /// Looks at some deliveries, and tells which of them are meant; none to an endpoint that was removed from the database, since
    /// nobody would ever take that up.
    ///
    /// - Parameters:
    ///   - position: where a page before has ended.
    ///   - limit: the most to find.
    /// - Throws: `PostgresError`.
    package func page(
        of selection: WebhookSelection, after position: Position?, limit: Int
    ) async throws -> Page {
        let sql = WebhookSelectionSQL(selection, after: position)
        let looked = try await pool.query(
            """
            WITH looked AS MATERIALIZED (
                SELECT d.event_id, d.endpoint_id, d.state \(sql.source)
                WHERE \((sql.reached + ["true"]).joined(separator: " AND "))
                ORDER BY d.event_id, d.endpoint_id LIMIT \(Limit.rowsPerLook)
            )
            SELECT d.event_id, d.endpoint_id, d.state,
                (\((sql.meant + ["NOT \(Self.isRemoved)"]).joined(separator: " AND "))) AS is_meant
            FROM looked d CROSS JOIN LATERAL (SELECT * FROM events WHERE id = d.event_id OFFSET 0) e
            ORDER BY d.event_id, d.endpoint_id
            """
        ).map { (event: String, endpoint: String, state: String, isMeant: Bool) in
            (match: Match(position: Position(event: event, endpoint: endpoint), state: state), isMeant: isMeant)
        }
        let matches = looked.filter(\.isMeant).map(\.match).prefix(limit)
        let isFull = matches.count == limit
        let end = isFull ? matches.last : looked.count == Limit.rowsPerLook ? looked.last?.match : nil
        return Page(matches: Array(matches), next: end?.position)
    }

    private static let isRemoved: SQL = """
        EXISTS (SELECT FROM webhook_endpoint_settings s WHERE s.id = d.endpoint_id AND s.removed_at IS NOT NULL)
        """

    /// Who asks, for the audit log.
    package struct Asker: Sendable {
        package let actor: String
        /// Why, in the asker's words.
        package let reason: String

        /// Makes one.
        package init(actor: String, reason: String) {
            self.actor = actor
            self.reason = reason
        }
    }

    /// Asks for deliveries to be made again, with a row in `audit_log` unless there is one already, in one transaction.
    ///
    /// - Parameters:
    ///   - subject: what is asked for, for the audit log.
    ///   - app: whose events alone; nil for all.
    ///   - auditId: the row of a batch before, of the same act.
    /// - Returns: the id of the row.
    /// - Throws: `PostgresError`.
    package func ask(
        for matches: [Match], subject: String, app: String?, asker: Asker, auditId: Int64? = nil
    ) async throws -> Int64 {
        try await pool.withTransaction { connection in
            _ = try await connection.query(
                """
                INSERT INTO webhook_resends (endpoint_id, event_id, state)
                SELECT * FROM unnest(\(matches.map(\.position.endpoint)), \(matches.map(\.position.event)),
                    \(matches.map(\.state))) ON CONFLICT DO NOTHING
                """)
            if let auditId { return auditId }
            return try await AuditLog.write(
                "resend_webhooks", of: subject, app: .named(app), actor: asker.actor, reason: asker.reason,
                on: connection
            ).id
        }
    }
}
