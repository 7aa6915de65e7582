import Messages
import Persistence
import Synchronization

/// The use case of what Apple tells: write a notification down, and hand it on.
///
/// Nobody waits for its outcome.
final class NotificationSubmissions: Sendable {
    enum Limit {
        /// The most notifications that wait for their commit at a time.
        ///
        /// All of them together have 25 MiB at most.
        static let underWayMaximum = 100
        /// The most bytes of bodies that are being read or wait to be written.
        static let heldBytesMaximum = 32 << 20
    }

    /// Whom notifications are of: no account's, since no account has an empty name.
    static let account = ""

    private let batcher: SubmissionBatcher
    private let underWayMaximum: Int
    private let underWay = Mutex(0)

    /// - Parameter batcher: another than that of purchases: what fills its queue, or fails its batch, is none of theirs.
    init(batcher: SubmissionBatcher, underWayMaximum: Int = Limit.underWayMaximum) {
        self.batcher = batcher
        self.underWayMaximum = underWayMaximum
    }

    /// Writes a notification down; it is on disk when this returns.
    ///
    /// - Parameter app: the app that the caller knows it to be about.
    /// - Returns: the submission's id, the same for the same text, always; and whether it had not been posted before.
    /// - Throws: `PostgresError`, `IntakeOverloadedError`; then Apple is to post again, which is harmless.
    @inline(never)
    func accept(
        _ notification: ServerNotification, correlationId: String
    ) async throws -> (id: String, isNew: Bool) {
        guard enter() else { throw IntakeOverloadedError() }
        defer { underWay.withLock { $0 -= 1 } }
        let proof = notification.jws.text
        let id = SubmissionIdentifier.make(
            app: notification.app, account: Self.account, kind: .serverNotification, proof: proof)
        let acceptance = try await batcher.submit(
            SubmissionStore.NewSubmission(
                message: SubmissionMessage(
                    submissionId: id, app: notification.app, account: Self.account, kind: .serverNotification,
                    proof: proof, attempt: 0, correlationId: correlationId),
                partitionKey: notification.partitionKey ?? id))
        return (id, acceptance.isNew)
    }

    private func enter() -> Bool {
        underWay.withLock { count in
            guard count < underWayMaximum else { return false }
            count += 1
            return true
        }
    }
}
