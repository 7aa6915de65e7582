package import Foundation
package import Postgres
package import PurchaseModel

/// What callers read of deliveries: which there are, how they stand, and every attempt that was made.
///
/// Deliveries are found by their events' ids, the newest first, a bounded number of rows at a time, whatever is asked for.
package struct DeliveryReading: Sendable {
    /// The limits of one question.
    package enum Limit {
        /// Deliveries of a page.
        package static let page = 100
        /// Deliveries that one statement looks at.
        package static let rowsPerLook = 1_000
        /// Statements of one question.
        package static let looks = 10
        /// Attempts of a page.
        package static let attempts = 1_000
    }

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What is asked for: deliveries that all of these are true of.
    package struct Selection: Sendable, Equatable {
        /// The event's app.
        package var app: String?
        /// The event's environment.
        package var environment: StoreEnvironment?
        /// The endpoint's id.
        package var endpoint: String?
        /// The event's id.
        package var event: String?
        /// `pending`, `delivered` or `abandoned`.
        package var state: String?

        /// All deliveries.
        package init() {}
    }

    /// A place in the order of deliveries.
    package typealias Position = WebhookResendStore.Position

    /// An event's being sent to an endpoint.
    package struct Delivery: Sendable {
        package let event: String
        /// The event's type.
        package let type: String
        package let app: String
        package let environment: String
        package let endpoint: String
        /// `pending`, `delivered` or `abandoned`.
        package let state: String
        package let attempts: Int32
        package let createdAt: Date
        package let deliveredAt: Date?
        /// When it is tried next; nil when it is not, or waits for its turn.
        package let dueAt: Date?
        /// Whether it waits for an event of the same account that comes before it.
        package let waitsForTurn: Bool
        /// Of HTTP, of the last attempt that had an answer or none.
        package let lastStatus: Int32?
        package let lastError: String?
    }

    /// Some deliveries, the newest events first.
    package struct Page: Sendable {
        package let deliveries: [Delivery]
        /// Where to go on; nil where that was all.
        package let next: Position?
    }

    /// Reads a page.
    ///
    /// - Parameters:
    ///   - position: where a page before has ended.
    ///   - limit: the most deliveries; there may be fewer although there is a next page.
    /// - Throws: `PostgresError`.
    @inline(never)
    package func page(_ selection: Selection, after position: Position?, limit: Int) async throws -> Page {
        var deliveries: [Delivery] = []
        var next = position
        for _ in 1...Limit.looks {
            let look = try await look(selection, after: next, limit: limit - deliveries.count)
            deliveries += look.deliveries
            next = look.next
            if next == nil || deliveries.count >= limit { break }
        }
        return Page(deliveries: deliveries, next: next)
    }

    @inline(never)
    private func look(_ selection: Selection, after position: Position?, limit: Int) async throws -> Page {
        let result = try await pool.query(Self.looking(selection, after: position))
        var deliveries: [Delivery] = []
        for row in result.rows where try row.decode("is_meant") {
            let delivery = try Self.delivery(row)
            deliveries.append(delivery)
            guard deliveries.count < limit else {
                return Page(deliveries: deliveries, next: Position(event: delivery.event, endpoint: delivery.endpoint))
            }
        }
        guard result.rows.count == Limit.rowsPerLook, let last = result.rows.last else {
            return Page(deliveries: deliveries, next: nil)
        }
        let end = Position(event: try last.decode("event_id"), endpoint: try last.decode("endpoint_id"))
        return Page(deliveries: deliveries, next: end)
    }

    /// Down the key of deliveries; of one that was given up, down its own index.
    ///
    /// Of the first page another statement than of those after it: a condition with OR would have each page read all before it.
    private static func looking(_ selection: Selection, after position: Position?) -> SQL {
        let ofEvent: SQL = selection.event.map { "event_id = \($0)" } ?? "true"
        let isAbandoned: SQL = selection.state == "abandoned" ? "state = 'abandoned'" : "true"
        let rest: SQL = position.map { "(event_id, endpoint_id) < (\($0.event), \($0.endpoint))" } ?? "true"
        return """
            WITH looked AS MATERIALIZED (
                SELECT * FROM webhook_deliveries WHERE \(ofEvent) AND \(isAbandoned) AND \(rest)
                ORDER BY event_id DESC, endpoint_id DESC LIMIT \(Limit.rowsPerLook)
            )
            SELECT d.event_id, d.endpoint_id, d.state, d.attempts, d.created_at, d.delivered_at, d.last_status, d.last_error,
                nullif(d.due_at, \(DeliveryStore.behind)) AS due_at,
                coalesce(d.due_at = \(DeliveryStore.behind), false) AS waits_for_turn, e.type, e.app, e.environment,
                (\(selection.endpoint) IS NULL OR d.endpoint_id = \(selection.endpoint))
                    AND (\(selection.state) IS NULL OR d.state = \(selection.state))
                    AND (\(selection.app) IS NULL OR e.app = \(selection.app))
                    AND (\(selection.environment) IS NULL OR e.environment = \(selection.environment)) AS is_meant
            FROM looked d CROSS JOIN LATERAL (SELECT * FROM events WHERE id = d.event_id OFFSET 0) e
            ORDER BY d.event_id DESC, d.endpoint_id DESC
            """
    }

    private static func delivery(_ row: PostgresRow) throws -> Delivery {
        Delivery(
            event: try row.decode("event_id"), type: try row.decode("type"), app: try row.decode("app"),
            environment: try row.decode("environment"), endpoint: try row.decode("endpoint_id"),
            state: try row.decode("state"), attempts: try row.decode("attempts"),
            createdAt: try row.decode("created_at"), deliveredAt: try row.decodeIfPresent("delivered_at"),
            dueAt: try row.decodeIfPresent("due_at"), waitsForTurn: try row.decode("waits_for_turn"),
            lastStatus: try row.decodeIfPresent("last_status"), lastError: try row.decodeIfPresent("last_error"))
    }
}
