import Foundation
import Postgres
import PurchaseModel

/// The rows that name an order, each found by an index.
extension OrderReadingStore {
    static func submissions(
        _ key: OrderKey, _ app: String, _ submissionIds: [String], on connection: PostgresConnection
    ) async throws -> [Submission] {
        // Submissions that were settled at once with an order that was there already are linked with nothing.
        let result = try await connection.query(
            """
            SELECT id, account, is_imported, kind, named_transaction_id, state, reason, attempts, received_at, settled_at, due_at
            FROM submissions
            WHERE id IN (
                SELECT submission_id FROM submission_transactions WHERE environment = \(key.environment) AND transaction_id = \(key.transactionId)
                UNION SELECT unnest(\(submissionIds))) AND app = \(app)
            ORDER BY received_at, id LIMIT \(rowsMaximum)
            """)
        return try result.map(Submission.init)
    }

    static func entries(_ key: OrderKey, on connection: PostgresConnection) async throws -> [Entry] {
        let result = try await connection.query(
            """
            SELECT kind, account, item, amount, created_at FROM ledger_entries
            WHERE environment = \(key.environment) AND transaction_id = \(key.transactionId) ORDER BY id LIMIT \(rowsMaximum)
            """)
        return try result.map(Entry.init)
    }

    static func entitlements(_ key: OrderKey, on connection: PostgresConnection) async throws -> [OwnedEntitlement] {
        let result = try await connection.query(
            """
            SELECT account, \(AccountStore.Entitlement.columns)
            FROM entitlements WHERE environment = \(key.environment) AND transaction_id = \(key.transactionId) ORDER BY account, entitlement LIMIT \(rowsMaximum)
            """)
        return try result.map {
            (
                account: String, name: String, transactionId: String, grantedAt: Date, expiresAt: Date?,
                revokedAt: Date?, revokedBecause: String?, isActive: Bool
            ) in
            OwnedEntitlement(
                account: account,
                entitlement: AccountStore.Entitlement(
                    name: name, transactionId: transactionId, grantedAt: grantedAt, expiresAt: expiresAt,
                    revokedAt: revokedAt, revokedBecause: revokedBecause, isActive: isActive))
        }
    }

    static func events(_ key: OrderKey, on connection: PostgresConnection) async throws -> [Event] {
        let result = try await connection.query(
            """
            SELECT id, type, account, sequence, body::jsonb #>> '{data,reason}' AS reason, created_at,
                NOT EXISTS (SELECT FROM event_outbox WHERE event_id = events.id) AS is_taken_over
            FROM events WHERE environment = \(key.environment) AND transaction_id = \(key.transactionId) ORDER BY created_at, id LIMIT \(rowsMaximum)
            """)
        return try result.map(Event.init)
    }

    static func deliveries(_ key: OrderKey, on connection: PostgresConnection) async throws -> [Delivery] {
        let result = try await connection.query(
            """
            SELECT d.event_id, d.endpoint_id, d.state, d.attempts, d.last_status, d.created_at, d.delivered_at,
                nullif(d.due_at, \(DeliveryStore.behind)) AS due_at
            FROM events e JOIN webhook_deliveries d ON d.event_id = e.id
            WHERE e.environment = \(key.environment) AND e.transaction_id = \(key.transactionId) ORDER BY d.created_at, d.event_id, d.endpoint_id LIMIT \(rowsMaximum)
            """)
        return try result.map(Delivery.init)
    }
}
