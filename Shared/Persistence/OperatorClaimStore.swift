public import Foundation
public import Postgres
public import PurchaseModel

/// The table `operator_claims`: a person's word whose a parked order is, until fulfillment has taken it up.
public struct OperatorClaimStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A claim that was written down; fulfillment takes it up within seconds.
    public struct Noted: Sendable, Hashable {
        /// The id of its row in `audit_log`.
        public let auditId: Int64
        /// When it was written.
        public let createdAt: Date
    }

    /// Why an operator cannot claim an order.
    public enum Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// No order has this environment and transaction id.
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
        public var description: String {
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
    public struct Due: Sendable {
        /// The id of its row in `audit_log`.
        public let auditId: Int64
        /// The order.
        public let key: OrderKey
        /// Whose it is said to be.
        public let account: String
    }

    /// Writes down whose an order is, with a row in `audit_log`, in one transaction.
    ///
    /// An order can be claimed while it is parked without an account: because nobody claimed it (`unclaimed`), or because
    /// its token is nobody's (`account_token_unknown`).
    ///
    /// - Parameters:
    ///   - account: whose it is.
    ///   - actor: who says so.
    ///   - reason: why, in the operator's words.
    /// - Throws: ``Refusal``; `PostgresError`. Then nothing was written.
    public func claim(
        environment: StoreEnvironment, transactionId: String, account: String, actor: String, reason: String
    ) async throws -> Noted {
        for (field, text) in [("account", account), ("actor", actor), ("reason", reason)]
        where !(1...Limit.text).contains(text.count) {
            throw Refusal.invalid(field: field)
        }
        return try await pool.withTransaction { connection in
            try await Self.refuse(environment: environment, transactionId: transactionId, on: connection)
            let result = try await connection.query(
                """
                WITH noted AS (
                    INSERT INTO audit_log (actor, action, subject, reason) VALUES ($1, 'claim', $2, $3)
                    RETURNING id, created_at
                ), claimed AS (
                    INSERT INTO operator_claims (audit_id, environment, transaction_id, account)
                    SELECT id, $4, $5, $6 FROM noted
                )
                SELECT id, created_at FROM noted
                """,
                [
                    .text(actor), .text("\(environment.rawValue) \(transactionId) \(account)"), .text(reason),
                    .text(environment.rawValue), .text(transactionId), .text(account),
                ])
            guard let row = result.rows.first else { throw Refusal.orderNotFound }
            return Noted(auditId: try row.decode("id"), createdAt: try row.decode("created_at"))
        }
    }

    /// Locks the order, so that two operators cannot claim it at once.
    private static func refuse(
        environment: StoreEnvironment, transactionId: String, on connection: PostgresConnection
    ) async throws {
        let result = try await connection.query(
            """
            SELECT state, reason, account FROM orders WHERE environment = $1 AND transaction_id = $2 FOR UPDATE
            """, [.text(environment.rawValue), .text(transactionId)])
        guard let row = result.rows.first, let state = OrderState(rawValue: try row.decode("state")) else {
            throw Refusal.orderNotFound
        }
        guard state == .parked else { throw Refusal.orderNotParked(state) }
        if let account = try row.decodeIfPresent("account", as: String.self) {
            let reason = try row.decodeIfPresent("reason", as: String.self).map(ReasonCode.init)
            throw Refusal.orderHasAccount(account: account, reason: reason)
        }
        // Asked after the lock: whoever claimed it meanwhile has committed.
        let claims = try await connection.query(
            """
            SELECT account FROM operator_claims
            WHERE environment = $1 AND transaction_id = $2 AND due_at IS NOT NULL LIMIT 1
            """, [.text(environment.rawValue), .text(transactionId)])
        if let claim = claims.rows.first { throw Refusal.alreadyClaimed(account: try claim.decode("account")) }
    }

    /// Takes claims that are due, locked in the caller's transaction before everything else of it.
    ///
    /// - Throws: `PostgresError`.
    public static func due(limit: Int, on connection: PostgresConnection) async throws -> [Due] {
        let result = try await connection.query(
            """
            SELECT audit_id, environment, transaction_id, account FROM operator_claims WHERE due_at <= now()
            ORDER BY audit_id LIMIT $1 FOR UPDATE SKIP LOCKED
            """, [.int8(Int64(limit))])
        return try result.rows.compactMap { row in
            guard let key = try OrderStore.key(row) else { return nil }
            return Due(auditId: try row.decode("audit_id"), key: key, account: try row.decode("account"))
        }
    }

    /// Says that claims were taken up, in the caller's transaction.
    ///
    /// - Throws: `PostgresError`.
    public static func settle(_ auditIds: [Int64], on connection: PostgresConnection) async throws {
        guard !auditIds.isEmpty else { return }
        _ = try await connection.query(
            "UPDATE operator_claims SET due_at = NULL WHERE audit_id = ANY($1)", [.int8Array(auditIds)])
    }
}
