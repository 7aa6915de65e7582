import EventProcessing
import Logging
import Messages
import Metrics
import Persistence
import ServiceLifecycle
import Synchronization

/// Sends accepted submissions to the verification workers, off the way of any request.
///
/// Nothing here is retried and nothing kept: each row is due in the database until it has an outcome, so whatever is
/// dropped or fails is sent again by the redriver.
struct SubmissionPublisher: Service, CustomStringConvertible {
    /// The most submissions that wait to be sent; while the broker is down, more are left to the redriver.
    static let queueMaximum = 10_000
    /// The most bytes of their proofs.
    static let queueBytesMaximum = 64 << 20
    /// The most submissions of one publication.
    static let batchMaximum = 500
    /// The most bytes of proofs of one publication; the producer keeps them until they are acknowledged.
    static let batchBytesMaximum = 8 << 20
    /// How many publications may be under way at once, so that one slow partition does not hold up the others.
    static let publicationsMaximum = 4

    /// Sends submissions; returns how many did not arrive.
    typealias Publish = @Sendable ([SubmissionStore.NewSubmission]) async -> Int

    private let queue = BatchQueue<SubmissionStore.NewSubmission>(
        limits: .init(
            elements: queueMaximum, bytes: queueBytesMaximum, batchElements: batchMaximum,
            batchBytes: batchBytesMaximum)
    ) { $0.message.proof.utf8.count }
    private let publish: Publish
    private let dropped = Counter(label: "countersign_publications_dropped_total")

    /// The name in logs.
    let description: String

    /// Makes a publisher; it begins to send with `run()`.
    ///
    /// - Parameter name: what it sends, in logs.
    init(_ name: String = "submission", publish: @escaping Publish) {
        description = "\(name) publisher"
        self.publish = publish
    }

    /// Takes submissions to be sent soon; returns at once.
    func enqueue(_ submissions: [SubmissionStore.NewSubmission]) {
        let left = submissions.count - queue.append(submissions)
        if left > 0 { dropped.increment(by: left) }
    }

    /// Sends until shutdown; what waits by then is still sent.
    func run() async throws {
        await withTaskCancellationOrGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                for _ in 0..<Self.publicationsMaximum {
                    group.addTask {
                        while true {
                            let batch = await queue.next()
                            if batch.isEmpty { return }
                            _ = await publish(batch)
                        }
                    }
                }
            }
        } onCancelOrGracefulShutdown: {
            queue.close()
        }
    }
}

extension ProofKind {
    /// Where a new submission is sent: what only Apple can settle never waits before what can be settled offline.
    var topic: String { self == .transactionId || self == .orderId ? Topics.lookups : Topics.submissions }
}

extension EventPublisher {
    /// Sends submissions to the verification workers, each to the topic of its kind.
    ///
    /// - Returns: how many did not arrive, or may not have.
    func publish(submissions: [SubmissionStore.NewSubmission], logger: Logger) async -> Int {
        let report = await publish(
            submissions.map { submission in
                (
                    topic: submission.message.kind.topic,
                    event: event(submission.message, key: submission.partitionKey)
                )
            })
        if let error = report.firstError {
            logger.debug(
                "submissions did not reach the broker and stay due",
                metadata: ["count": "\(report.failures)", "error": "\(error)"])
        }
        return report.failures
    }
}
