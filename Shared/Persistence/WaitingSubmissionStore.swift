public import Messages
public import Postgres
public import PurchaseModel

/// Parked rows of `submissions`, and the orders they wait for (`submission_transactions`).
public enum WaitingSubmissionStore {
    /// A submission that is parked, locked.
    public struct Waiting: Sendable {
        /// Its id.
        public let id: String
        /// The account that posted it.
        public let account: String
        /// What the app was told until now.
        public let outcome: SubmissionOutcome
    }

    /// The ids of the submissions that are parked because of these orders.
    ///
    /// Complete for orders that the caller's transaction holds locked: whoever parks a submission holds its orders.
    ///
    /// - Throws: `PostgresError`.
    public static func ids(
        waitingFor keys: [OrderKey], on connection: PostgresConnection
    ) async throws -> Set<String> {
        guard !keys.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT DISTINCT l.submission_id
            FROM unnest($1::text[], $2::text[]) AS asked (environment, transaction_id)
            JOIN submission_transactions l USING (environment, transaction_id)
            JOIN submissions s ON s.id = l.submission_id AND s.state = 'parked'
            """,
            [.textArray(keys.map(\.environment.rawValue)), .textArray(keys.map(\.transactionId))])
        return Set(try result.rows.map { try $0.decode("submission_id", as: String.self) })
    }

    /// Locks submissions in the order of their ids, so that concurrent batches cannot dead-lock.
    ///
    /// - Returns: those of `waiting` that are still parked, as they stand now.
    /// - Throws: `PostgresError`.
    public static func lock(
        _ ids: Set<String>, waiting: Set<String>, on connection: PostgresConnection
    ) async throws -> [Waiting] {
        guard !ids.isEmpty || !waiting.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT id, account, CASE WHEN state = 'parked' AND id = ANY($2) THEN outcome END AS outcome
            FROM submissions WHERE id = ANY($1) ORDER BY id FOR UPDATE
            """, [.textArray(ids.union(waiting).sorted()), .textArray(waiting.sorted())])
        return try result.rows.compactMap { row in
            guard let body = try row.decodeIfPresent("outcome", as: String.self) else { return nil }
            return Waiting(
                id: try row.decode("id"), account: try row.decode("account"),
                outcome: try MessageCoding.decode(SubmissionOutcome.self, from: Array(body.utf8)))
        }
    }

    /// Which of the transactions that their outcomes list the submissions wait for.
    ///
    /// - Throws: `PostgresError`.
    public static func awaited(
        by submissions: [Waiting], on connection: PostgresConnection
    ) async throws -> [String: Set<OrderKey>] {
        var asked: [(id: String, key: OrderKey)] = []
        for submission in submissions {
            for key in submission.outcome.transactions.compactMap(\.key) { asked.append((submission.id, key)) }
        }
        guard !asked.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT environment, transaction_id, submission_id
            FROM unnest($1::text[], $2::text[], $3::text[]) AS asked (environment, transaction_id, submission_id)
            JOIN submission_transactions USING (environment, transaction_id, submission_id)
            """,
            [
                .textArray(asked.map(\.key.environment.rawValue)), .textArray(asked.map(\.key.transactionId)),
                .textArray(asked.map(\.id)),
            ])
        var awaited: [String: Set<OrderKey>] = [:]
        for row in result.rows {
            guard let key = try OrderStore.key(row) else { continue }
            awaited[try row.decode("submission_id", as: String.self), default: []].insert(key)
        }
        return awaited
    }
}

extension TransactionOutcome {
    /// The order's key; nil where Apple's data names no environment, and there is no order.
    public var key: OrderKey? {
        environment.map { OrderKey(environment: $0, transactionId: transactionId) }
    }
}
