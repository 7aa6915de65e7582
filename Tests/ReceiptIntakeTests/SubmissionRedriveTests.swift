import Messages
import Persistence
import Synchronization
import Testing

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
                return Array(repeating: submission, count: min(limit, 7))
            }, publish: { submissions in isUp.withLock { $0 } ? 0 : submissions.count })
        #expect(try await redrive(limit: 500) == 7)
        #expect(try await redrive(limit: 500) == 1)
        #expect(try await redrive(limit: 500) == 1)
        isUp.withLock { $0 = true }
        #expect(try await redrive(limit: 500) == 8)
        #expect(try await redrive(limit: 500) == 7)
        #expect(limits.withLock { $0 } == [500, 1, 1, 1, 500, 500])
    }
}
