import Foundation
package import Postgres
package import PurchaseModel

/// The tables `lineages` and `binding_history`: whose everything is that has one original transaction id and is not used up.
package enum LineageStore {
    /// Locks lineages in the caller's transaction, sorted, before any order; those that are not there are made.
    ///
    /// A lineage that is made while orders of it are somebody's is that account's from the start: such orders were held
    /// without a lineage as long as nobody knew their product's type. What an operator said of its first order then is the
    /// beginning of its history.
    ///
    /// - Parameters:
    ///   - lineages: with the app's bundle id of each.
    ///   - isJoining: whether some may be another lineage's original ids by now; else the caller's transaction begins anew.
    /// - Throws: `PostgresError`; of SQLSTATE 40001 where one has become another lineage's meanwhile.
    package static func lock(
        _ lineages: [LineageKey: String], isJoining: Bool = false, on connection: PostgresConnection
    ) async throws -> [LineageKey: Lineage] {
        guard !lineages.isEmpty else { return [:] }
        let sorted = lineages.sorted { $0.key < $1.key }
        let new = try await make(sorted.map { (key: $0.key, app: $0.value) }, on: connection)
        let result = try await connection.query(
            """
            SELECT l.environment, l.original_transaction_id, l.app, l.account, l.cause, l.token, l.token_purchase_date,
                l.token_signed_date, l.bound_at, l.bound_signed_date, l.open_since,
                l.claimed_purchase_date, l.tokens_void_until,
                EXISTS (SELECT FROM lineage_members m WHERE (m.environment, m.original_transaction_id, m.app)
                    = (l.environment, l.original_transaction_id, l.app)) AS is_member
            FROM lineages l
            WHERE (l.environment, l.original_transaction_id) IN (SELECT * FROM \(SQL.rows(of: sorted.map(\.key))))
            ORDER BY l.environment, l.original_transaction_id
            FOR UPDATE OF l
            """)
        // Asked after the lock: whoever shared one meanwhile has committed.
        let sharers = try await sharers(of: sorted.map(\.key).filter { !new.contains($0) }, on: connection)
        let locked = try result.map {
            (
                environment: StoreEnvironment, originalTransactionId: String, app: String, account: Account?,
                cause: BindingChange.Cause?, token: UUID?, tokenPurchaseDate: Date?, tokenSignedDate: Date?,
                boundAt: Date?,
                boundSignedDate: Date?, openSince: Date?, claimedPurchaseDate: Date?, tokensVoidUntil: Date?,
                isMember: Bool
            ) in
            guard isJoining || !isMember else { throw joinedMeanwhile }
            let key = LineageKey(environment: environment, originalTransactionId: originalTransactionId)
            var lineage = Lineage(
                key: key, app: app, owner: account, cause: cause, sharers: sharers[key] ?? [],
                isStored: !new.contains(key))
            lineage.token = token
            lineage.tokenPurchaseDate = tokenPurchaseDate
            lineage.tokenSignedDate = tokenSignedDate
            lineage.boundDate = boundAt
            lineage.boundSignedDate = boundSignedDate
            lineage.openSince = openSince
            lineage.claimedPurchaseDate = claimedPurchaseDate
            lineage.tokensVoidUntil = tokensVoidUntil
            return lineage
        }
        guard locked.count == lineages.count else { throw joinedMeanwhile }
        return Dictionary(uniqueKeysWithValues: locked.map { ($0.key, $0) })
    }

    /// The transaction of the database runs again, and finds the lineage that it belongs to.
    private static let joinedMeanwhile = PostgresError(
        code: .statementFailed, reason: "a lineage was joined with another meanwhile", sqlState: "40001")

    /// Makes those that are not there; they are sorted by key.
    ///
    /// - Returns: those that are new.
    private static func make(
        _ lineages: [(key: LineageKey, app: String)], on connection: PostgresConnection
    ) async throws -> Set<LineageKey> {
        let made = try await connection.query(
            """
            WITH made AS (
                INSERT INTO lineages (environment, original_transaction_id, app, account, cause, bound_at)
                SELECT asked.*, o.account,
                    CASE WHEN o.account = h.to_account THEN h.cause
                        WHEN o.account IS NOT NULL THEN 'possession' END,
                    CASE WHEN o.account IS NOT NULL THEN now() END
                FROM unnest(\(lineages.map(\.key.environment)), \(lineages.map(\.key.originalTransactionId)),
                    \(lineages.map(\.app))) AS asked (environment, original_transaction_id, app)
                LEFT JOIN LATERAL (
                    SELECT account FROM orders
                    WHERE environment = asked.environment AND original_transaction_id = asked.original_transaction_id
                        AND app = asked.app AND account IS NOT NULL AND product_type <> 'consumable'
                    ORDER BY purchase_date, transaction_id LIMIT 1) o ON true
                LEFT JOIN LATERAL (
                    SELECT to_account, cause FROM binding_history
                    WHERE o.account IS NOT NULL AND environment = asked.environment
                        AND original_transaction_id = asked.original_transaction_id
                    ORDER BY id DESC LIMIT 1) h ON true
                WHERE NOT EXISTS (SELECT FROM lineages l
                    WHERE l.environment = asked.environment
                        AND l.original_transaction_id = asked.original_transaction_id)
                ORDER BY asked.environment, asked.original_transaction_id
                ON CONFLICT DO NOTHING
                RETURNING environment, original_transaction_id, app, account
            ), noted AS (
                INSERT INTO binding_history (environment, original_transaction_id, app, from_account, to_account, cause)
                SELECT environment, original_transaction_id, app, h.to_account, account, 'possession' FROM made
                LEFT JOIN LATERAL (
                    SELECT to_account FROM binding_history b
                    WHERE (b.environment, b.original_transaction_id)
                        = (made.environment, made.original_transaction_id) ORDER BY id DESC LIMIT 1) h ON true
                WHERE account IS NOT NULL AND account IS DISTINCT FROM h.to_account
            )
            SELECT environment, original_transaction_id FROM made
            """)
        return Set(try made.map(LineageKey.init(environment:originalTransactionId:)))
    }

    /// Which of them are there, whatever their owner; not locked.
    ///
    /// - Throws: `PostgresError`.
    package static func known(
        _ keys: Set<LineageKey>, on connection: PostgresConnection
    ) async throws -> Set<LineageKey> {
        guard !keys.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT environment, original_transaction_id FROM lineages
            JOIN \(SQL.rows(of: Array(keys))) AS asked (environment, original_transaction_id)
                USING (environment, original_transaction_id)
            """)
        return Set(try result.map(LineageKey.init(environment:originalTransactionId:)))
    }

    /// Writes whose lineages are now, and by which token, in the transaction that locked them.
    ///
    /// - Throws: `PostgresError`.
    package static func write(_ lineages: [Lineage], on connection: PostgresConnection) async throws {
        guard !lineages.isEmpty else { return }
        _ = try await connection.query(
            """
            UPDATE lineages SET account = new.account, cause = new.cause, token = new.token,
                token_purchase_date = new.token_purchase_date, token_signed_date = new.token_signed_date,
                bound_at = CASE WHEN lineages.account IS DISTINCT FROM new.account THEN now() ELSE bound_at END,
                bound_signed_date = new.bound_signed_date, open_since = new.open_since,
                claimed_purchase_date = new.claimed_purchase_date
            FROM unnest(\(lineages.map(\.key.environment)), \(lineages.map(\.key.originalTransactionId)),
                \(lineages.map(\.owner)), \(lineages.map(\.cause)), \(lineages.map(\.token)),
                \(lineages.map(\.tokenPurchaseDate)), \(lineages.map(\.tokenSignedDate)),
                \(lineages.map(\.boundSignedDate)), \(lineages.map(\.openSince)),
                \(lineages.map(\.claimedPurchaseDate)))
                AS new (environment, original_transaction_id, account, cause, token, token_purchase_date,
                    token_signed_date, bound_signed_date, open_since, claimed_purchase_date)
            WHERE lineages.environment = new.environment
                AND lineages.original_transaction_id = new.original_transaction_id
            """)
    }

    private static func sharers(
        of lineages: [LineageKey], on connection: PostgresConnection
    ) async throws -> [LineageKey: Set<Account>] {
        guard !lineages.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT environment, original_transaction_id, account FROM lineage_shares
            WHERE (environment, original_transaction_id) IN (SELECT * FROM \(SQL.rows(of: lineages)))
            """)
        let sharers = try result.map {
            (environment: StoreEnvironment, originalTransactionId: String, account: Account) in
            (LineageKey(environment: environment, originalTransactionId: originalTransactionId), Set([account]))
        }
        return Dictionary(sharers) { $0.union($1) }
    }
}
