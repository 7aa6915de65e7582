import Foundation
import Messages
import PurchaseModel
import Testing

@testable import VerificationWorker

/// Submissions as intake writes them.
enum SubmissionFixture {
    static let app = "com.example.game"

    /// A submission of a proof.
    static func make(
        _ kind: ProofKind, _ proof: String, account: String = "player", named: String? = nil, attempt: Int = 0,
        expected: StoreEnvironment? = nil, receivedAt: Date? = nil, isAwaited: Bool = false, isClaimCheck: Bool = false,
        notFound: SubmissionMessage.NotFoundAnswers? = nil
    ) -> SubmissionMessage {
        SubmissionMessage(
            submissionId: "sub_test", app: app, account: account, kind: kind, proof: proof, attempt: attempt,
            correlationId: "req_test", namedTransactionId: named, expectedEnvironment: expected,
            isClaimCheck: isClaimCheck, isAwaited: isAwaited, notFound: notFound, receivedAt: receivedAt)
    }

    /// As often and as long as it takes to believe that Apple knows no such id.
    static let believed = SubmissionMessage.NotFoundAnswers(count: 5, seconds: 259_200)
}
