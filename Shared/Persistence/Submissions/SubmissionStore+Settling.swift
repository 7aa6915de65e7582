import Foundation
package import Messages
package import Postgres
package import PurchaseModel

/// What fulfillment reads and writes of submissions, in its own transaction.
extension SubmissionStore {
    /// Who posted a submission, as intake wrote it: a message is no source for that.
    package struct Row: Sendable, Hashable {
        /// The bundle id of the app it was posted for.
        package let app: String
        /// The account that posted it; empty where Apple did.
        package let account: Account
        package let kind: ProofKind
        /// Whether the studio's server key posted it.
        package let isServer: Bool
        /// Whether an import brought it from an older system.
        package let isImported: Bool
        package let state: SubmissionState
        /// What the earlier parts of a receipt in parts left parked, as it stood then.
        package let parkedParts: [TransactionOutcome]
        /// Whether its account is being forgotten, and the name is given nothing until that has its pseudonym.
        package let isDeferred: Bool
        /// Where it was posted before its account was to be forgotten: what becomes of that.
        package let forgotten: ForgetRequestStore.Forgotten?

        package init(
            app: String, account: Account, kind: ProofKind, isServer: Bool, isImported: Bool = false,
            state: SubmissionState, parkedParts: [TransactionOutcome] = [], isDeferred: Bool = false,
            forgotten: ForgetRequestStore.Forgotten? = nil
        ) {
            self.app = app
            self.account = account
            self.kind = kind
            self.isServer = isServer
            self.isImported = isImported
            self.state = state
            self.parkedParts = parkedParts
            self.isDeferred = isDeferred
            self.forgotten = forgotten
        }
    }

    /// The rows of submissions by id, in the caller's transaction; unknown ids are left out.
    ///
    /// - Throws: `PostgresError`.
    package static func rows(
        of ids: [String], on connection: PostgresConnection
    ) async throws -> [String: Row] {
        guard !ids.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT s.id, s.app, s.account, s.kind, s.is_server, s.is_imported, s.state, s.parked_parts::text AS parked_parts,
                \(ForgetRequestStore.isDeferred("s.account", in: "s.app")) AS is_deferred, r.pseudonym, r.requested_at, r.tokens
            FROM submissions s LEFT JOIN LATERAL (
                SELECT pseudonym, requested_at, tokens FROM forget_requests f
                WHERE f.account = s.account AND f.app = s.app AND f.requested_at >= s.received_at
                ORDER BY f.requested_at LIMIT 1) r ON true
            WHERE s.id = ANY(\(ids))
            """)
        let rows = try result.map {
            (
                id: String, app: String, account: Account, kind: ProofKind, isServer: Bool, isImported: Bool,
                state: SubmissionState, parkedParts: JSONColumn<[TransactionOutcome]>?, isDeferred: Bool,
                pseudonym: Account?, requestedAt: Date?, tokens: [String]?
            ) in
            (
                id,
                Row(
                    app: app, account: account, kind: kind, isServer: isServer, isImported: isImported, state: state,
                    parkedParts: parkedParts?.value ?? [], isDeferred: isDeferred,
                    forgotten: forgotten(as: pseudonym, at: requestedAt, tokens))
            )
        }
        return Dictionary(rows) { $1 }
    }

    /// - Returns: nil where nobody asked for it.
    private static func forgotten(
        as pseudonym: Account?, at requestedAt: Date?, _ tokens: [String]?
    ) -> ForgetRequestStore.Forgotten? {
        guard let pseudonym, let requestedAt, let tokens else { return nil }
        return ForgetRequestStore.Forgotten(
            pseudonym: pseudonym, requestedAt: requestedAt, tokens: Set(tokens.compactMap { UUID(uuidString: $0) }))
    }

    /// Remembers what parts of receipts left parked, for their last parts, in the caller's transaction.
    ///
    /// - Throws: `PostgresError`.
    package static func note(
        parkedParts parts: [String: [TransactionOutcome]], on connection: PostgresConnection
    ) async throws {
        let parts = parts.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
        guard !parts.isEmpty else { return }
        let bodies = try parts.map { String(decoding: try MessageCoding.encode($0.value), as: UTF8.self) }
        // A part may come again.
        _ = try await connection.query(
            """
            WITH noted AS (
                SELECT s.id, new.parts FROM unnest(\(parts.map(\.key)), \(json: bodies)) AS new (id, parts)
                JOIN submissions s USING (id) ORDER BY s.id FOR UPDATE OF s
            )
            UPDATE submissions s SET parked_parts = (
                SELECT jsonb_agg(DISTINCT part) FROM jsonb_array_elements(coalesce(s.parked_parts, '[]') || noted.parts) AS part)
            FROM noted WHERE s.id = noted.id
            """)
    }

    /// Has submissions without an outcome sent again after a while, in the caller's transaction; their reason stays.
    ///
    /// - Throws: `PostgresError`.
    package static func sendLater(_ ids: [String], after delay: Duration, on connection: PostgresConnection)
        async throws
    {
        guard !ids.isEmpty else { return }
        _ = try await connection.query(
            """
            WITH found AS (SELECT id FROM submissions WHERE id = ANY(\(ids)) AND state = 'received' ORDER BY id FOR UPDATE)
            UPDATE submissions s SET due_at = now() + \(delay) FROM found WHERE s.id = found.id
            """)
    }

    /// An outcome that was written, and is to be told after the commit.
    package struct Settled: Sendable {
        package let message: SettlementMessage
        /// Its exact bytes as JSON.
        package let body: String
    }

    /// Sets outcomes in the caller's transaction; a settled submission keeps the outcome it has, unless it is parked.
    ///
    /// - Throws: `PostgresError`.
    @discardableResult
    package static func settle(
        _ settlements: [SettlementMessage], on connection: PostgresConnection
    ) async throws -> [Settled] {
        guard !settlements.isEmpty else { return [] }
        let settled = try settlements.map { message in
            Settled(message: message, body: String(decoding: try MessageCoding.encode(message), as: UTF8.self))
        }
        _ = try await connection.query(
            """
            UPDATE submissions SET state = message #>> '{outcome,state}', reason = message #>> '{outcome,reason}',
                outcome = message -> 'outcome', due_at = NULL, settled_at = now()
            FROM unnest(\(settlements.map(\.submissionId)), \(json: settled.map(\.body))) AS settled (id, message)
            WHERE submissions.id = settled.id AND submissions.state IN ('received', 'parked')
            """)
        return settled
    }
}
