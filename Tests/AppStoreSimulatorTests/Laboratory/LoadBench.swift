import Synchronization

@testable import AppStoreSimulator

/// Runs a load, one post at a time, against an intake that a test plays.
///
/// The purchases' transactions and submissions are named 0, 1, …; a forgery is named `forged`.
final class LoadBench: Sendable {
    /// A question for an outcome.
    struct Asked: Sendable {
        let id: String
        let wait: Int
    }

    private struct Notes {
        var posted: [String] = []
        var asked: [Asked] = []
        var open = 0
        var openMaximum = 0
        var phases: [LoadRunner.Phase] = []
    }

    /// Answers the posts and the questions, which are written down.
    private struct Played: LoadIntake {
        let bench: LoadBench
        let onPost: @Sendable (String) async -> IntakeClient.Reply
        let onFetch: @Sendable (String, Int) async -> IntakeClient.Reply

        func post(_ proof: LoadProof, account: String, wait: Int) async -> IntakeClient.Reply {
            bench.notes.withLock { $0.posted.append(proof.transactionId) }
            return await onPost(proof.transactionId)
        }

        func fetch(_ id: String, account: String, wait: Int) async -> IntakeClient.Reply {
            bench.notes.withLock { notes in
                notes.asked.append(Asked(id: id, wait: wait))
                notes.open += 1
                notes.openMaximum = max(notes.openMaximum, notes.open)
            }
            defer { bench.notes.withLock { $0.open -= 1 } }
            return await onFetch(id, wait)
        }
    }

    let records: LoadRecords
    private let plan: LoadPlan
    private let questions: Int
    private let time: Duration?
    private let notes = Mutex(Notes())

    /// - Parameters:
    ///   - questions: how many are open at a time.
    ///   - time: how long is asked after the last post; nil where nobody asks.
    init(
        purchases: Int, duplicates: Double = 0, forgeries: Double = 0, questions: Int = 4,
        time: Duration? = .seconds(60)
    ) {
        plan = LoadPlan(
            LoadPlan.Settings(
                count: purchases, accounts: 1, duplicateShare: duplicates, forgeryShare: forgeries, seed: 1))
        records = LoadRecords(
            purchases: (0..<purchases).map {
                LoadReport.Purchase(transactionId: "\($0)", originalTransactionId: "\($0)", account: "player-1")
            },
            forgeries: plan.forgers.map {
                LoadReport.Forgery(kind: "edited_payload", expectedReason: "signature_invalid", account: $0)
            })
        self.questions = questions
        self.time = time
    }

    var posted: [String] { notes.withLock { $0.posted } }
    /// In the order in which the questions began.
    var asked: [Asked] { notes.withLock { $0.asked } }
    /// Questions that have no answer yet.
    var open: Int { notes.withLock { $0.open } }
    /// The most of them at a time.
    var openMaximum: Int { notes.withLock { $0.openMaximum } }
    var phases: [LoadRunner.Phase] { notes.withLock { $0.phases } }

    /// Posts everything and asks.
    func run(
        post: @escaping @Sendable (String) async -> IntakeClient.Reply,
        fetch: @escaping @Sendable (String, Int) async -> IntakeClient.Reply
    ) async {
        let intake = Played(bench: self, onPost: post, onFetch: fetch)
        func proof(_ id: String) -> LoadProof {
            LoadProof(kind: .signedTransaction, transactionId: id, originalTransactionId: id, content: "a.b.c")
        }
        let runner = LoadRunner(
            plan: plan, proofs: plan.buyers.indices.map { proof("\($0)") },
            forgedProofs: plan.forgers.map { _ in proof("forged") }, intake: intake, records: records,
            questions: time.map {
                OutcomeQuestions(intake: intake, records: records, concurrency: questions, time: $0)
            }, rate: nil, concurrency: 1, wait: 0, timeout: .seconds(60))
        await runner.run { phase, body in
            notes.withLock { $0.phases.append(phase) }
            await body()
        }
    }
}
