import EventProcessing
import Messages
import Synchronization
import Testing

@testable import Persistence
@testable import ReceiptIntake

@Suite("Redriving")
struct SubmissionRedriveTests {
    @Test("while the broker is down one row is tried at a time, and all the rest once it answers")
    func sparesLeases() async throws {
        let limits = Mutex<[Int]>([])
        let isUp = Mutex(false)
        let submission = SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: "a", app: "app", account: "account", kind: .signedTransaction, proof: "a.b.c",
                attempt: 1, correlationId: "req"), partitionKey: "1")
        let redrive = SubmissionRedrive(
            claim: { limit in
                limits.withLock { $0.append(limit) }
                return .init(submissions: Array(repeating: submission, count: min(limit, 7)), isMoreDue: true)
            }, publish: { submissions in isUp.withLock { $0 } ? 0 : submissions.count })
        for (count, isMoreDue, isUpNow) in [
            (7, false, false), (1, false, false), (1, false, false), (8, true, true), (7, true, true),
        ] {
            isUp.withLock { $0 = isUpNow }
            let round = try await redrive(limit: 500)
            #expect(round.count == count)
            // What the broker does not take is not followed by more.
            #expect(round.isMoreDue == isMoreDue)
        }
        #expect(limits.withLock { $0 } == [500, 1, 1, 1, 500, 500])
    }
}
