import Foundation
package import Messages
package import Postgres
package import PurchaseModel

/// The tables `events`, `event_outbox` and `account_sequences`: what happened, due until the notification service has it.
package struct EventStore: Sendable {
    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// An event as it is kept and sent.
    package struct StoredEvent: Sendable {
        /// Its id.
        package let id: String
        /// Its type.
        package let type: String
        /// The Kafka key.
        package let partitionKey: String
        /// W3C trace context of the request that led to it; nil where there was none.
        package let traceParent: String?
        /// The exact bytes.
        package let body: String

        /// Makes one.
        package init(id: String, type: String, partitionKey: String, traceParent: String?, body: String) {
            self.id = id
            self.type = type
            self.partitionKey = partitionKey
            self.traceParent = traceParent
            self.body = body
        }
    }

    /// Reserves numbers for new events of accounts, in the caller's transaction.
    ///
    /// - Parameter counts: how many each account needs.
    /// - Returns: the first number of each account.
    /// - Throws: `PostgresError`.
    package static func reserveSequences(
        _ counts: [Customer: Int], on connection: PostgresConnection
    ) async throws -> [Customer: Int64] {
        guard !counts.isEmpty else { return [:] }
        let list = counts.sorted { $0.key < $1.key }
        let result = try await connection.query(
            """
            INSERT INTO account_sequences (environment, app, account, last_sequence)
            SELECT * FROM unnest(\(list.map(\.key.environment)), \(list.map(\.key.app)), \(list.map(\.key.account)),
                \(list.map { Int64($0.value) }))
            ON CONFLICT (account, app, environment)
                DO UPDATE SET last_sequence = account_sequences.last_sequence + excluded.last_sequence
            RETURNING environment, app, account, last_sequence
            """)
        let first = try result.map { (environment: StoreEnvironment, app: String, account: Account, last: Int64) in
            let customer = Customer(environment: environment, app: app, account: account)
            return (customer, last - Int64(counts[customer] ?? 0) + 1)
        }
        return Dictionary(first) { first, _ in first }
    }

    /// Writes events in the caller's transaction, due after the lease unless the notification service has them by then.
    ///
    /// - Returns: the events as they are to be published after the commit.
    /// - Throws: `PostgresError`; `EncodingError`, which no event of ours causes.
    package static func insert(
        _ events: [PurchaseEvent], lease: Duration, on connection: PostgresConnection
    ) async throws -> [StoredEvent] {
        guard !events.isEmpty else { return [] }
        let stored = try events.map { event in
            StoredEvent(
                id: event.id, type: event.type,
                partitionKey: event.customer?.id ?? event.data.transaction?.originalTransactionId ?? event.id,
                traceParent: TraceContext.traceParent(event.correlationId),
                body: String(decoding: try MessageCoding.encode(event), as: UTF8.self))
        }
        let ids = SQL.once(events.map(\.id))
        _ = try await connection.query(
            """
            WITH outbox AS (
                INSERT INTO event_outbox (event_id, due_at)
                SELECT id, now() + \(lease) FROM unnest(\(ids)) AS new (id)
            )
            INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
            SELECT * FROM unnest(\(ids), \(events.map(\.type)), \(events.map(\.environment)), \(events.map(\.app)),
                \(events.map(\.customer?.id)), \(events.map(\.customer?.sequence)),
                \(events.map(\.data.transaction?.transactionId)),
                \(stored.map(\.partitionKey)), \(stored.map(\.body)))
            """)
        return stored
    }

    /// Takes events that are due, and gives each a new lease that doubles with every attempt.
    ///
    /// An event that is claimed is not taken: it is due when its claim ends.
    ///
    /// - Throws: `PostgresError`.
    package func claimDue(limit: Int, lease: Duration, leaseMaximum: Duration) async throws -> [StoredEvent] {
        let result = try await pool.query(
            """
            WITH due AS (
                UPDATE event_outbox SET attempts = attempts + (NOT \(Self.isClaimed))::int4,
                    due_at = CASE WHEN \(Self.isClaimed) THEN claimed_until
                        ELSE now() + least(\(lease.wholeMilliseconds) * power(2, least(attempts + 1, 20)),
                            \(leaseMaximum.wholeMilliseconds)) * interval '1 millisecond' END
                WHERE event_id = ANY(ARRAY(
                    SELECT event_id FROM event_outbox WHERE due_at <= now() ORDER BY due_at LIMIT \(limit)
                    FOR UPDATE SKIP LOCKED))
                RETURNING event_id, \(Self.isClaimed) AS is_claimed
            )
            SELECT id, type, partition_key, body FROM events
            WHERE id = ANY(ARRAY(SELECT event_id FROM due WHERE NOT is_claimed))
            """)
        return try Self.stored(result)
    }

    /// The events of these ids that are there.
    ///
    /// - Throws: `PostgresError`.
    static func stored(_ ids: [String], on connection: PostgresConnection) async throws -> [String: StoredEvent] {
        let result = try await connection.query(
            "SELECT id, type, partition_key, body FROM events WHERE id = ANY(\(ids))")
        return Dictionary(try stored(result).map { ($0.id, $0) }) { first, _ in first }
    }

    private static func stored(_ rows: PostgresResult) throws -> [StoredEvent] {
        try rows.map { (id: String, type: String, partitionKey: String, body: String) in
            StoredEvent(
                id: id, type: type, partitionKey: partitionKey, traceParent: TraceContext.traceParent(event: body.utf8),
                body: body)
        }
    }
}

/// An event that is to be told, as far as it is known before it has a number.
package struct EventDraft: Sendable {
    /// One of `PurchaseEvent`'s types.
    package var type: String
    /// Production or sandbox.
    package var environment: StoreEnvironment
    /// The app's bundle id.
    package var app: String
    /// Whose it is; nil while in doubt.
    package var account: Account?
    /// Follows a purchase from the request to the webhook.
    package var correlationId: String
    /// What is told.
    package var payload: PurchaseEvent.Payload

    /// Makes a draft.
    package init(
        type: String, environment: StoreEnvironment, app: String, account: Account?, correlationId: String,
        payload: PurchaseEvent.Payload
    ) {
        self.type = type
        self.environment = environment
        self.app = app
        self.account = account
        self.correlationId = correlationId
        self.payload = payload
    }

    fileprivate var token: AppToken? {
        payload.transaction?.appAccountToken.map { AppToken(app: app, token: $0) }
    }

    fileprivate var customer: Customer? {
        account.map { Customer(environment: environment, app: app, account: $0) }
    }
}

extension EventStore {
    /// Numbers events and writes them, in the caller's transaction; once in it, since accounts are locked in one order.
    ///
    /// - Parameter lease: after which they are published again, unless the notification service has them by then.
    /// - Returns: the events as they are to be published after the commit.
    /// - Throws: `PostgresError`.
    package static func write(
        _ drafts: [EventDraft], lease: Duration, on connection: PostgresConnection
    ) async throws -> [StoredEvent] {
        var counts: [Customer: Int] = [:]
        for draft in drafts {
            if let customer = draft.customer { counts[customer, default: 0] += 1 }
        }
        var next = try await reserveSequences(counts, on: connection)
        let references = try await IntentStore.references(of: Set(drafts.compactMap(\.token)), on: connection)
        let events = drafts.map { draft in
            var payload = draft.payload
            // Where the purchase went to another account, the number stays with the one that gave it.
            if let intent = draft.token.flatMap({ references[$0] }), draft.account ?? intent.account == intent.account {
                payload.reference = intent.reference
            }
            // Each event has its own instant, so that ids made in one batch still sort as they were made.
            let now = Date()
            var customer: PurchaseEvent.Customer?
            if let owner = draft.customer, let sequence = next[owner] {
                next[owner] = sequence + 1
                customer = PurchaseEvent.Customer(
                    id: owner.account.text, sequence: sequence, token: draft.payload.transaction?.appAccountToken)
            }
            return PurchaseEvent(
                id: EventIdentifier.event(at: now), type: draft.type, timestamp: now, environment: draft.environment,
                app: draft.app, customer: customer, correlationId: draft.correlationId, data: payload)
        }
        return try await insert(events, lease: lease, on: connection)
    }
}
