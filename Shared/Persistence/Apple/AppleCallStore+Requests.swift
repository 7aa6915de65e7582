package import Foundation
package import Postgres
package import PurchaseModel

/// Refund requests: Apple's CONSUMPTION_REQUEST, until it is known what is answered.
extension AppleCallStore {
    /// That Apple asks about a purchase.
    package struct Request: Sendable, Hashable {
        /// The order, by its own id.
        package let order: OrderKey
        /// The transaction that Apple named.
        package let transactionId: String
        /// The app's bundle id.
        package let app: String
        /// When Apple signed the request.
        package let requestedAt: Date
        /// Apple's `consumptionRequestReason`.
        package let reason: String?

        package init(order: OrderKey, transactionId: String, app: String, requestedAt: Date, reason: String?) {
            self.order = order
            self.transactionId = transactionId
            self.app = app
            self.requestedAt = requestedAt
            self.reason = reason
        }
    }

    /// Requests are rare: one lock keeps two processes from taking one refund for two.
    private static let advisoryLock: Int64 = 0x7265_6675_6e64

    /// Takes requests down, in the caller's transaction.
    ///
    /// Apple asks again under another UUID. What it signed within twelve hours of another request for the same transaction,
    /// before or after, is that request; so is what it signed before an answer to an earlier one reached it.
    ///
    /// - Returns: how many are new.
    /// - Throws: `PostgresError`.
    package static func ask(_ requests: [Request], on connection: PostgresConnection) async throws -> Int {
        guard !requests.isEmpty else { return 0 }
        _ = try await connection.query("SELECT pg_advisory_xact_lock(\(advisoryLock))::text")
        var count = 0
        // One after the other, so that each sees those before it; the earliest first.
        for request in requests.sorted(by: { $0.requestedAt < $1.requestedAt }) {
            let new = try await connection.query(
                """
                INSERT INTO apple_calls (kind, environment, app, transaction_id, order_transaction_id, state, due_at,
                    requested_at, deadline_at, request_reason)
                SELECT 'consumption', \(request.order.environment), \(request.app), \(request.transactionId),
                    \(request.order.transactionId), 'asked', now(), \(request.requestedAt),
                    \(request.requestedAt) + \(Limit.answerTime), \(request.reason)
                WHERE NOT EXISTS (SELECT FROM apple_calls
                    WHERE kind = 'consumption' AND environment = \(request.order.environment) AND transaction_id = \(request.transactionId)
                        AND (requested_at > \(request.requestedAt) - \(Limit.answerTime)
                                AND requested_at < \(request.requestedAt) + \(Limit.answerTime)
                            OR state = 'done' AND requested_at < \(request.requestedAt) AND finished_at > \(request.requestedAt)))
                ON CONFLICT DO NOTHING
                RETURNING 1 AS one
                """)
            count += new.rows.count
        }
        return count
    }

    /// A request whose answer is to be made.
    package struct Asked: Sendable {
        package let id: Int64
        /// The order, by its own id.
        package let order: OrderKey
        /// Whether its account agreed that Apple is told.
        package let hasConsent: Bool
        /// Why nothing can be said; nil while it can.
        package let isOver: Bool
    }

    /// What became of a request that was taken.
    package enum Decision: Sendable {
        /// This is to be said.
        case answer(ConsumptionAnswer)
        /// Nothing may be said as things are; looked at again at the end, or when somebody consents.
        case wait
        /// It is over.
        case lapse(String)
    }

    /// When a request is over: at Apple's deadline, or a while after it came where that was too late.
    static let end: SQL = """
        greatest(c.deadline_at, c.created_at + \(unescaped: "\(Limit.lateTime.wholeMilliseconds)") * interval '1 millisecond')
        """

    /// Requests whose answer is due to be made, locked in the caller's transaction; what another has taken is passed over.
    ///
    /// - Throws: `PostgresError`.
    package static func asked(limit: Int, on connection: PostgresConnection) async throws -> [Asked] {
        let result = try await connection.query(
            """
            SELECT c.id, c.environment, c.order_transaction_id, \(end) <= now() AS is_over,
                coalesce(k.consented, false) AS has_consent
            FROM apple_calls c
            LEFT JOIN orders o ON (o.environment, o.transaction_id) = (c.environment, c.order_transaction_id)
            LEFT JOIN account_consents k ON (k.account, k.app) = (o.account, o.app)
            WHERE c.state = 'asked' AND c.due_at <= now()
            ORDER BY c.due_at LIMIT \(limit) FOR UPDATE OF c SKIP LOCKED
            """)
        return try result.map {
            (id: Int64, environment: StoreEnvironment, orderId: String, isOver: Bool, hasConsent: Bool) in
            Asked(
                id: id, order: OrderKey(environment: environment, transactionId: orderId), hasConsent: hasConsent,
                isOver: isOver)
        }
    }

    /// Writes what became of a request, in the transaction that took it.
    ///
    /// - Throws: `PostgresError`.
    package static func decide(
        _ id: Int64, _ decision: Decision, on connection: PostgresConnection
    ) async throws {
        switch decision {
        case .answer(let answer):
            _ = try await connection.query(
                "UPDATE apple_calls SET state = 'ready', due_at = now(), answer = \(json: json(answer)) WHERE id = \(id)"
            )
        case .wait:
            _ = try await connection.query(
                "UPDATE apple_calls c SET due_at = \(end) WHERE id = \(id)")
        case .lapse(let why):
            _ = try await connection.query(
                """
                UPDATE apple_calls SET state = 'lapsed', due_at = NULL, finished_at = now(), outcome = \(why) WHERE id = \(id)
                """)
        }
    }

    /// Has the open requests about orders looked at again that have another owner now, in the transaction that gave them: what may be
    /// said, the owner says.
    ///
    /// - Throws: `PostgresError`.
    package static func reconsider(_ orders: Set<OrderKey>, on connection: PostgresConnection) async throws {
        guard !orders.isEmpty else { return }
        _ = try await connection.query(
            """
            WITH found AS (
                SELECT c.id FROM \(SQL.rows(of: orders.sorted())) AS asked (environment, transaction_id)
                JOIN apple_calls c
                    ON (c.environment, c.order_transaction_id) = (asked.environment, asked.transaction_id)
                WHERE c.kind = 'consumption' AND c.state IN ('asked', 'ready') ORDER BY c.id FOR UPDATE OF c
            )
            UPDATE apple_calls c SET state = 'asked', answer = NULL, due_at = now() FROM found WHERE c.id = found.id
            """)
    }

    /// Has the open requests of an account looked at again, in the transaction that changes its consent.
    ///
    /// What was to be said and is not said yet is taken back.
    ///
    /// - Throws: `PostgresError`.
    static func reconsider(
        app: String, account: Account, on connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            """
            UPDATE apple_calls c SET state = 'asked', answer = NULL, due_at = now()
            FROM orders o
            WHERE o.account = \(account) AND o.app = \(app)
                AND (c.environment, c.order_transaction_id) = (o.environment, o.transaction_id)
                AND c.kind = 'consumption' AND c.state IN ('asked', 'ready')
            """)
    }
}
