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
                SELECT submission_id FROM submission_transactions WHERE environment = $1 AND transaction_id = $2
                UNION SELECT unnest($3::text[])) AND app = $4
            ORDER BY received_at, id LIMIT $5
            """,
            parameters(key) + [.textArray(submissionIds), .text(app), .int8(Int64(rowsMaximum))])
        return try result.rows.map { row in
            Submission(
                id: try row.decode("id"), account: try row.decode("account"),
                isImported: try row.decode("is_imported"), kind: try row.decode("kind"),
                namedTransactionId: try row.decodeIfPresent("named_transaction_id"), state: try row.submissionState(),
                reason: try row.decodeIfPresent("reason", as: String.self).map(ReasonCode.init),
                attempts: Int(try row.decode("attempts", as: Int32.self)), receivedAt: try row.decode("received_at"),
                settledAt: try row.decodeIfPresent("settled_at"), dueAt: try row.decodeIfPresent("due_at"))
        }
    }

    static func entries(_ key: OrderKey, on connection: PostgresConnection) async throws -> [Entry] {
        let result = try await connection.query(
            """
            SELECT kind, account, item, amount, created_at FROM ledger_entries
            WHERE environment = $1 AND transaction_id = $2 ORDER BY id LIMIT $3
            """, parameters(key) + [.int8(Int64(rowsMaximum))])
        return try result.rows.map { row in
            Entry(
                kind: try row.decode("kind"), account: try row.decode("account"), item: try row.decode("item"),
                amount: try row.decode("amount"), createdAt: try row.decode("created_at"))
        }
    }

    static func entitlements(_ key: OrderKey, on connection: PostgresConnection) async throws -> [OwnedEntitlement] {
        let result = try await connection.query(
            """
            SELECT account, \(AccountStore.Entitlement.columns)
            FROM entitlements WHERE environment = $1 AND transaction_id = $2 ORDER BY account, entitlement LIMIT $3
            """, parameters(key) + [.int8(Int64(rowsMaximum))])
        return try result.rows.map { row in
            OwnedEntitlement(account: try row.decode("account"), entitlement: try AccountStore.Entitlement(row))
        }
    }

    static func events(_ key: OrderKey, on connection: PostgresConnection) async throws -> [Event] {
        let result = try await connection.query(
            """
            SELECT id, type, account, sequence, body::jsonb #>> '{data,reason}' AS reason, created_at,
                NOT EXISTS (SELECT FROM event_outbox WHERE event_id = events.id) AS is_taken_over
            FROM events WHERE environment = $1 AND transaction_id = $2 ORDER BY created_at, id LIMIT $3
            """, parameters(key) + [.int8(Int64(rowsMaximum))])
        return try result.rows.map { row in
            Event(
                id: try row.decode("id"), type: try row.decode("type"), account: try row.decodeIfPresent("account"),
                sequence: try row.decodeIfPresent("sequence"),
                reason: try row.decodeIfPresent("reason", as: String.self).map(ReasonCode.init),
                createdAt: try row.decode("created_at"), isTakenOver: try row.decode("is_taken_over"))
        }
    }

    static func deliveries(_ key: OrderKey, on connection: PostgresConnection) async throws -> [Delivery] {
        let result = try await connection.query(
            """
            SELECT d.event_id, d.endpoint_id, d.state, d.attempts, d.last_status, d.created_at, d.delivered_at,
                nullif(d.due_at, \(DeliveryStore.behind)) AS due_at
            FROM events e JOIN webhook_deliveries d ON d.event_id = e.id
            WHERE e.environment = $1 AND e.transaction_id = $2 ORDER BY d.created_at, d.event_id, d.endpoint_id LIMIT $3
            """, parameters(key) + [.int8(Int64(rowsMaximum))])
        return try result.rows.map { row in
            Delivery(
                eventId: try row.decode("event_id"), endpointId: try row.decode("endpoint_id"),
                state: try row.decode("state"), attempts: Int(try row.decode("attempts", as: Int32.self)),
                lastStatus: try row.decodeIfPresent("last_status", as: Int32.self).map(Int.init),
                createdAt: try row.decode("created_at"), deliveredAt: try row.decodeIfPresent("delivered_at"),
                dueAt: try row.decodeIfPresent("due_at"))
        }
    }
}
