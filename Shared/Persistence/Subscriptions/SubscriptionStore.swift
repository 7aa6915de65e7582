package import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// The table `subscriptions`: where each stands, as it was last worked out.
package enum SubscriptionStore {
    /// Where a subscription stood when it was last worked out.
    package struct Known: Sendable {
        /// Which.
        package let lineage: LineageKey
        /// Whose it was.
        package let account: Account?
        /// Where it stood.
        package let standing: SubscriptionStanding
    }

    /// All that a subscription's standing follows from.
    package struct Basis: Sendable {
        /// Which.
        package let lineage: LineageKey
        /// The app's bundle id.
        package let app: String
        /// Whose it is: the lineage's owner; the current order's where the lineage has none.
        package let account: Account
        /// Of the order of the current period.
        package let correlationId: String
        /// The period that was bought last, without its evidence.
        package let current: Transaction
        /// The newest statement about the next renewal, without its evidence.
        package let renewal: RenewalStatement?
        /// The database's clock, read when all locks were taken: of two who work it out, the later has the later time.
        package let readAt: Date
    }

    /// Where a subscription stands now.
    package struct Derived: Sendable {
        /// What it follows from.
        package let basis: Basis
        /// Where it stands.
        package let standing: SubscriptionStanding

        /// Says where it stands.
        package init(basis: Basis, standing: SubscriptionStanding) {
            self.basis = basis
            self.standing = standing
        }
    }

    /// Whether an order `o` is a period of a subscription, and somebody's; `Transaction.isSubscriptionPeriod`.
    static let isOwnedPeriod: SQL = """
        o.state <> 'parked' AND o.account IS NOT NULL AND \(isPeriod)
        """
    static let isPeriod: SQL = "(o.expires_date IS NOT NULL AND o.product_type IN ('auto_renewable', 'unstated'))"

    /// Locks the rows of subscriptions, sorted, and reads them; those that are not there yet are left out.
    ///
    /// - Throws: `PostgresError`; `DecodingError`, for a row that nobody of us wrote.
    package static func lock(_ lineages: [LineageKey], on connection: PostgresConnection) async throws -> [Known] {
        let result = try await connection.query(
            """
            SELECT s.environment, s.original_transaction_id, s.account, s.standing::text AS standing
            FROM \(SQL.rows(of: lineages)) AS asked (environment, original_transaction_id)
            JOIN subscriptions s USING (environment, original_transaction_id)
            ORDER BY s.environment, s.original_transaction_id FOR UPDATE OF s
            """)
        return try result.map(known)
    }

    /// Takes subscriptions that the clock is due to change, for the transaction; what another has taken is passed over.
    ///
    /// - Parameters:
    ///   - now: nil for the database's clock.
    ///   - limit: the most to take.
    /// - Throws: `PostgresError`; `DecodingError`, for a row that nobody of us wrote.
    package static func claimDue(
        at now: Date?, limit: Int, on connection: PostgresConnection
    ) async throws -> [Known] {
        let result = try await connection.query(
            """
            SELECT environment, original_transaction_id, account, standing::text AS standing
            FROM subscriptions WHERE due_at <= coalesce(\(now), now())
            ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            """)
        return try result.map(known)
    }

    /// Reads what standings follow from; a lineage without a period that is somebody's is left out.
    ///
    /// - Throws: `PostgresError`; `DecodingError`, for rows that nobody of us wrote.
    package static func bases(
        of lineages: [LineageKey], on connection: PostgresConnection
    ) async throws -> [Basis] {
        guard !lineages.isEmpty else { return [] }
        return try await connection.query(selectBases(of: lineages)).map {
            (
                environment: StoreEnvironment, id: String, app: String, account: Account, correlationId: String,
                current: JSONColumn<Transaction>, renewal: JSONColumn<RenewalStatement>?, readAt: Date
            ) in
            Basis(
                lineage: LineageKey(environment: environment, originalTransactionId: id), app: app, account: account,
                correlationId: correlationId, current: current.value, renewal: renewal?.value, readAt: readAt)
        }
    }

    /// Writes where subscriptions stand.
    ///
    /// - Throws: `PostgresError`; `EncodingError`, which no standing causes.
    package static func write(_ derived: [Derived], on connection: PostgresConnection) async throws {
        guard !derived.isEmpty else { return }
        let standings = derived.map(\.standing)
        let lineages = derived.map(\.basis.lineage)
        let bodies = try standings.map { String(decoding: try MessageCoding.encode($0), as: UTF8.self) }
        _ = try await connection.query(
            """
            INSERT INTO subscriptions (environment, original_transaction_id, app, account, state, product_id,
                transaction_id, expires_date, access_until, due_at, standing)
            SELECT * FROM unnest(
                \(lineages.map(\.environment)), \(lineages.map(\.originalTransactionId)), \(derived.map(\.basis.app)),
                \(derived.map(\.basis.account)), \(standings.map(\.state.rawValue)), \(standings.map(\.productId)),
                \(standings.map(\.transactionId)), \(standings.map(\.expiresDate)), \(standings.map(\.accessUntil)),
                \(standings.map(\.changesAt)), \(json: bodies)
            ) AS new (environment, original_transaction_id)
            ORDER BY environment, original_transaction_id
            ON CONFLICT (environment, original_transaction_id) DO UPDATE SET app = excluded.app,
                account = excluded.account, state = excluded.state, product_id = excluded.product_id,
                transaction_id = excluded.transaction_id, expires_date = excluded.expires_date,
                access_until = excluded.access_until, due_at = excluded.due_at, changed_at = now(),
                standing = excluded.standing
            """)
    }

    /// Removes the rows of subscriptions of which no period is anybody's any more.
    ///
    /// - Throws: `PostgresError`.
    package static func remove(_ lineages: [LineageKey], on connection: PostgresConnection) async throws {
        guard !lineages.isEmpty else { return }
        _ = try await connection.query(
            """
            DELETE FROM subscriptions WHERE (environment, original_transaction_id) IN (
                SELECT * FROM \(SQL.rows(of: lineages)))
            """)
    }

    // The order in which the periods were bought is that of `[Transaction].periods`.
    private static func selectBases(of lineages: [LineageKey]) -> SQL {
        """
        SELECT asked.environment, asked.original_transaction_id, o.app,
            coalesce(l.account, o.account) AS account, o.correlation_id, (o.transaction - 'evidence')::text AS transaction,
            (r.statement - 'evidence')::text AS renewal, clock_timestamp() AS read_at
        FROM \(SQL.rows(of: lineages)) AS asked (environment, original_transaction_id)
        CROSS JOIN LATERAL (
            SELECT * FROM orders o
            WHERE o.environment = asked.environment AND o.original_transaction_id = asked.original_transaction_id
                AND \(isOwnedPeriod)
            ORDER BY o.purchase_date DESC, o.expires_date DESC, o.transaction_id COLLATE "C" DESC LIMIT 1
        ) o
        LEFT JOIN lineages l ON l.environment = asked.environment
            AND l.original_transaction_id = asked.original_transaction_id
        LEFT JOIN renewal_statements r ON r.environment = asked.environment
            AND r.original_transaction_id = asked.original_transaction_id
        ORDER BY asked.environment, asked.original_transaction_id
        """
    }

    private static func known(
        _ environment: StoreEnvironment, _ id: String, _ account: Account?, _ standing: JSONColumn<SubscriptionStanding>
    ) -> Known {
        Known(
            lineage: LineageKey(environment: environment, originalTransactionId: id), account: account,
            standing: standing.value)
    }
}
