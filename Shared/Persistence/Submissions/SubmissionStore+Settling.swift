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
        package let state: SubmissionState

        package init(app: String, account: Account, kind: ProofKind, isServer: Bool, state: SubmissionState) {
            self.app = app
            self.account = account
            self.kind = kind
            self.isServer = isServer
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
            "SELECT id, app, account, kind, is_server, state FROM submissions WHERE id = ANY($1)", [.textArray(ids)])
        var rows: [String: Row] = [:]
        for row in result.rows {
            rows[try row.decode("id", as: String.self)] = Row(
                app: try row.decode("app"), account: try row.account(),
                kind: ProofKind(rawValue: try row.decode("kind")), isServer: try row.decode("is_server"),
                state: try row.submissionState())
        }
        return rows
    }

    /// Sets outcomes in the caller's transaction; a settled submission keeps the outcome it has, unless it is parked.
    ///
    /// - Throws: `PostgresError`.
    package static func settle(
        _ outcomes: [(id: String, outcome: SubmissionOutcome)], on connection: PostgresConnection
    ) async throws {
        guard !outcomes.isEmpty else { return }
        let bodies = try outcomes.map { String(decoding: try MessageCoding.encode($0.outcome), as: UTF8.self) }
        _ = try await connection.query(
            """
            UPDATE submissions SET state = settled.state, reason = settled.reason, outcome = settled.outcome,
                due_at = NULL, settled_at = now()
            FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[]) AS settled (id, state, reason, outcome)
            WHERE submissions.id = settled.id AND submissions.state IN ('received', 'parked')
            """,
            [
                .textArray(outcomes.map(\.id)), .textArray(outcomes.map(\.outcome.state.rawValue)),
                .textArray(outcomes.map(\.outcome.reason?.rawValue)), .jsonbArray(bodies),
            ])
    }
}
