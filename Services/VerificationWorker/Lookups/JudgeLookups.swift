import Messages
import PurchaseModel

/// The use case of the second consumer: a batch is asked about at once, and is done after twice the patience at the latest.
///
/// A batch has more than may be in flight, so that the slowest of the first do not keep the rest from beginning.
struct JudgeLookups: Sendable {
    enum Limit {
        /// Submissions of a batch for each that may be in flight.
        static let batchFactor = 2
        /// Large proofs that are in memory while Apple thinks: each may have megabytes.
        static let largeProofs = 16
    }

    let judge: LookupJudge
    let proofs: ProofReader
    /// Submissions that are asked about at a time.
    let inFlightMaximum: Int

    /// A finding for each submission, in their order.
    func findings(for submissions: [SubmissionMessage]) async -> [Finding] {
        let end = ContinuousClock.now + judge.patience
        let small = submissions.indices.filter { !submissions[$0].isClaimCheck }
        let large = submissions.indices.filter { submissions[$0].isClaimCheck }
        async let smallFindings = findings(small, of: submissions, atOnce: inFlightMaximum, until: end) { submission in
            await judge.finding(for: submission, proof: submission.proof)
        }
        async let largeFindings = findings(large, of: submissions, atOnce: Limit.largeProofs, until: end) {
            submission in
            guard let proof = await proofs.proof(of: submission) else {
                return .unknown(.claimCheckUnavailable, after: RetryTime.claimCheck)
            }
            return await judge.finding(for: submission, proof: proof)
        }
        let found = await smallFindings.merging(largeFindings) { first, _ in first }
        return submissions.indices.map { found[$0] ?? .unknown(.appStoreSlow, after: RetryTime.late) }
    }

    /// - Parameter end: whose turn comes later is put off, so that it is not the batch that waits.
    private func findings(
        _ indices: [Int], of submissions: [SubmissionMessage], atOnce: Int, until end: ContinuousClock.Instant,
        _ find: @escaping @Sendable (SubmissionMessage) async -> Finding
    ) async -> [Int: Finding] {
        await withTaskGroup(of: (Int, Finding).self) { group in
            var found: [Int: Finding] = [:]
            for (position, index) in indices.enumerated() {
                if position >= atOnce, let (index, finding) = await group.next() { found[index] = finding }
                group.addTask {
                    guard ContinuousClock.now < end else {
                        return (index, .unknown(.appStoreSlow, after: RetryTime.late))
                    }
                    return (index, await find(submissions[index]))
                }
            }
            for await (index, finding) in group { found[index] = finding }
            return found
        }
    }
}
