import Messages
import Persistence
import PurchaseModel

/// What a caller may know of a submission that is on disk.
struct KnownSubmission: Sendable {
    let id: String
    /// The outcome that the caller is told; nil while there is none.
    let outcome: SubmissionOutcome?
    /// Whether the outcome stands for several, so that it must not come sooner for one than for another.
    let isConcealing: Bool
    /// Whether its answers say nothing of its number: ``PossessionAnswers/conceals(app:kind:named:isServer:)``.
    private let conceals: Bool
    /// Listens for an outcome; ``PurchaseSubmissions/answer(to:wait:connection:)`` ends that.
    fileprivate let waiter: Waiter?

    /// - Parameter status: what is known; nil for a new one.
    fileprivate init(id: String, _ status: SubmissionStore.Status?, conceals: Bool, waiter: Waiter?) {
        self.id = id
        self.conceals = conceals
        self.waiter = waiter
        isConcealing =
            conceals
            && (status.map { status in
                status.outcome.map { PossessionAnswers.isTelling($0, of: status.kind) } ?? status.wasNotFound
            } ?? false)
        outcome = isConcealing ? PossessionAnswers.unproven : status?.outcome
    }

    fileprivate func with(_ status: SubmissionStore.Status) -> KnownSubmission {
        KnownSubmission(id: id, status, conceals: conceals, waiter: waiter)
    }
}

/// The use case of intake: write a proof down, hand it on, and answer with its outcome if that comes in time.
struct PurchaseSubmissions: Sendable {
    /// Looks up submissions; see `SubmissionStore.statuses`.
    typealias Statuses = @Sendable (_ ids: [String]) async throws -> [String: SubmissionStore.Status]

    let batcher: SubmissionBatcher
    let waiters: OutcomeWaiters
    let statuses: Statuses
    let possession: PossessionAnswers

    /// Accepts a proof; it is on disk when this returns.
    ///
    /// - Parameter isAwaited: whether the caller is going to wait for the outcome.
    /// - Throws: `PostgresError`, `IntakeOverloadedError`; then the caller is to post again, which is harmless.
    func accept(
        _ proof: PurchaseProof, from caller: Caller, account: Account, expectedEnvironment: StoreEnvironment?,
        correlationId: String, isAwaited: Bool
    ) async throws -> KnownSubmission {
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
            let status = try await batcher.submit(submission).status
            return KnownSubmission(id: id, status, conceals: conceals, waiter: waiter)
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
        to known: KnownSubmission, wait: Duration, connection: ConnectionSignals.Connection
    ) async -> PurchaseAnswer {
        defer { if let waiter = known.waiter { waiters.remove(waiter) } }
        guard known.outcome == nil || known.isConcealing, let waiter = known.waiter else {
            return PurchaseAnswer(id: known.id, outcome: known.outcome)
        }
        connection.onClose { waiter.finish(with: nil) }
        defer { connection.forget() }
        if let outcome = await waiter.outcome(within: wait) { return PurchaseAnswer(id: known.id, outcome: outcome) }
        // One look, so that a lost hint is no lost answer. If the database cannot tell, what was known is still true, and what
        // it conceals is told now, as what is not known yet would be.
        guard let status = try? await statuses([known.id])[known.id] else {
            return PurchaseAnswer(id: known.id, outcome: known.outcome)
        }
        return PurchaseAnswer(id: known.id, outcome: known.with(status).outcome)
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
            to: KnownSubmission(id: id, status, conceals: conceals, waiter: waiter), wait: wait, connection: connection)
    }
}

/// What a player is told of a purchase that the player posted by its number: nothing before it is the player's.
///
/// Whether a number is another's purchase, or none at all, is the same answer after the same time: who guesses numbers learns
/// nothing of other people's purchases. The studio's server sees what there is.
struct PossessionAnswers: Sendable {
    /// The answer to a number that is not the poster's, or not yet, or does not exist.
    static let unproven = SubmissionOutcome(
        state: .parked, finish: false, reason: .possessionUnproven,
        detail: "a number proves nothing: post the signed transaction, or a receipt that contains it, or have the "
            + "studio's server post it")

    /// Reasons by which a number that exists could be told from one that does not.
    private static let telling: Set<ReasonCode> = [
        .possessionUnproven, .transactionNotFound, .transactionNotInReceipt, .orderNotFound,
    ]

    /// Whether an app takes a number for a proof: there is nothing to hide from those who guess.
    let isByNumber: @Sendable (_ app: String) -> Bool

    /// Whether the answers about a submission say nothing of its number.
    func conceals(app: String, kind: ProofKind, named: String?, isServer: Bool) -> Bool {
        !isServer && kind.isNumber(named: named) && !isByNumber(app)
    }

    /// Whether a player would learn from an outcome that the number exists, or that it does not.
    static func isTelling(_ outcome: SubmissionOutcome, of kind: ProofKind) -> Bool {
        guard let reason = outcome.reason else { return false }
        // A receipt's environment stands in the receipt; a bare number's is Apple's word.
        return telling.contains(reason) || reason == .sandboxRefused && kind != .receipt
    }
}
