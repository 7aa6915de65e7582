import Persistence
import Synchronization

/// Sends again the submissions that are due: after a crash, an outage of the broker, a worker's death, or a back-off.
final class SubmissionRedrive: Sendable {
    /// The most rows taken at once.
    static let batchMaximum = 500
    /// Where the doubling of a row's lease ends.
    static let leaseMaximum = Duration.seconds(600)

    /// Takes due rows; see `SubmissionStore.claimDue`.
    typealias Claim = @Sendable (_ limit: Int) async throws -> [SubmissionStore.NewSubmission]

    private let claim: Claim
    private let publish: SubmissionPublisher.Publish
    private let brokerAnswers = Mutex(true)

    /// Redrives what `claim` takes, with `publish`.
    init(claim: @escaping Claim, publish: @escaping SubmissionPublisher.Publish) {
        self.claim = claim
        self.publish = publish
    }

    /// Claims up to `limit` due rows and sends them.
    ///
    /// After a failure only one row is tried: every claim doubles its row's lease, and an outage of the broker must not
    /// push everything that waits to the longest one.
    ///
    /// - Returns: how many there were.
    /// - Throws: `PostgresError`.
    func callAsFunction(limit: Int) async throws -> Int {
        if brokerAnswers.withLock({ $0 }) { return try await sendDue(limit) }
        let probed = try await sendDue(1)
        guard probed > 0, brokerAnswers.withLock({ $0 }) else { return probed }
        return probed + (try await sendDue(limit))
    }

    private func sendDue(_ limit: Int) async throws -> Int {
        let due = try await claim(limit)
        guard !due.isEmpty else { return 0 }
        let failures = await publish(due)
        brokerAnswers.withLock { $0 = failures == 0 }
        return due.count
    }
}
