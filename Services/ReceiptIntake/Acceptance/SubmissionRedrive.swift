import EventProcessing
import Persistence
import Synchronization

/// Sends again the submissions that are due: after a crash, an outage of the broker, a worker's death, or a back-off.
final class SubmissionRedrive: Sendable {
    /// The most rows taken at once.
    static let batchMaximum = 500
    /// Where the doubling of a row's lease ends.
    static let leaseMaximum = Duration.seconds(600)

    /// Takes due rows; see `SubmissionStore.claimDue`.
    typealias Claim = @Sendable (_ limit: Int) async throws -> SubmissionStore.Claimed

    private let claim: Claim
    private let publish: SubmissionPublisher.Publish
    private let isHeld: @Sendable () -> Bool
    private let brokerAnswers = Mutex(true)

    /// Redrives what `claim` takes, with `publish`, unless it is held.
    init(
        claim: @escaping Claim, publish: @escaping SubmissionPublisher.Publish,
        isHeld: @escaping @Sendable () -> Bool = { false }
    ) {
        self.claim = claim
        self.publish = publish
        self.isHeld = isHeld
    }

    /// Claims up to `limit` due rows and sends them.
    ///
    /// After a failure only one row is tried: every claim doubles its row's lease, and an outage of the broker must not
    /// push everything that waits to the longest one.
    ///
    /// - Throws: `PostgresError`.
    func callAsFunction(limit: Int) async throws -> Redriver.Round {
        // Rows stay due, and their leases as they are.
        if isHeld() { return Redriver.Round(count: 0, isMoreDue: false) }
        if brokerAnswers.withLock({ $0 }) { return try await sendDue(limit) }
        let probed = try await sendDue(1)
        guard probed.count > 0, brokerAnswers.withLock({ $0 }) else {
            return Redriver.Round(count: probed.count, isMoreDue: false)
        }
        let rest = try await sendDue(limit)
        return Redriver.Round(count: probed.count + rest.count, isMoreDue: rest.isMoreDue)
    }

    private func sendDue(_ limit: Int) async throws -> Redriver.Round {
        let due = try await claim(limit)
        guard !due.submissions.isEmpty else { return Redriver.Round(count: 0, isMoreDue: false) }
        let failures = await publish(due.submissions)
        brokerAnswers.withLock { $0 = failures == 0 }
        // What the broker did not take is not followed by more: each claim doubles the leases of its rows.
        return Redriver.Round(count: due.submissions.count, isMoreDue: due.isMoreDue && failures == 0)
    }
}
