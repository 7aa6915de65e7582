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
            (index, await judgeClaimCheck(submissions[index]))
        } take: { index, judgement in
            outcomes[index] = self.outcome(judgement)
        }
        let settled = outcomes.map { $0 ?? .needsLookup }
        return await withRevocations(settled, submissions)
    }

    private func judgeClaimCheck(_ submission: SubmissionMessage) async -> OfflineJudgement {
        guard let proof = await proofs.proof(of: submission) else {
            return .settled(.unknown(.claimCheckUnavailable, after: RetryTime.claimCheck))
        }
        return judge.judge(submission, proof: proof)
    }

    private func outcome(_ judgement: OfflineJudgement) -> Outcome {
        switch judgement {
        case .settled(let finding): .settled(finding)
        // While Apple is away, what stands without it need not wait for it.
        case .needsLookup(let stands?) where isPaused(): .settled(stands)
        case .needsLookup: .needsLookup
        }
    }

    /// Asks about the certificates of what is genuine; all chains at the same time, each of them once.
    private func withRevocations(_ outcomes: [Outcome], _ submissions: [SubmissionMessage]) async -> [Outcome] {
        guard let revocation else { return outcomes }
        var outcomes = outcomes
        let asked = outcomes.indices.filter { index in
            guard case .settled(let finding) = outcomes[index], case .genuine = finding.verdict else { return false }
            return submissions[index].kind == .signedTransaction
        }
        await Self.forEach(asked, atOnce: max(1, asked.count)) { index in
            (index, await revocation.objection(to: submissions[index].proof))
        } take: { index, objection in
            if let objection { outcomes[index] = .settled(Finding(objection)) }
        }
        return outcomes
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
