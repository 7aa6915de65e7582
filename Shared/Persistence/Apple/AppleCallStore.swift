package import Foundation
package import Postgres
package import PurchaseModel

/// The table `apple_calls`: what Apple's servers are to be told, and what came of it.
///
/// Fulfillment queues calls in the transaction of what they follow from, and says what refund requests are answered with. The
/// verification workers lease what is ready, make the call, and write down what came of it.
package struct AppleCallStore: Sendable {
    package enum Limit {
        /// Apple takes an answer to a refund request for twelve hours (apple-facts C11).
        package static let answerTime = Duration.seconds(12 * 3_600)
        /// A request that is late when it comes, after an outage, is answered all the same for so long.
        package static let lateTime = Duration.seconds(3_600)
    }

    /// What a call does.
    package enum Kind: String, Sendable, Hashable, CaseIterable, PostgresEncodable, PostgresDecodable {
        /// Send Consumption Information: the answer to a refund request.
        case consumption
        /// Set App Account Token.
        case accountToken = "account_token"
        /// Finish Transaction.
        case finish
        /// Extend a Subscription Renewal Date.
        case `extension`
    }

    /// Where a call stands.
    package enum State: String, Sendable, Hashable, CaseIterable, PostgresEncodable, PostgresDecodable {
        /// A refund request without an answer yet.
        case asked
        /// To be made.
        case ready
        /// Apple took it.
        case done
        /// Apple refused it for good.
        case refused
        /// It was not made in time.
        case lapsed
        /// It is not to be made any more.
        case withdrawn
    }

    /// A call that follows from an order, and is made once.
    package struct NewCall: Sendable, Hashable {
        package let kind: Kind
        /// The order, by its own id.
        package let order: OrderKey
        /// The transaction that the call names; of ``Kind/accountToken`` the original one.
        package let transactionId: String
        /// The app's bundle id.
        package let app: String
        /// What ``Kind/accountToken`` sets.
        package var token: UUID?

        package init(kind: Kind, order: OrderKey, transactionId: String, app: String, token: UUID? = nil) {
            self.kind = kind
            self.order = order
            self.transactionId = transactionId
            self.app = app
            self.token = token
        }
    }

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Queues calls in the caller's transaction, after its orders were written; what was queued before stays as it is.
    ///
    /// - Parameter delay: after how long the first attempt is made.
    /// - Throws: `PostgresError`.
    package static func queue(
        _ calls: [NewCall], delay: Duration, on connection: PostgresConnection
    ) async throws {
        guard !calls.isEmpty else { return }
        let sorted = calls.sorted {
            ($0.order.environment.rawValue, $0.transactionId, $0.kind.rawValue)
                < ($1.order.environment.rawValue, $1.transactionId, $1.kind.rawValue)
        }
        _ = try await connection.query(
            """
            INSERT INTO apple_calls (kind, environment, app, transaction_id, order_transaction_id, account_token, state, due_at)
            SELECT kind, environment, app, transaction_id, order_transaction_id, account_token, 'ready',
                now() + \(delay)
            FROM unnest(
                \(sorted.map(\.kind)), \(sorted.map(\.order.environment)), \(sorted.map(\.app)),
                \(sorted.map(\.transactionId)), \(sorted.map(\.order.transactionId)), \(sorted.map(\.token)))
                AS new (kind, environment, app, transaction_id, order_transaction_id, account_token)
            ON CONFLICT DO NOTHING
            """)
    }
}
