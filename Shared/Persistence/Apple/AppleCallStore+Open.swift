import Postgres

/// Refund requests without an answer at Apple, for monitoring; and how long what is over stays.
extension AppleCallStore {
    /// What open refund requests wait for.
    package enum Waiting: String, Sendable, Hashable, CaseIterable, PostgresDecodable {
        /// The account has not agreed that Apple is told: by the rules nothing is said.
        case consent
        /// Fulfillment, which makes the answer.
        case answer
        /// A worker, which tells Apple; or Apple, which does not take it.
        case call
    }

    /// Open refund requests that wait for the same.
    package struct OpenRequests: Sendable, Hashable {
        package let waiting: Waiting
        /// At most ``UndeliveredStore/countMaximum`` together.
        package let count: Int64
        /// Until Apple takes no answer to the first of them any more, below zero where it is late.
        package let secondsLeft: Double
    }

    /// Refund requests whose answer Apple does not have; what nothing waits for is left out.
    ///
    /// - Throws: `PostgresError`.
    package func openRequests() async throws -> [OpenRequests] {
        let result = try await pool.query(
            """
            SELECT waiting, count(*) AS count, extract(epoch FROM min(ends) - now())::float8 AS seconds_left FROM (
                SELECT CASE WHEN c.state = 'ready' THEN 'call' WHEN k.consented THEN 'answer' ELSE 'consent' END AS waiting,
                    \(Self.end) AS ends
                FROM (SELECT * FROM apple_calls WHERE due_at IS NOT NULL AND kind = 'consumption' LIMIT \(UndeliveredStore.countMaximum)) c
                LEFT JOIN orders o ON (o.environment, o.transaction_id) = (c.environment, c.order_transaction_id)
                LEFT JOIN account_consents k ON (k.account, k.app) = (o.account, o.app)) requests
            GROUP BY waiting ORDER BY waiting
            """)
        return try result.map(OpenRequests.init)
    }

    /// Removes calls that ended longer ago than `age`, the oldest first; what is still to be made stays, however old it is.
    ///
    /// - Returns: how many; fewer than the limit where no more is to be removed.
    /// - Throws: `PostgresError`.
    package func removeEnded(olderThan age: Duration, limit: Int) async throws -> Int {
        let result = try await pool.query(
            """
            DELETE FROM apple_calls WHERE id IN (
                SELECT id FROM apple_calls
                WHERE finished_at < now() - \(age) AND state NOT IN ('asked', 'ready')
                ORDER BY finished_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING 1 AS one
            """)
        return result.rows.count
    }
}
