import Messages
import Persistence
import PurchaseModel

/// The use case of intake: write a proof down, hand it on, and answer with its outcome if that comes in time.
struct PurchaseSubmissions: Sendable {
    /// Looks up submissions; see `SubmissionStore.statuses`.
    typealias Statuses = @Sendable (_ ids: [String]) async throws -> [String: SubmissionStore.Status]

    let batcher: SubmissionBatcher
    let waiters: OutcomeWaiters
    let statuses: Statuses

    /// What a caller posts, checked as far as intake checks.
    struct Posting: Sendable {
        let app: String
        let account: String
        let proof: PurchaseProof
        var expectedEnvironment: StoreEnvironment?
        let correlationId: String
    }

    /// A submission that is on disk.
    struct Accepted: Sendable {
        /// The submission's id.
        let id: String
        /// Its outcome, where it had one already.
        let outcome: SubmissionOutcome?
        /// Listens for an outcome; ``answer(to:wait:connection:)`` ends that.
        fileprivate let waiter: Waiter?
    }

    /// Accepts a proof; it is on disk when this returns.
    ///
    /// - Parameter isAwaited: whether the caller is going to wait for the outcome.
    /// - Throws: `PostgresError`, `IntakeOverloadedError`; then the caller is to post again, which is harmless.
    func accept(_ posting: Posting, isAwaited: Bool) async throws -> Accepted {
        let proof = posting.proof
        let id = SubmissionIdentifier.make(
            app: posting.app, account: posting.account, kind: proof.kind, proof: proof.text,
            namedTransactionId: proof.namedTransactionId)
        // Before the row is written, since the outcome may come before the commit's answer does.
        let waiter = isAwaited ? waiters.register(id) : nil
        let submission = SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: id, app: posting.app, account: posting.account, kind: proof.kind, proof: proof.text,
                attempt: 0, correlationId: posting.correlationId, namedTransactionId: proof.namedTransactionId,
                expectedEnvironment: posting.expectedEnvironment, isAwaited: waiter != nil),
            partitionKey: PartitionKey.make(proof, account: posting.account))
        do {
            let acceptance = try await batcher.submit(submission)
            return Accepted(id: id, outcome: acceptance.status?.outcome, waiter: waiter)
        } catch {
            if let waiter { waiters.remove(waiter) }
            throw error
        }
    }

    /// What the caller is told, at the latest after its wait; called once, whatever becomes of the caller.
    ///
    /// - Parameters:
    ///   - wait: how long the caller waits for the outcome.
    ///   - connection: tells when the caller hangs up.
    func answer(
        to accepted: Accepted, wait: Duration, connection: ConnectionSignals.Connection
    ) async -> PurchaseAnswer {
        defer { if let waiter = accepted.waiter { waiters.remove(waiter) } }
        guard accepted.outcome == nil, let waiter = accepted.waiter else {
            return PurchaseAnswer(id: accepted.id, outcome: accepted.outcome)
        }
        return await answer(waiter, wait: wait, connection: connection)
    }

    /// The submission, if it is one that the caller may see.
    ///
    /// - Throws: `PostgresError`.
    func find(
        _ id: String, wait: Duration, connection: ConnectionSignals.Connection,
        isVisible: (SubmissionStore.Status) -> Bool
    ) async throws -> PurchaseAnswer? {
        let waiter = wait > .zero ? waiters.register(id) : nil
        defer { if let waiter { waiters.remove(waiter) } }
        guard let status = try await statuses([id])[id], isVisible(status) else { return nil }
        guard status.outcome == nil, let waiter else { return PurchaseAnswer(id: id, outcome: status.outcome) }
        return await answer(waiter, wait: wait, connection: connection)
    }

    private func answer(
        _ waiter: Waiter, wait: Duration, connection: ConnectionSignals.Connection
    ) async -> PurchaseAnswer {
        connection.onClose { waiter.finish(with: nil) }
        defer { connection.forget() }
        let id = waiter.submissionId
        if let outcome = await waiter.outcome(within: wait) { return PurchaseAnswer(id: id, outcome: outcome) }
        // One look, so that a lost hint is no lost answer. If the database cannot tell, "received" is still true.
        return PurchaseAnswer(id: id, outcome: try? await statuses([id])[id]?.outcome)
    }
}
