import Messages
package import Postgres
import PurchaseModel

/// Submissions that were settled for a reason that may have passed, and are judged anew.
///
/// "Apple knows no such id" is an answer of its day: Apple may know it later, and an order of it may come from elsewhere. So is
/// every other rejection: of this version, of these settings, of what Apple answered then. Why:
/// `Shared/Decisions/0030-nothing-is-final.md`.
extension SubmissionStore {
    /// How often the same post opens its submission again.
    package enum ReopeningPace {
        /// The least time between a rejection and its first reopening by a post; doubled by each reopening.
        package static let interval = Duration.seconds(60)
        /// Where doubling ends.
        package static let intervalMaximum = Duration.seconds(3_600)
    }

    /// What was rejected because Apple knows no such id; the words of the index submissions_not_found.
    private static let isNotFound: SQL = """
        submissions.state = 'rejected' AND submissions.reason IN ('transaction_not_found', 'transaction_not_in_receipt')
            AND submissions.kind IN ('transaction_id', 'receipt') AND submissions.proof IS DISTINCT FROM ''
            AND length(coalesce(submissions.named_transaction_id, submissions.proof)) < 100
        """
    /// What a post of the same has judged anew: all that was rejected and is not the app's to finish, once its time has come
    /// and its proof is there.
    private static let isOpenToPosts: SQL = """
        submissions.state = 'rejected' AND submissions.outcome ->> 'finish' = 'false'
            AND submissions.settled_at + least(\(ReopeningPace.interval) * power(2, least(submissions.reopened_count, 20)),
                \(ReopeningPace.intervalMaximum)) <= now()
        """
    /// A new beginning; the reason stays until there is another.
    private static let assignments: SQL = """
        state = 'received', outcome = NULL, settled_at = NULL, alarmed_at = NULL, attempts = 0,
            not_found_count = 0, not_found_attempt = NULL, first_not_found_at = NULL, reopened_at = now()
        """

    /// Opens submissions again that were rejected because Apple knew no such id, and that named one of these transactions:
    /// due at once, in the caller's transaction.
    ///
    /// - Returns: how many there were.
    /// - Throws: `PostgresError`.
    @discardableResult
    package static func reopen(
        naming transactions: [(app: String, transactionId: String)], on connection: PostgresConnection
    ) async throws -> Int {
        guard !transactions.isEmpty else { return 0 }
        let result = try await connection.query(
            """
            WITH named AS MATERIALIZED (
                SELECT lookup.id FROM unnest(\(transactions.map(\.app)), \(transactions.map(\.transactionId)))
                    AS named (app, transaction_id)
                -- OFFSET 0: one look into the index for each, however few rejections the planner expects.
                CROSS JOIN LATERAL (
                    SELECT id FROM submissions
                    WHERE submissions.app = named.app AND \(isNotFound) AND \(hasProof)
                        AND coalesce(submissions.named_transaction_id, submissions.proof) = named.transaction_id
                    OFFSET 0) AS lookup
            ), found AS (
                SELECT id FROM submissions WHERE id = ANY(ARRAY(SELECT id FROM named)) AND state = 'rejected'
                ORDER BY id FOR UPDATE
            )
            UPDATE submissions SET due_at = now(), \(assignments) FROM found WHERE submissions.id = found.id
            RETURNING submissions.id
            """)
        return result.rows.count
    }

    /// What a post of something known changes.
    ///
    /// - The studio's server posts what a player posted before: the row is the server's from then on. If it waits for a
    ///   proof of possession, it is judged anew at once.
    /// - What was rejected, and is not to be finished, is judged anew, at the ``ReopeningPace``, by the proof of this post
    ///   where its own is gone; before its time it keeps its outcome.
    ///
    /// - Parameters:
    ///   - existing: the status of each of them.
    ///   - lease: as in ``accept(_:lease:)``.
    /// - Returns: those that were opened again, without their outcome.
    /// - Throws: `PostgresError`.
    func reopen(
        _ existing: [String: Status], posted: [NewSubmission], lease: Duration
    ) async throws -> [String: Status] {
        let servers = posted.filter(\.isServer).map(\.message.submissionId)
        let changed = servers.filter { existing[$0]?.isServer == false }
        if !changed.isEmpty {
            _ = try await pool.query(
                "UPDATE submissions SET is_server = true WHERE id = ANY(\(changed.sorted())) AND NOT is_server")
        }
        let unproven = servers.filter { existing[$0]?.outcome?.reason == .possessionUnproven }
        let rejected = existing.filter { $0.value.isOpenToPosts }.map(\.key)
        guard !unproven.isEmpty || !rejected.isEmpty else { return [:] }
        try await restoreProofs(of: posted.filter { unproven.contains($0.id) || rejected.contains($0.id) })
        let unprovenIds = SQL.once(unproven)
        let result = try await pool.query(
            """
            WITH found AS (
                SELECT submissions.id FROM submissions
                WHERE submissions.id = ANY(\(unprovenIds) || \(rejected)) AND (
                    submissions.id = ANY(\(unprovenIds)) AND submissions.state = 'parked'
                        AND submissions.reason = 'possession_unproven'
                    OR \(Self.isOpenToPosts) AND \(Self.hasProof))
                ORDER BY submissions.id FOR UPDATE
            )
            UPDATE submissions SET due_at = now() + \(lease), \(Self.assignments),
                reopened_count = reopened_count + 1
            FROM found WHERE submissions.id = found.id
            RETURNING submissions.id
            """)
        var reopened: [String: Status] = [:]
        for id in try result.map({ (id: String) in id }) {
            guard var status = existing[id] else { continue }
            status.outcome = nil
            status.wasNotFound = true
            reopened[id] = status
        }
        return reopened
    }
}

extension SubmissionStore.NewSubmission {
    fileprivate var id: String { message.submissionId }
}

extension SubmissionStore.Status {
    /// Whether it was rejected in a way that the same post may change.
    fileprivate var isOpenToPosts: Bool {
        guard let outcome else { return false }
        return outcome.state == .rejected && !outcome.finish
    }
}
