import EventProcessing
import Messages
import Pacing
import PurchaseModel

/// The use case of the second consumer: asks Apple, and publishes what it said.
struct VerifyByLookups: Sendable {
    let judge: JudgeLookups
    let revocations: StoredRevocations?
    let publish: PublishVerdicts

    /// - Throws: where the broker does not have all verdicts; then the batch is to come again.
    func verify(_ batch: [Received<SubmissionMessage>]) async throws {
        await revocations?.ready()
        let messages = batch.map(\.message)
        let findings = await judge.findings(for: messages)
        try await publish.publish(zip(messages, findings).map { (submission: $0, finding: $1) })
    }
}

/// Asks about a batch at once, which is done after twice the patience at the latest.
///
/// Several batches are under way at a time, so that the slowest of one do not keep the next from beginning; all share one
/// limit of how many are asked about at a time.
struct JudgeLookups: Sendable {
    /// Batches that are under way at a time.
    static let batchesMaximum = 16
    /// Submissions in hand for each that may be in flight: with what waits for its turn, no turn stays empty.
    static let inHandFactor = 2
    /// Large proofs that are in memory while Apple thinks: each may have megabytes.
    static let largeProofsMaximum = 16

    private let judge: LookupJudge
    private let proofs: ProofReader
    private let turns: FairTurns
    private let largeTurns = FairTurns(maximum: Self.largeProofsMaximum)

    /// - Parameter inFlightMaximum: submissions that are asked about at a time, of all batches together.
    init(judge: LookupJudge, proofs: ProofReader, inFlightMaximum: Int) {
        self.judge = judge
        self.proofs = proofs
        turns = FairTurns(maximum: inFlightMaximum)
    }

    /// The most submissions of a batch.
    static func batchMaximum(inFlightMaximum: Int) -> Int {
        max(1, inFlightMaximum * Self.inHandFactor / Self.batchesMaximum)
    }

    /// A finding for each submission, in their order.
    ///
    /// Whose turn comes after the patience is put off, so that it is not the batch that waits.
    func findings(for submissions: [SubmissionMessage]) async -> [Finding] {
        let end = ContinuousClock.now + judge.patience
        return await withTaskGroup(of: (Int, Finding).self) { group in
            for (index, submission) in submissions.enumerated() {
                group.addTask {
                    let turns = submission.isClaimCheck ? largeTurns : turns
                    let finding = await turns.take(asker: submission.account) {
                        guard ContinuousClock.now < end else {
                            return Finding.unknown(.appStoreSlow, after: RetryTime.late)
                        }
                        return await ask(about: submission)
                    }
                    return (index, finding ?? .unknown(.appStoreSlow, after: RetryTime.late))
                }
            }
            var found = [Finding?](repeating: nil, count: submissions.count)
            for await (index, finding) in group { found[index] = finding }
            return found.map { $0 ?? .unknown(.appStoreSlow, after: RetryTime.late) }
        }
    }

    private func ask(about submission: SubmissionMessage) async -> Finding {
        guard let proof = await proofs.proof(of: submission) else {
            return .unknown(.claimCheckUnavailable, after: RetryTime.claimCheck)
        }
        return await judge.finding(for: submission, proof: proof)
    }
}
