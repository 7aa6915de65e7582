import Messages
import Metrics
import Persistence
import Postgres
import ServiceLifecycle
import Synchronization

/// Group commit: requests that arrive while a batch is being written share the next one, and so one commit.
///
/// A lone request is written at once. Those that come within 10 ms after a batch are the next one, and those that come within
/// a millisecond of each other stay together; a batch is one step of each process after this one. A submission that was taken in
/// is always written, or its caller hears that it was not.
struct SubmissionBatcher: Service, CustomStringConvertible {
    /// The most rows of one statement.
    ///
    /// Far beyond it one commit no longer becomes cheaper per row.
    static let batchRowsMaximum = 500
    /// How many batches may be on their way to the database at once: one commits while the next is parsed and sent.
    static let flushesMaximum = 2
    /// The most bytes of proofs in one statement; a larger proof has a statement of its own.
    ///
    /// A batch of signed transactions has 2 MB. More would be held three times, as rows, as parameters and by libpq.
    static let batchBytesMaximum = 8 << 20
    /// The most bytes of proofs that wait for a batch: dozens of large receipts, or thousands of signed transactions.
    static let queueBytesMaximum = 64 << 20
    /// A batch of one costs all processes together as much as a dozen purchases of a large one, so there are at most 100 a second.
    ///
    /// A client that buys one after the other hardly waits: an answer takes some 10 ms.
    private static let gathering = BatchQueue<Entry>.Gathering(
        pace: .milliseconds(10), gap: .milliseconds(1), longest: .milliseconds(6))
    /// The part of a batch that one account's proofs have while others wait: an eighth.
    static let partOfOneAccount = 8
    /// The most submissions that are remembered because nobody knows whether their commit happened.
    static let doubtfulMaximum = 10_000

    /// What accepting led to: whether the row is new, and what is known of one that existed before.
    typealias Acceptance = (isNew: Bool, status: SubmissionStore.Status?)

    /// Writes submissions with distinct ids in one commit; see `SubmissionStore.accept`.
    typealias Accept =
        @Sendable ([SubmissionStore.NewSubmission]) async throws -> (
            new: Set<String>, existing: [String: SubmissionStore.Status]
        )

    /// The name in logs.
    let description: String

    private struct Entry: Sendable {
        let submission: SubmissionStore.NewSubmission
        let continuation: CheckedContinuation<Acceptance, any Error>
    }

    private let queue: BatchQueue<Entry>
    private let accept: Accept
    private let onAccepted: @Sendable ([SubmissionStore.NewSubmission]) -> Void
    private let doubtful = DoubtfulCommits(maximum: Self.doubtfulMaximum)
    private let rows = Recorder(label: "countersign_accept_batch_rows")
    private let timer = Metrics.Timer(label: "countersign_accept_duration")

    /// Makes a batcher; it begins to write with `run()`.
    ///
    /// - Parameters:
    ///   - name: what it writes, in logs.
    ///   - queueMaximum: the most requests that wait for a batch; one more is refused.
    ///   - queueBytesMaximum: the most bytes of their proofs.
    ///   - accept: writes a batch.
    ///   - onAccepted: told of the rows that are new, as they are to be sent, after their commit; must return at once.
    init(
        _ name: String = "submission", queueMaximum: Int, queueBytesMaximum: Int = Self.queueBytesMaximum,
        accept: @escaping Accept,
        onAccepted: @escaping @Sendable ([SubmissionStore.NewSubmission]) -> Void
    ) {
        description = "\(name) batcher"
        let limits = BatchQueue<Entry>.Limits(
            elements: queueMaximum, bytes: queueBytesMaximum, batchElements: Self.batchRowsMaximum,
            batchBytes: Self.batchBytesMaximum, partOfOne: Self.partOfOneAccount, gathering: Self.gathering)
        queue = BatchQueue(limits: limits) {
            $0.submission.message.proof.utf8.count
        } owner: {
            "\($0.submission.message.app) \($0.submission.message.account)"
        }
        self.accept = accept
        self.onAccepted = onAccepted
    }

    /// How many requests wait for the next batch.
    var waitingCount: Int { queue.count }

    /// Writes a submission together with others, and returns after the commit.
    ///
    /// A caller that is cancelled meanwhile has it written all the same.
    ///
    /// - Throws: `IntakeOverloadedError` when too many wait; `PostgresError`.
    func submit(_ submission: SubmissionStore.NewSubmission) async throws -> Acceptance {
        try await withCheckedThrowingContinuation { continuation in
            let entry = Entry(submission: submission, continuation: continuation)
            if queue.append([entry]) == 0 { continuation.resume(throwing: IntakeOverloadedError()) }
        }
    }

    /// Writes until shutdown; what was taken in by then is still written.
    func run() async throws {
        await withTaskCancellationOrGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                for _ in 0..<Self.flushesMaximum {
                    group.addTask {
                        while true {
                            let batch = await queue.next()
                            if batch.isEmpty { return }
                            await flush(batch)
                        }
                    }
                }
            }
        } onCancelOrGracefulShutdown: {
            queue.close()
        }
    }

    private func flush(_ entries: [Entry]) async {
        var distinct: [String: SubmissionStore.NewSubmission] = [:]
        for entry in entries {
            let id = entry.submission.message.submissionId
            // Of two equal posts the one whose caller waits tells the workers so.
            if distinct[id]?.message.isAwaited != true { distinct[id] = entry.submission }
        }
        let submissions = Array(distinct.values)
        do {
            let start = ContinuousClock.now
            let result = try await accept(submissions)
            timer.record(duration: ContinuousClock.now - start)
            rows.record(submissions.count)
            // A commit whose answer was lost has written rows that nobody has sent.
            let doubted = doubtful.settle(distinct.keys)
            let unsent = result.existing.filter { doubted.contains($0.key) && $0.value.outcome == nil }
            let sent = submissions.map(\.message.submissionId)
                .filter { result.new.contains($0) || unsent[$0] != nil }
                .compactMap { distinct[$0] }
            // Before the callers go on, who wait for what comes of it.
            if !sent.isEmpty { onAccepted(sent.map(\.withClaimCheck)) }
            for entry in entries {
                let id = entry.submission.message.submissionId
                entry.continuation.resume(
                    returning: (result.new.contains(id), result.existing[id]))
            }
        } catch {
            await fail(entries, with: error)
        }
    }

    /// A row that the database will never take must not take the others with it: then each is tried alone.
    private func fail(_ entries: [Entry], with error: any Error) async {
        let isPassing = (error as? PostgresError).map { $0.isRetriable || $0.code == .poolClosed } ?? false
        if isPassing { doubtful.add(entries.map(\.submission.message.submissionId)) }
        guard !isPassing, entries.count > 1 else {
            for entry in entries { entry.continuation.resume(throwing: error) }
            return
        }
        for entry in entries { await flush([entry]) }
    }
}

/// More requests wait for the database than are let in; the caller may come again soon.
struct IntakeOverloadedError: Error, CustomStringConvertible {
    /// One sentence.
    var description: String { "more submissions wait to be written than are let in" }
}

/// Submissions whose commit ended with an error: it may have happened all the same, as where the server died before its answer.
///
/// Such a row is posted again as one that exists, and nobody has sent it to the workers.
final class DoubtfulCommits: Sendable {
    private let maximum: Int
    private let ids = Mutex<Set<String>>([])

    /// - Parameter maximum: the most ids that are remembered; beyond it the older ones are left to the redrive.
    init(maximum: Int) {
        self.maximum = maximum
    }

    /// Remembers ids.
    func add(_ new: [String]) {
        ids.withLock { ids in
            if ids.count + new.count > maximum { ids.removeAll() }
            ids.formUnion(new.prefix(maximum))
        }
    }

    /// Forgets ids that are known to be written now.
    ///
    /// - Returns: those that were in doubt.
    func settle(_ written: some Collection<String>) -> Set<String> {
        ids.withLock { ids in
            guard !ids.isEmpty else { return [] }
            return Set(written.filter { ids.remove($0) != nil })
        }
    }
}
