package import Foundation
package import Postgres
package import PurchaseModel

/// The table `operator_claims`: a person's word whose a parked order is, until fulfillment has taken it up.
package struct OperatorClaimStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A claim that was written down; fulfillment takes it up within seconds.
    package struct Noted: Sendable, Hashable {
        /// The id of its row in `audit_log`.
        package let auditId: Int64
        /// The order, by its own id.
        package let key: OrderKey
        /// When it was written.
        package let createdAt: Date
    }

    /// Why an operator cannot claim an order.
    package enum Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// No order of this environment has this transaction id.
        case orderNotFound
        /// The order is granted or revoked already.
        case orderNotParked(OrderState)
        /// The order is parked, but it has an account: its doubt is another one.
        case orderHasAccount(account: String, reason: ReasonCode?)
        /// Another claim of the order is not taken up yet.
        case alreadyClaimed(account: String)
        /// An empty account, actor or reason, or one that is too long.
        case invalid(field: String)

        /// A sentence for the operator.
        package var description: String {
            switch self {
            case .orderNotFound: "there is no such order in this environment"
            case .orderNotParked(let state): "the order is \(state.rawValue), and only a parked one can be claimed"
            case .orderHasAccount(let account, let reason):
                "the order is \(account)'s, and parked for another doubt: \(reason?.rawValue ?? "unknown")"
            case .alreadyClaimed(let account): "the order is claimed for \(account), and that is about to be done"
            case .invalid(let field): "\(field) must have 1 to \(Limit.text) characters"
            }
        }
    }

    enum Limit {
        /// Characters of an account, of an actor's name, of a reason: sentences, no essays.
        static let text = 1_000
    }

    /// A claim that fulfillment is to take up.
    package struct Due: Sendable {
        /// The id of its row in `audit_log`.
        package let auditId: Int64
        /// The order.
        package let key: OrderKey
        /// Whose it is said to be.
        package let account: Account
    }

    /// Writes down whose an order is, with a row in `audit_log`, in one transaction.
    ///
    /// An order can be claimed while it is parked without an account: because nobody claimed it (`unclaimed`), its token is
    /// nobody's (`account_token_unknown`), its data contradicts another's (`purchase_ambiguous`), or names no environment
    /// (`environment_missing`), or is signed under certificates that have expired (`signed_with_expired_certificate`): then the
    /// claim says that it was paid for.
    ///
    /// - Parameters:
    ///   - app: whose orders are meant; nil for every app's.
    ///   - transactionId: any of Apple's transaction ids of the order; claim and audit line name the order's own.
    ///   - account: whose it is.
    ///   - actor: who says so.
    ///   - reason: why, in the operator's words.
    /// - Throws: ``Refusal``; `PostgresError`. Then nothing was written.
    package func claim(
        app: String? = nil, environment: StoreEnvironment, transactionId: String, account: String, actor: String,
        reason: String
    ) async throws -> Noted {
        for (field, text) in [("account", account), ("actor", actor), ("reason", reason)]
        where !(1...Limit.text).contains(text.count) {
            throw Refusal.invalid(field: field)
        }
        return try await pool.withTransaction { connection in
            let key = try await Self.lockClaimable(
                OrderKey(environment: environment, transactionId: transactionId), of: app, on: connection)
            let line = try await AuditLog.write(
                "claim", of: "\(environment.rawValue) \(key.transactionId) \(account)", app: .ofOrder(key),
                actor: actor, reason: reason, on: connection)
            _ = try await connection.query(
                """
                INSERT INTO operator_claims (audit_id, environment, transaction_id, account)
                VALUES (\(line.id), \(environment), \(key.transactionId), \(account))
                """)
            return Noted(auditId: line.id, key: key, createdAt: line.createdAt)
        }
    }

    /// Locks the order that has a transaction id, so that two operators cannot claim it at once.
    ///
    /// - Returns: the order's own key.
    /// - Throws: ``Refusal``; `PostgresError`.
    private static func lockClaimable(
        _ anyKey: OrderKey, of app: String?, on connection: PostgresConnection
    ) async throws -> OrderKey {
        let result = try await connection.query(
            """
            SELECT o.transaction_id, o.state, o.reason, o.account FROM order_transactions i
            JOIN orders o ON (o.environment, o.transaction_id) = (i.environment, i.order_transaction_id)
            WHERE i.environment = \(anyKey.environment) AND i.transaction_id = \(anyKey.transactionId)
                AND o.app = coalesce(\(app), o.app) FOR UPDATE OF o
            """)
        let found = try result.map {
            (transactionId: String, state: OrderState, reason: ReasonCode?, account: String?) in
            (key: OrderKey(environment: anyKey.environment, transactionId: transactionId), state, reason, account)
        }
        guard let (key, state, reason, account) = found.first else { throw Refusal.orderNotFound }
        guard state == .parked else { throw Refusal.orderNotParked(state) }
        if let account { throw Refusal.orderHasAccount(account: account, reason: reason) }
        // Asked after the lock: whoever claimed it meanwhile has committed.
        let claims = try await connection.query(
            """
            SELECT account FROM operator_claims
            WHERE environment = \(key.environment) AND transaction_id = \(key.transactionId) AND due_at IS NOT NULL LIMIT 1
            """)
        if let account = try claims.map({ (account: String) in account }).first {
            throw Refusal.alreadyClaimed(account: account)
        }
        return key
    }

    /// Takes claims that are due, those that have waited longest, locked in the caller's transaction before everything else
    /// of it.
    ///
    /// - Throws: `PostgresError`.
    package static func due(limit: Int, on connection: PostgresConnection) async throws -> [Due] {
        let result = try await connection.query(
            """
            SELECT audit_id, environment, transaction_id, account FROM operator_claims c WHERE due_at <= now()
                AND NOT EXISTS (SELECT FROM orders o WHERE o.environment = c.environment
                    AND o.transaction_id = c.transaction_id AND \(ForgetRequestStore.isDeferred("c.account", in: "o.app")))
            ORDER BY due_at LIMIT \(limit) FOR UPDATE OF c SKIP LOCKED
            """)
        return try result.map {
            (auditId: Int64, environment: StoreEnvironment, transactionId: String, account: Account) in
            Due(
                auditId: auditId, key: OrderKey(environment: environment, transactionId: transactionId),
                account: account)
        }
    }

    /// Says that claims were taken up, in the caller's transaction.
    ///
    /// - Throws: `PostgresError`.
    package static func settle(_ auditIds: [Int64], on connection: PostgresConnection) async throws {
        guard !auditIds.isEmpty else { return }
        _ = try await connection.query(
            "UPDATE operator_claims SET due_at = NULL WHERE audit_id = ANY(\(auditIds))")
    }
}
