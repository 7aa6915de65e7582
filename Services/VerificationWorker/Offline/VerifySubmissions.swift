import EventProcessing
import Foundation
import Logging
import Messages
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// The use case of the first consumer: judges offline what can be, hands over what only Apple can settle, and publishes.
///
/// It returns when the broker has both, so that offsets may be committed.
struct VerifySubmissions: Sendable {
    let judge: JudgeSubmissions
    /// Nil in a worker without a database.
    let revocations: StoredRevocations?
    let publisher: EventPublisher
    let publish: PublishVerdicts

    /// - Throws: where the broker does not have all of it; then the batch is to come again.
    func verify(_ batch: [Received<SubmissionMessage>]) async throws {
        await revocations?.ready()
        var found: [(submission: SubmissionMessage, finding: Finding)] = []
        var asked: [Received<SubmissionMessage>] = []
        for (received, finding) in zip(batch, await judge.findings(for: batch.map(\.message))) {
            if let finding {
                found.append((received.message, finding))
            } else {
                asked.append(received)
            }
        }
        try await forward(asked)
        try await publish.publish(found)
    }

    /// A proof that is in the database stays there.
    private func forward(_ asked: [Received<SubmissionMessage>]) async throws {
        try await publisher.publishOrThrow(
            asked.map { received in
                (topic: Topics.lookups, event: publisher.event(received.message, key: received.event.key))
            })
    }
}

/// Settles offline what can be, and names the rest.
struct JudgeSubmissions: Sendable {
    let judge: OfflineJudge
    let proofs: ProofReader
    /// Asks about certificates; nil when nobody is to be asked.
    let revocation: RevocationQuestions?
    /// Whether lookups wait for Apple to come back.
    let isPaused: @Sendable () -> Bool

    /// A finding for each submission, in their order; nil where only Apple's servers can settle it.
    ///
    /// At most as many pieces are judged at a time as there are cores, and between two of them others get their turn: a
    /// batch of large receipts must not keep the lookups' time-outs waiting.
    func findings(for submissions: [SubmissionMessage]) async -> [Finding?] {
        var findings = [Finding?](repeating: nil, count: submissions.count)
        let small = submissions.indices.filter { !submissions[$0].isClaimCheck }
        let pieces = ProofBatches.pieces(small.map { submissions[$0] })
        await Self.forEach(pieces, atOnce: ProcessInfo.processInfo.activeProcessorCount) { piece in
            await Task.yield()
            return piece.map { position in
                let submission = submissions[small[position]]
                return (small[position], judge.judge(submission, proof: submission.proof))
            }
        } take: { judged in
            for (index, judgement) in judged { findings[index] = self.finding(judgement) }
        }
        let large = submissions.indices.filter { submissions[$0].isClaimCheck }
        await Self.forEach(large, atOnce: ProofReader.atOnce) { index in
            (index, await findingOfClaimCheck(submissions[index]))
        } take: { index, finding in
            findings[index] = finding
        }
        return await withRevocations(findings, submissions)
    }

    /// With the certificates asked about: only here the proof is at hand.
    private func findingOfClaimCheck(_ submission: SubmissionMessage) async -> Finding? {
        guard let proof = await proofs.proof(of: submission) else {
            return .unknown(.claimCheckUnavailable, after: RetryTime.claimCheck)
        }
        let finding = self.finding(judge.judge(submission, proof: proof))
        guard let finding, case .genuine = finding.verdict, let objection = await objection(to: proof, submission.kind)
        else { return finding }
        return finding.replaced(by: objection)
    }

    private func finding(_ judgement: OfflineJudgement) -> Finding? {
        switch judgement {
        case .found(let finding): finding
        // While Apple is away, what stands without it need not wait for it.
        case .needsLookup(let stands?, _) where isPaused(): stands
        case .needsLookup: nil
        }
    }

    /// Asks about the certificates of what is genuine; all chains at the same time, each of them once.
    private func withRevocations(_ findings: [Finding?], _ submissions: [SubmissionMessage]) async -> [Finding?] {
        guard revocation?.areNeeded == true else { return findings }
        var findings = findings
        var genuine: [Int: Finding] = [:]
        for (index, finding) in findings.enumerated() where !submissions[index].isClaimCheck {
            if let finding, case .genuine = finding.verdict { genuine[index] = finding }
        }
        await Self.forEach(genuine.keys.sorted(), atOnce: max(1, genuine.count)) { index in
            (index, await objection(to: submissions[index].proof, submissions[index].kind))
        } take: { index, objection in
            if let objection, let finding = genuine[index] { findings[index] = finding.replaced(by: objection) }
        }
        return findings
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

/// Cuts a batch into pieces of work, so that large receipts are spread over the cores.
enum ProofBatches {
    /// Submissions of a piece.
    static let countMaximum = 16
    /// Bytes of proofs in a piece: some milliseconds of work.
    static let bytesMaximum = 128 << 10

    /// Ranges of the batch in its order; one that is too large alone is a piece by itself.
    static func pieces(_ submissions: [SubmissionMessage]) -> [Range<Int>] {
        var pieces: [Range<Int>] = []
        var start = 0
        var bytes = 0
        for (index, submission) in submissions.enumerated() {
            let size = submission.proof.utf8.count
            if index > start, index - start >= Self.countMaximum || bytes + size > Self.bytesMaximum {
                pieces.append(start..<index)
                start = index
                bytes = 0
            }
            bytes += size
        }
        if start < submissions.count { pieces.append(start..<submissions.count) }
        return pieces
    }
}

/// Fetches proofs that were too large for a message from the table `submissions`.
struct ProofReader: Sendable {
    /// Large proofs that are in memory at a time: each may have megabytes.
    static let atOnce = 4

    private let submissions: SubmissionStore?
    private let logger: Logger

    /// - Parameter pool: nil in a worker without a database.
    init(pool: PostgresPool?, logger: Logger) {
        submissions = pool.map { SubmissionStore(pool: $0) }
        self.logger = logger
    }

    /// The proof of a submission; nil when it cannot be read now.
    func proof(of submission: SubmissionMessage) async -> String? {
        guard submission.isClaimCheck else { return submission.proof }
        guard let submissions else { return nil }
        do {
            return try await submissions.proof(of: submission.submissionId)
        } catch {
            // Not thrown: a database that rests must not hold up what needs none.
            logger.warning(
                "a proof cannot be read from the database",
                metadata: .fields([.submission: "\(submission.submissionId)", .error: "\(error)"]))
            return nil
        }
    }
}
