package import Foundation
package import Postgres
package import PurchaseModel

/// The table `forget_requests`: which accounts are to be forgotten, until they are.
package struct ForgetRequestStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    package enum Limit {
        /// Characters of who asks, and of why: sentences, no essays.
        package static let text = 1_000
    }

    /// How far a request is.
    package struct Status: Sendable, Hashable {
        /// `fgt_` and 32 hexadecimal digits, which say nothing.
        package let id: String
        package let requestedAt: Date
        /// Nil while it is under way.
        package let finishedAt: Date?
        /// Why nothing was done until now; nil where nothing is in the way.
        package let waitsFor: String?
        /// How many rows were changed or removed, by table.
        package let changed: [String: Int64]
    }

    /// A request that is to be carried out.
    package struct Due: Sendable, Hashable {
        package let id: String
        package let app: String
        package let account: Account
        package let pseudonym: Account
        package let requestedAt: Date
        /// Whether all that was there at the request has the pseudonym; from then on the name is a new account's.
        package var isRenamed: Bool
    }

    /// What a request means for a submission that fulfillment is to settle.
    package struct Forgotten: Sendable, Hashable {
        /// What the poster is called from now on.
        package let pseudonym: Account
        package let requestedAt: Date
        /// The tokens that the account had.
        package let tokens: Set<UUID>
    }

    /// Asks for an account to be forgotten, as it is at this moment; until all of that has the pseudonym, asking again is the
    /// same request.
    ///
    /// Its tokens are written down with the request: who has registered one of them since is another account.
    ///
    /// - Parameters:
    ///   - actor: who asks, for the audit log; at most ``Limit/text`` characters, as the reason.
    ///   - reason: why.
    /// - Throws: `PostgresError`.
    @inline(never)
    package func ask(app: String, account: Account, actor: String, reason: String) async throws -> Status {
        let id = "fgt_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        let result = try await pool.query(
            """
            INSERT INTO forget_requests (id, app, account, pseudonym, asked_by, reason, tokens)
            VALUES (\(id), \(app), \(account), \(Account.pseudonym(UUID())), \(String(actor.prefix(Limit.text))),
                \(String(reason.prefix(Limit.text))), ARRAY(
                SELECT token::text FROM account_tokens WHERE account = \(account) AND app = \(app) ORDER BY 1))
            ON CONFLICT (account, app) WHERE account IS NOT NULL AND renamed_at IS NULL DO NOTHING
            RETURNING \(Self.columns)
            """)
        if let status = try Self.statuses(result).first { return status }
        let known = try await pool.query(
            "SELECT \(Self.columns) FROM forget_requests WHERE account = \(account) AND app = \(app) AND renamed_at IS NULL"
        )
        // It was finished in this very moment: whatever came since is another request.
        if let status = try Self.statuses(known).first { return status }
        return try await ask(app: app, account: account, actor: actor, reason: reason)
    }

    /// When somebody asked last; nil where nobody ever did.
    ///
    /// - Throws: `PostgresError`.
    package func newest() async throws -> Date? {
        let result = try await pool.query("SELECT max(requested_at) AS newest FROM forget_requests")
        return try result.rows.first?.decode(Date?.self) ?? nil
    }

    /// How far a request of an app is.
    ///
    /// - Returns: nil when the app has no such request.
    /// - Throws: `PostgresError`.
    package func find(_ id: String, app: String) async throws -> Status? {
        let result = try await pool.query(
            "SELECT \(Self.columns) FROM forget_requests WHERE id = \(id) AND app = \(app)")
        return try Self.statuses(result).first
    }

    /// Takes requests that are due, the oldest first, and leases each.
    ///
    /// - Throws: `PostgresError`.
    package func claimDue(limit: Int, lease: Duration) async throws -> [Due] {
        let result = try await pool.query(
            """
            UPDATE forget_requests SET due_at = now() + \(lease), attempts = attempts + 1
            WHERE id = ANY(ARRAY(
                SELECT id FROM forget_requests WHERE due_at <= now() ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED))
            RETURNING id, app, account, pseudonym, requested_at, renamed_at IS NOT NULL AS is_renamed
            """)
        return try result.map(Due.init)
    }

    /// Says when to go on, and what is in the way.
    ///
    /// - Throws: `PostgresError`.
    package func putOff(_ request: Due, by delay: Duration, waitsFor: String?) async throws {
        _ = try await pool.query(
            """
            UPDATE forget_requests SET due_at = now() + \(delay), waits_for = \(waitsFor)
            WHERE id = \(request.id) AND finished_at IS NULL
            """)
    }

    /// Writes down the account's tokens before they are removed from everywhere else.
    static func remember(tokens: [String], of request: Due, in pool: PostgresPool) async throws {
        _ = try await pool.query(
            "UPDATE forget_requests SET tokens = \(tokens) WHERE id = \(request.id) AND finished_at IS NULL")
    }

    /// Says that all that was there at the request has the pseudonym: what was held back since by the name goes on.
    ///
    /// Tokens that were registered since are looked at now: until here they meant nobody.
    static func markRenamed(_ request: Due, on connection: PostgresConnection) async throws {
        let since = try await connection.query(
            """
            WITH renamed AS (
                UPDATE forget_requests SET renamed_at = now() WHERE id = \(request.id) AND renamed_at IS NULL RETURNING account, app
            )
            SELECT t.app, t.token FROM renamed JOIN account_tokens t USING (account, app)
            """)
        try await ReleaseRequestStore.add(Set(try since.map(AppToken.init)), on: connection)
    }

    /// Whether a row was received at a moment before another request about the same account, which it belongs to, as SQL.
    ///
    /// - Parameters:
    ///   - request: the alias of the later one.
    ///   - received: when the row was received.
    static func isOfEarlier(than request: SQL, _ received: SQL) -> SQL {
        """
        EXISTS (SELECT FROM forget_requests earlier
            WHERE earlier.account = \(request).account AND earlier.app = \(request).app
                AND earlier.requested_at < \(request).requested_at AND \(received) <= earlier.requested_at)
        """
    }

    /// Whether the name of an account, in SQL, is of one that is being forgotten and has not all got its pseudonym yet: until
    /// then nothing is given by the name.
    ///
    /// - Parameters:
    ///   - name: an expression.
    ///   - app: an expression.
    static func isDeferred(_ name: SQL, in app: SQL) -> SQL {
        """
        EXISTS (SELECT FROM forget_requests open
            WHERE open.account = \(name) AND open.app = \(app) AND open.renamed_at IS NULL)
        """
    }

    /// Adds to what was changed, in the transaction that changed it.
    static func count(_ changed: [String: Int], of request: Due, on connection: PostgresConnection) async throws {
        let rows = changed.filter { $0.value > 0 }.sorted { $0.key < $1.key }
        guard !rows.isEmpty else { return }
        _ = try await connection.query(
            """
            UPDATE forget_requests SET waits_for = NULL, changed = changed || coalesce((
                SELECT jsonb_object_agg(name, coalesce((changed ->> name)::int8, 0) + count)
                FROM unnest(\(rows.map(\.key)), \(rows.map { Int64($0.value) })) AS new (name, count)), '{}')
            WHERE id = \(request.id) AND finished_at IS NULL
            """)
    }

    /// Ends a request: the row names nobody any more, and the audit log says who asked, why, and what the account became.
    ///
    /// - Throws: `PostgresError`.
    @inline(never)
    static func finish(_ request: Due, on connection: PostgresConnection) async throws {
        let result = try await connection.query(
            "SELECT asked_by, reason FROM forget_requests WHERE id = \(request.id) AND finished_at IS NULL FOR UPDATE")
        guard let (actor, reason) = try result.rows.first?.decode((String, String).self) else { return }
        _ = try await AuditLog.write(
            "forget", of: "\(request.app) \(request.pseudonym.text)", app: .named(request.app),
            actor: actor.replacingOccurrences(of: request.account.text, with: request.pseudonym.text),
            reason: reason.replacingOccurrences(of: request.account.text, with: request.pseudonym.text),
            on: connection)
        _ = try await connection.query(
            """
            UPDATE forget_requests SET finished_at = now(), due_at = NULL, account = NULL, pseudonym = NULL, tokens = '{}',
                asked_by = NULL, reason = NULL, waits_for = NULL
            WHERE id = \(request.id)
            """)
    }

    private static let columns: SQL = "id, requested_at, finished_at, waits_for, changed"

    private static func statuses(_ result: PostgresResult) throws -> [Status] {
        try result.map {
            (
                id: String, requestedAt: Date, finishedAt: Date?, waitsFor: String?,
                changed: JSONColumn<[String: Int64]>
            ) in
            Status(
                id: id, requestedAt: requestedAt, finishedAt: finishedAt, waitsFor: waitsFor, changed: changed.value)
        }
    }
}
