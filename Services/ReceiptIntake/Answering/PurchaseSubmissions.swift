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
    struct Proof: Sendable {
        let app: String
        let account: String
        let jws: CompactJWS
        let correlationId: String
    }

    /// Accepts a proof; it is on disk when this returns.
    ///
    /// - Parameters:
    ///   - wait: how long the caller waits for the outcome.
    ///   - connection: tells when the caller hangs up.
    /// - Throws: `PostgresError`, `IntakeOverloadedError`; then the caller is to post again, which is harmless.
    func submit(_ proof: Proof, wait: Duration, connection: ConnectionSignals.Connection) async throws -> PurchaseAnswer
    {
        let id = SubmissionIdentifier.make(
            app: proof.app, account: proof.account, kind: .signedTransaction, proof: proof.jws.text)
        let submission = SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: id, app: proof.app, account: proof.account, kind: .signedTransaction,
                proof: proof.jws.text, attempt: 0, correlationId: proof.correlationId),
            partitionKey: PartitionKey.make(proof: proof.jws, account: proof.account))
        // Before the row is written, since the outcome may come before the commit's answer does.
        let waiter = wait > .zero ? waiters.register(id) : nil
        defer { if let waiter { waiters.remove(waiter) } }
        let acceptance = try await batcher.submit(submission)
        if let outcome = acceptance.status?.outcome { return PurchaseAnswer(id: id, outcome: outcome) }
        guard let waiter else { return PurchaseAnswer(id: id, outcome: nil) }
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
