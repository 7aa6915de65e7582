package import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// What people ask of calls to Apple: those of one purchase, and how they fare as a whole.
package struct AppleCallReading: Sendable {
    let pool: PostgresPool

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
            SELECT environment, order_transaction_id AS transaction_id FROM order_transactions
            WHERE transaction_id = \(transactionId) AND (\(environment) IS NULL OR environment = \(environment)) ORDER BY environment
            """)
        return try result.map(OrderKey.init)
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
            FROM apple_calls WHERE environment = \(order.environment) AND order_transaction_id = \(order.transactionId) ORDER BY id
            """)
        return try result.map(Call.init)
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
                WHERE c.kind = 'consumption' AND c.created_at > now() - \(days) * interval '1 day'
            ) requests
            """)
        guard let requests = try result.map(RefundRequests.init).first else {
            throw PostgresError(code: .decodingFailed, reason: "an aggregate gave no row")
        }
        return requests
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
            WHERE kind <> 'consumption' AND state IN ('refused', 'lapsed') AND finished_at > now() - \(days) * interval '1 day'
            GROUP BY kind ORDER BY kind
            """)
        return try result.map { (kind: String, count: Int64, example: String) in
            (kind: kind, count: count, example: example)
        }
    }
}
