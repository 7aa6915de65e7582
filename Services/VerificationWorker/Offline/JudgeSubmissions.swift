import Foundation
import Messages
import PurchaseModel
import ServiceRuntime

/// The use case of the first consumer: what can be settled offline is, and the rest is named.
struct JudgeSubmissions: Sendable {
    /// What became of one submission.
    enum Outcome: Sendable {
        case settled(Finding)
        case needsLookup
    }

    let judge: OfflineJudge
    let proofs: ProofReader
    /// Asks about certificates; nil when nobody is to be asked.
    let revocation: RevocationQuestions?
    /// Whether lookups wait for Apple to come back.
    let isPaused: @Sendable () -> Bool

    /// An outcome for each submission, in their order.
    ///
    /// At most as many pieces are judged at a time as there are cores, and between two of them others get their turn: a
    /// batch of large receipts must not keep the lookups' time-outs waiting.
    func outcomes(for submissions: [SubmissionMessage]) async -> [Outcome] {
        var outcomes = [Outcome?](repeating: nil, count: submissions.count)
        let small = submissions.indices.filter { !submissions[$0].isClaimCheck }
        let pieces = ProofBatches.pieces(small.map { submissions[$0] })
        await Self.forEach(pieces, atOnce: ProcessInfo.processInfo.activeProcessorCount) { piece in
            await Task.yield()
            return piece.map { position in
                let submission = submissions[small[position]]
                return (small[position], judge.judge(submission, proof: submission.proof))
            }
        } take: { judged in
            for (index, judgement) in judged { outcomes[index] = self.outcome(judgement) }
        }
        let large = submissions.indices.filter { submissions[$0].isClaimCheck }
        await Self.forEach(large, atOnce: ProofReader.Limit.atOnce) { index in
            (index, await outcomeOfClaimCheck(submissions[index]))
        } take: { index, outcome in
            outcomes[index] = outcome
        }
        return await withRevocations(outcomes.map { $0 ?? .needsLookup }, submissions)
    }

    /// With the certificates asked about: only here the proof is at hand.
    private func outcomeOfClaimCheck(_ submission: SubmissionMessage) async -> Outcome {
        guard let proof = await proofs.proof(of: submission) else {
            return .settled(.unknown(.claimCheckUnavailable, after: RetryTime.claimCheck))
        }
        let outcome = outcome(judge.judge(submission, proof: proof))
        guard case .settled(let finding) = outcome, case .genuine = finding.verdict,
            let objection = await objection(to: proof, submission.kind)
        else { return outcome }
        return .settled(finding.replaced(by: objection))
    }

    private func outcome(_ judgement: OfflineJudgement) -> Outcome {
        switch judgement {
        case .settled(let finding): .settled(finding)
        // While Apple is away, what stands without it need not wait for it.
        case .needsLookup(let stands?, _) where isPaused(): .settled(stands)
        case .needsLookup: .needsLookup
        }
    }

    /// Asks about the certificates of what is genuine; all chains at the same time, each of them once.
    private func withRevocations(_ outcomes: [Outcome], _ submissions: [SubmissionMessage]) async -> [Outcome] {
        guard revocation?.areNeeded == true else { return outcomes }
        var outcomes = outcomes
        var genuine: [Int: Finding] = [:]
        for (index, outcome) in outcomes.enumerated() where !submissions[index].isClaimCheck {
            if case .settled(let finding) = outcome, case .genuine = finding.verdict { genuine[index] = finding }
        }
        await Self.forEach(genuine.keys.sorted(), atOnce: max(1, genuine.count)) { index in
            (index, await objection(to: submissions[index].proof, submissions[index].kind))
        } take: { index, objection in
            if let objection, let finding = genuine[index] {
                outcomes[index] = .settled(finding.replaced(by: objection))
            }
        }
        return outcomes
    }

    /// What the certificates of a genuine proof say against it; nil also for proofs that nobody is asked about.
    private func objection(to proof: String, _ kind: ProofKind) async -> Verdict? {
        switch kind {
        case .signedTransaction: await revocation?.objection(to: proof)
        case .serverNotification: await revocation?.objection(toNotification: proof)
        case .subscriptionStatus: await revocation?.objection(toStatus: proof)
        default: nil
        }
    }

    /// Does a piece of work for each, so many at a time; results are taken one after the other.
    private static func forEach<Element: Sendable, Value: Sendable>(
        _ elements: [Element], atOnce: Int, _ work: @escaping @Sendable (Element) async -> Value,
        take: (Value) -> Void
    ) async {
        await withTaskGroup(of: Value.self) { group in
            var waiting = elements.makeIterator()
            for _ in 0..<atOnce {
                guard let element = waiting.next() else { break }
                group.addTask { await work(element) }
            }
            for await value in group {
                take(value)
                if let element = waiting.next() { group.addTask { await work(element) } }
            }
        }
    }
}
