import Foundation
package import Postgres
package import PurchaseModel

/// The table `release_requests`: tokens that were registered, or by which orders were parked, until fulfillment has looked at
/// their orders.
///
/// Whoever registers a token and whoever parks an order for it both ask, each in the transaction of the act, so that it does
/// not matter which commits first: the later request finds both. A trigger asks for who registers; the exception are
/// intents, whose tokens nobody can have bought with before.
package enum ReleaseRequestStore {
    /// That the orders of a token may be released.
    package struct Request: Sendable {
        package let id: Int64
        package let token: AppToken
        /// The last of its orders that was looked at; nil at the beginning.
        package let after: OrderKey?
    }

    /// What became of requests that were taken.
    package struct Results: Sendable {
        /// All of their orders were looked at.
        package var finished: [Int64] = []
        /// How far those are that have more orders.
        package var advanced: [Int64: OrderKey] = [:]
        /// An order was another's at the moment.
        package var putOff: [Int64] = []

        package init() {}
    }

    /// Asks for the orders of tokens that were just parked, in the caller's transaction.
    ///
    /// - Throws: `PostgresError`.
    package static func add(_ tokens: Set<AppToken>, on connection: PostgresConnection) async throws {
        guard !tokens.isEmpty else { return }
        _ = try await connection.query(
            "INSERT INTO release_requests (app, token) SELECT * FROM unnest(\(tokens.map(\.app)), \(tokens.map(\.token)))"
        )
    }

    /// Takes requests, the oldest first, locked in the caller's transaction; what another has taken is passed over.
    ///
    /// - Throws: `PostgresError`.
    package static func take(limit: Int, on connection: PostgresConnection) async throws -> [Request] {
        let result = try await connection.query(
            """
            SELECT id, app, token, environment, transaction_id FROM release_requests
            WHERE due_at <= now() ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            """)
        return try result.map {
            (id: Int64, app: String, token: UUID, environment: StoreEnvironment?, transactionId: String?) in
            Request(
                id: id, token: AppToken(app: app, token: token),
                after: environment.flatMap { environment in
                    transactionId.map { OrderKey(environment: environment, transactionId: $0) }
                })
        }
    }

    /// Writes what became of requests, in the transaction that took them.
    ///
    /// - Parameter delay: after how long those come again that were put off.
    /// - Throws: `PostgresError`.
    package static func settle(
        _ results: Results, delay: Duration, on connection: PostgresConnection
    ) async throws {
        if !results.finished.isEmpty {
            _ = try await connection.query(
                "DELETE FROM release_requests WHERE id = ANY(\(results.finished))")
        }
        if !results.advanced.isEmpty {
            let advanced = results.advanced.sorted { $0.key < $1.key }
            _ = try await connection.query(
                """
                UPDATE release_requests r SET environment = new.environment, transaction_id = new.transaction_id
                FROM unnest(\(advanced.map(\.key)), \(advanced.map(\.value.environment)),
                    \(advanced.map(\.value.transactionId))) AS new (id, environment, transaction_id)
                WHERE r.id = new.id
                """)
        }
        if !results.putOff.isEmpty {
            _ = try await connection.query(
                "UPDATE release_requests SET due_at = now() + \(delay) WHERE id = ANY(\(results.putOff))")
        }
    }
}
