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

        package init(
            app: String, account: Account, kind: ProofKind, isServer: Bool, isImported: Bool = false,
            state: SubmissionState
        ) {
            self.app = app
            self.account = account
            self.kind = kind
            self.isServer = isServer
            self.isImported = isImported
            self.state = state
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
            "SELECT id, app, account, kind, is_server, is_imported, state FROM submissions WHERE id = ANY($1)",
            [.textArray(ids)])
        var rows: [String: Row] = [:]
        for row in result.rows {
            rows[try row.decode("id", as: String.self)] = Row(
                app: try row.decode("app"), account: try row.account(),
                kind: ProofKind(rawValue: try row.decode("kind")), isServer: try row.decode("is_server"),
                isImported: try row.decode("is_imported"), state: try row.submissionState())
        }
        return rows
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
            FROM unnest($1::text[], $2::jsonb[]) AS settled (id, message)
            WHERE submissions.id = settled.id AND submissions.state IN ('received', 'parked')
            """, [.textArray(settlements.map(\.submissionId)), .jsonbArray(settled.map(\.body))])
        return settled
    }
}
