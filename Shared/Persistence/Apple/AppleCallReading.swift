package import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// What people ask of calls to Apple: those of one purchase, and how they fare as a whole.
package struct AppleCallReading: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A call as it stands.
    package struct Call: Codable, Sendable {
        package let kind: String
        package let state: String
        package let transactionId: String
        package let createdAt: Date
        package let finishedAt: Date?
        package let dueAt: Date?
        package let attempts: Int
        /// Of Apple's last answer, HTTP.
        package let status: Int?
        /// Apple's number in it.
        package let code: Int64?
        package let outcome: String?
        package let requestedAt: Date?
        package let deadlineAt: Date?
        package let requestReason: String?
        /// What was sent, byte for byte.
        package let body: String?
        package let apiVersion: Int?
    }

    /// The orders that have a transaction id, in one environment or in both.
    ///
    /// - Throws: `PostgresError`.
    package func orders(_ transactionId: String, environment: StoreEnvironment?) async throws -> [OrderKey] {
        let result = try await pool.query(
            """
            SELECT environment, order_transaction_id FROM order_transactions
            WHERE transaction_id = $1 AND ($2::text IS NULL OR environment = $2) ORDER BY environment
            """, [.text(transactionId), .text(environment?.rawValue)])
        return try result.rows.map { try $0.orderKey("order_transaction_id") }
    }

    /// What is known of the use of an order; nil where there is none.
    ///
    /// - Throws: `PostgresError`.
    package func consumption(_ order: OrderKey) async throws -> ConsumptionReading.Found? {
        try await pool.withTransaction { connection in
            try await Snapshot.begin(on: connection)
            return try await ConsumptionReading.find(order, on: connection)
        }
    }

    /// The calls of an order, the oldest first.
    ///
    /// - Throws: `PostgresError`.
    package func calls(of order: OrderKey) async throws -> [Call] {
        let result = try await pool.query(
            """
            SELECT kind, state, transaction_id, created_at, finished_at, due_at, attempts, status, code, outcome,
                requested_at, deadline_at, request_reason, body, api_version
            FROM apple_calls WHERE environment = $1 AND order_transaction_id = $2 ORDER BY id
            """, [.text(order.environment.rawValue), .text(order.transactionId)])
        return try result.rows.map { row in
            Call(
                kind: try row.decode("kind"), state: try row.decode("state"),
                transactionId: try row.decode("transaction_id"), createdAt: try row.decode("created_at"),
                finishedAt: try row.decodeIfPresent("finished_at"), dueAt: try row.decodeIfPresent("due_at"),
                attempts: Int(try row.decode("attempts", as: Int32.self)),
                status: try row.decodeIfPresent("status", as: Int32.self).map(Int.init),
                code: try row.decodeIfPresent("code"), outcome: try row.decodeIfPresent("outcome"),
                requestedAt: try row.decodeIfPresent("requested_at"),
                deadlineAt: try row.decodeIfPresent("deadline_at"),
                requestReason: try row.decodeIfPresent("request_reason"), body: try row.decodeIfPresent("body"),
                apiVersion: try row.decodeIfPresent("api_version", as: Int32.self).map(Int.init))
        }
    }

    /// How refund requests fare.
    package struct RefundRequests: Sendable, Hashable {
        /// Without an answer, and with consent: they are to be answered.
        package let open: Int64
        /// Seconds until the first of them is over.
        package let secondsLeft: Double?
        /// Without an answer, since nobody consents.
        package let withoutConsent: Int64
        /// Refused by Apple, or late although there was consent, within the last days.
        package let failed: Int64
        /// Answered within the last days.
        package let answered: Int64
    }

    /// How refund requests of the last days fare.
    ///
    /// - Throws: `PostgresError`.
    package func refundRequests(days: Int) async throws -> RefundRequests {
        let result = try await pool.query(
            """
            SELECT count(*) FILTER (WHERE is_open AND consents) AS open,
                min(extract(epoch FROM deadline_at - now())::float8) FILTER (WHERE is_open AND consents) AS seconds_left,
                count(*) FILTER (WHERE is_open AND NOT consents OR outcome = 'no_consent') AS without_consent,
                count(*) FILTER (WHERE state = 'refused' OR state = 'lapsed' AND outcome IS DISTINCT FROM 'no_consent') AS failed,
                count(*) FILTER (WHERE state = 'done') AS answered
            FROM (
                SELECT c.state, c.outcome, c.deadline_at, c.state IN ('asked', 'ready') AS is_open,
                    coalesce(k.consented, false) AS consents
                FROM apple_calls c
                LEFT JOIN orders o ON (o.environment, o.transaction_id) = (c.environment, c.order_transaction_id)
                LEFT JOIN account_consents k ON (k.account, k.app) = (o.account, o.app)
                WHERE c.kind = 'consumption' AND c.created_at > now() - $1 * interval '1 day'
            ) requests
            """, [.int8(Int64(days))])
        guard let row = result.rows.first else {
            throw PostgresError(code: .decodingFailed, reason: "an aggregate gave no row")
        }
        return RefundRequests(
            open: try row.decode("open"), secondsLeft: try row.decodeIfPresent("seconds_left"),
            withoutConsent: try row.decode("without_consent"), failed: try row.decode("failed"),
            answered: try row.decode("answered"))
    }

    /// Calls that Apple refused, or that were given up, within the last days, by kind; refund requests apart.
    ///
    /// - Throws: `PostgresError`.
    package func failures(days: Int) async throws -> [(kind: String, count: Int64, example: String)] {
        let result = try await pool.query(
            """
            SELECT kind, count(*) AS count, min(format('%s %s (%s)', environment, transaction_id, coalesce(outcome, state)))
                AS example
            FROM apple_calls
            WHERE kind <> 'consumption' AND state IN ('refused', 'lapsed') AND finished_at > now() - $1 * interval '1 day'
            GROUP BY kind ORDER BY kind
            """, [.int8(Int64(days))])
        return try result.rows.map { row in
            (try row.decode("kind"), try row.decode("count"), try row.decode("example"))
        }
    }
}
