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
    let possession: PossessionAnswers

    /// A submission that is on disk.
    struct Accepted: Sendable {
        /// The submission's id.
        let id: String
        /// What the caller may know of it, where it existed already.
        fileprivate let view: SubmissionView
        /// Whether its answers say nothing of its number.
        fileprivate let conceals: Bool
        /// Listens for an outcome; ``answer(to:wait:connection:)`` ends that.
        fileprivate let waiter: Waiter?
    }

    /// Accepts a proof; it is on disk when this returns.
    ///
    /// - Parameter isAwaited: whether the caller is going to wait for the outcome.
    /// - Throws: `PostgresError`, `IntakeOverloadedError`; then the caller is to post again, which is harmless.
    func accept(
        _ proof: PurchaseProof, from caller: Caller, account: Account, expectedEnvironment: StoreEnvironment?,
        correlationId: String, isAwaited: Bool
    ) async throws -> Accepted {
        let (app, account, isServer) = (caller.app, account.text, caller.isServer)
        let id = SubmissionIdentifier.make(
            app: app, account: account, kind: proof.kind, proof: proof.text,
            namedTransactionId: proof.namedTransactionId, isPlayersNumber: proof.isNumber && !isServer)
        let conceals = possession.conceals(
            app: app, kind: proof.kind, named: proof.namedTransactionId, isServer: isServer)
        // Before the row is written, since the outcome may come before the commit's answer does.
        let waiter = isAwaited ? waiters.register(id) : nil
        if conceals { waiter?.passOver { PossessionAnswers.isTelling($0, of: proof.kind) } }
        let submission = SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: id, app: app, account: account, kind: proof.kind, proof: proof.text, attempt: 0,
                correlationId: correlationId, namedTransactionId: proof.namedTransactionId,
                expectedEnvironment: expectedEnvironment, isAwaited: waiter != nil),
            partitionKey: PartitionKey.make(proof, account: account), isServer: isServer)
        do {
            let acceptance = try await batcher.submit(submission)
            return Accepted(
                id: id, view: SubmissionView(acceptance.status, conceals: conceals), conceals: conceals, waiter: waiter)
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
        return await answer(
            accepted.id, accepted.view, accepted.waiter, conceals: accepted.conceals, wait: wait, connection: connection
        )
    }

    /// The submission, if it is one that the caller may see.
    ///
    /// - Parameters:
    ///   - look: looks it up when it is the caller's turn.
    ///   - viewer: the caller that may see it; nil where none may.
    /// - Throws: what `look` throws.
    func find(
        _ id: String, wait: Duration, connection: ConnectionSignals.Connection, look: Statuses,
        viewer: (SubmissionStore.Status) -> Caller?
    ) async throws -> PurchaseAnswer? {
        let waiter = wait > .zero ? waiters.register(id) : nil
        defer { if let waiter { waiters.remove(waiter) } }
        guard let status = try await look([id])[id], let caller = viewer(status) else { return nil }
        let conceals =
            !caller.isServer
            && possession.conceals(
                app: status.app, kind: status.kind, named: status.namedTransactionId, isServer: status.isServer)
        if conceals { waiter?.passOver { PossessionAnswers.isTelling($0, of: status.kind) } }
        return await answer(
            id, SubmissionView(status, conceals: conceals), waiter, conceals: conceals, wait: wait,
            connection: connection)
    }

    /// - Parameter view: what was known before the wait; what it conceals is told when the time is up, as what is not
    ///   known yet would be.
    private func answer(
        _ id: String, _ view: SubmissionView, _ waiter: Waiter?, conceals: Bool, wait: Duration,
        connection: ConnectionSignals.Connection
    ) async -> PurchaseAnswer {
        guard view.outcome == nil || view.isConcealing, let waiter else {
            return PurchaseAnswer(id: id, outcome: view.outcome)
        }
        connection.onClose { waiter.finish(with: nil) }
        defer { connection.forget() }
        if let outcome = await waiter.outcome(within: wait) { return PurchaseAnswer(id: id, outcome: outcome) }
        // One look, so that a lost hint is no lost answer. If the database cannot tell, what was known is still true.
        guard let status = try? await statuses([id])[id] else { return PurchaseAnswer(id: id, outcome: view.outcome) }
        return PurchaseAnswer(id: id, outcome: SubmissionView(status, conceals: conceals).outcome)
    }
}
