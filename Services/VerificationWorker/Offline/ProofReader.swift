import Logging
import Messages
import Persistence
import Postgres
import ServiceRuntime

/// Fetches proofs that were too large for a message from the table `submissions`.
struct ProofReader: Sendable {
    enum Limit {
        /// Large proofs that are in memory at a time: each may have megabytes.
        static let atOnce = 4
    }

    private let submissions: SubmissionStore?
    private let logger: Logger

    /// - Parameter pool: nil in a worker without a database.
    init(pool: PostgresPool?, logger: Logger) {
        submissions = pool.map { SubmissionStore(pool: $0) }
        self.logger = logger
    }

    /// The proof of a submission; nil when it cannot be read now.
    func proof(of submission: SubmissionMessage) async -> String? {
        guard submission.isClaimCheck else { return submission.proof }
        guard let submissions else { return nil }
        do {
            return try await submissions.proof(of: submission.submissionId)
        } catch {
            // Not thrown: a database that rests must not hold up what needs none.
            logger.warning(
                "a proof cannot be read from the database",
                metadata: .fields([.submission: "\(submission.submissionId)", .error: "\(error)"]))
            return nil
        }
    }
}
