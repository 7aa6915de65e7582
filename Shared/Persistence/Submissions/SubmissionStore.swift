package import Foundation
package import Messages
package import Postgres
import PurchaseModel

/// The table `submissions`: what was received and must get an outcome.
package struct SubmissionStore: Sendable {
    /// The most bytes of a proof that travels in a message; a larger one stays in its row, and is read from there.
    ///
    /// A signed transaction has 5 kB, a receipt of a hundred purchases 60 kB. Brokers take a megabyte.
    package static let messageProofBytesMaximum = 256 << 10
    /// The most bytes of proofs that one claim of due rows loads.
    package static let claimBytesMaximum = 16 << 20

    let pool: PostgresPool
    private let headers: ProofHeaders

    /// Works on the database of a pool.
    ///
    /// - Parameter headers: the headers that it leaves out of the proofs it writes.
    package init(pool: PostgresPool, headers: ProofHeaders = ProofHeaders()) {
        self.pool = pool
        self.headers = headers
    }

    /// A submission as it is accepted, or as it is sent.
    package struct NewSubmission: Sendable {
        /// What is to be verified.
        package let message: SubmissionMessage
        /// The key of its message: its lineage, as far as the proof says it.
        package let partitionKey: String
        /// Whether the studio's server key posted it, as opposed to a player's token.
        package let isServer: Bool
        /// Whether an import brought it from an older system.
        package let isImported: Bool

        /// Makes one.
        package init(
            message: SubmissionMessage, partitionKey: String, isServer: Bool = false, isImported: Bool = false
        ) {
            self.message = message
            self.partitionKey = partitionKey
            self.isServer = isServer
            self.isImported = isImported
        }

        /// The same as it is sent: without a proof that is larger than `messageProofBytesMaximum`.
        package var withClaimCheck: NewSubmission {
            guard message.proof.utf8.count > SubmissionStore.messageProofBytesMaximum else { return self }
            var message = message
            message.proof = ""
            message.isClaimCheck = true
            return NewSubmission(
                message: message, partitionKey: partitionKey, isServer: isServer, isImported: isImported)
        }
    }

    /// What is known of a submission.
    package struct Status: Sendable {
        /// The account that posted it.
        package let account: String
        /// The app it was posted for.
        package let app: String
        /// What kind of proof it is.
        package let kind: ProofKind
        /// The transaction that the app names as this account's, beside a receipt.
        package let namedTransactionId: String?
        /// Whether the studio's server key posted it.
        package var isServer: Bool
        /// When it was received.
        package let receivedAt: Date
        /// Whether Apple has answered that it knows no such id, which it may know by now.
        package var wasNotFound: Bool
        /// Its outcome; nil while it has none.
        package var outcome: SubmissionOutcome?

        /// Makes one.
        package init(
            account: String, app: String, kind: ProofKind, namedTransactionId: String? = nil, isServer: Bool = false,
            receivedAt: Date, wasNotFound: Bool = false, outcome: SubmissionOutcome? = nil
        ) {
            self.account = account
            self.app = app
            self.kind = kind
            self.namedTransactionId = namedTransactionId
            self.isServer = isServer
            self.receivedAt = receivedAt
            self.wasNotFound = wasNotFound
            self.outcome = outcome
        }
    }

    /// Writes many submissions in one statement and one commit; those that exist are left as they are, but for those that
    /// are to be judged anew (``reopen(_:posted:lease:)``).
    ///
    /// - Parameters:
    ///   - submissions: distinct ids, each with its whole proof.
    ///   - lease: after how long they are sent again unless they have an outcome by then.
    /// - Returns: the ids that are to be sent, new or reopened, and the status of those that existed.
    /// - Throws: `PostgresError`; then nothing was written, or the outcome is unknown and writing again is harmless.
    package func accept(
        _ submissions: [NewSubmission], lease: Duration
    ) async throws -> (new: Set<String>, existing: [String: Status]) {
        var proofs = submissions.map { headers.stored($0.message.proof) }
        let new: Set<String>
        do {
            new = try await insert(submissions, proofs: proofs, lease: lease)
        } catch let error as PostgresError where error.constraintName == ProofHeaders.constraint {
            // The database does not know a header any more: it is an older one, restored from a backup.
            headers.forget()
            proofs = submissions.map { headers.stored($0.message.proof) }
            new = try await insert(submissions, proofs: proofs, lease: lease)
        }
        let whole = zip(submissions, proofs).filter { $1.header == nil && new.contains($0.message.submissionId) }
        headers.note(whole.map(\.0.message))
        let known = submissions.filter { !new.contains($0.message.submissionId) }
        guard !known.isEmpty else { return (new, [:]) }
        let existing = try await statuses(of: known.map(\.message.submissionId))
        let reopened = try await reopen(existing, posted: known, lease: lease)
        return (new.union(reopened.keys), existing.merging(reopened) { $1 })
    }

    private func insert(
        _ submissions: [NewSubmission], proofs: [ProofHeaders.Stored], lease: Duration
    ) async throws -> Set<String> {
        let messages = submissions.map(\.message)
        // A submission and its proof are one statement, so that none is without the other. An unknown header is NULL, which the
        // table refuses.
        let inserted = try await pool.query(
            """
            WITH new AS MATERIALIZED (
                SELECT * FROM unnest(\(messages.map(\.submissionId)), \(messages.map(\.app)), \(messages.map(\.account)),
                    \(messages.map(\.kind)), \(submissions.map(\.partitionKey)), \(messages.map(\.correlationId)),
                    \(messages.map(\.namedTransactionId)), \(messages.map(\.expectedEnvironment)),
                    \(submissions.map(\.isServer)), \(proofs.map(\.proof)), \(proofs.map(\.rest)),
                    \(proofs.map(\.header)), \(messages.map { !$0.kind.isInRow }), \(submissions.map(\.isImported)))
                    AS new (id, app, account, kind, partition_key, correlation_id, named_transaction_id,
                    expected_environment, is_server, proof, proof_rest, proof_header, is_apart, is_imported)
            ), inserted AS (
                INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, named_transaction_id,
                    expected_environment, is_server, is_imported, proof, proof_at, due_at)
                SELECT id, app, account, kind, partition_key, correlation_id, named_transaction_id, expected_environment,
                    is_server, is_imported, CASE WHEN NOT is_apart THEN proof END, CASE WHEN is_apart THEN now() END,
                    now() + \(lease)
                FROM new ORDER BY id
                ON CONFLICT (id) DO NOTHING
                RETURNING id
            ), proofs AS (
                INSERT INTO submission_proofs (submission_id, received_at, proof, rest, header)
                SELECT id, now(), proof, proof_rest,
                    (SELECT fingerprint FROM proof_headers WHERE fingerprint = new.proof_header)
                FROM new JOIN inserted USING (id) WHERE is_apart
            )
            SELECT id FROM inserted
            """)
        return Set(try inserted.map { (id: String) in id })
    }

    /// The status of submissions by id; unknown ids are left out.
    ///
    /// - Throws: `PostgresError`.
    package func statuses(of ids: [String]) async throws -> [String: Status] {
        let result = try await pool.query(
            """
            SELECT id, account, app, kind, named_transaction_id, is_server, received_at,
                not_found_count > 0 OR reopened_at IS NOT NULL AS was_not_found, outcome
            FROM submissions WHERE id = ANY(\(ids))
            """)
        let statuses = try result.map {
            (
                id: String, account: String, app: String, kind: ProofKind, namedTransactionId: String?, isServer: Bool,
                receivedAt: Date, wasNotFound: Bool, outcome: JSONColumn<SubmissionOutcome>?
            ) in
            (
                id,
                Status(
                    account: account, app: app, kind: kind, namedTransactionId: namedTransactionId, isServer: isServer,
                    receivedAt: receivedAt, wasNotFound: wasNotFound, outcome: outcome?.value)
            )
        }
        return Dictionary(statuses) { $1 }
    }

    /// The proof of a row of `submissions`, whole, as SQL; NULL where it or its header is missing, and never a part of it.
    static let wholeProof: SQL = """
        CASE WHEN submissions.proof_at IS NULL THEN submissions.proof ELSE (
            SELECT coalesce(apart.proof, (SELECT known.header || '.' || apart.rest FROM proof_headers known
                WHERE known.fingerprint = apart.header))
            FROM submission_proofs apart
            WHERE apart.received_at = submissions.proof_at AND apart.submission_id = submissions.id) END
        """

    /// Whether a row of `submissions` has its proof still, as SQL.
    static let hasProof: SQL = """
        (submissions.proof IS DISTINCT FROM '' AND (submissions.proof_at IS NULL OR EXISTS (
            SELECT FROM submission_proofs apart
            WHERE apart.received_at = submissions.proof_at AND apart.submission_id = submissions.id)))
        """

    /// The proof of a submission, whole: for who was sent a claim check.
    ///
    /// - Returns: nil when there is no such submission, or its header is missing.
    /// - Throws: `PostgresError`.
    package func proof(of id: String) async throws -> String? {
        let result = try await pool.query("SELECT \(Self.wholeProof) AS proof FROM submissions WHERE id = \(id)")
        return try result.rows.first?.decode(String?.self) ?? nil
    }
}
