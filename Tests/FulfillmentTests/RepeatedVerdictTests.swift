import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// A message that comes again, after its submission has its outcome, costs a look at its row.
@Suite("Verdicts that come again", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct RepeatedVerdictTests {
    private func verdict(
        _ id: String, _ transaction: Transaction, kind: ProofKind, _ bench: Bench
    ) async throws -> VerdictMessage {
        let message = SubmissionMessage(
            submissionId: id, app: Bench.app, account: "anna", kind: kind, proof: "a.b.c", attempt: 0,
            correlationId: "req_\(id)")
        _ = try await SubmissionStore(pool: bench.pool).accept(
            [SubmissionStore.NewSubmission(message: message, partitionKey: "p")], lease: .seconds(30))
        return VerdictMessage(
            submissionId: id, app: Bench.app, account: "anna", correlationId: "req_\(id)", attempt: 1,
            verdict: .genuine([transaction]))
    }

    @Test(
        "a signed transaction that is fulfilled is dropped; whatever may say something else is settled again",
        arguments: [(ProofKind.signedTransaction, Int64(1)), (ProofKind.transactionId, Int64(2))])
    func drop(kind: ProofKind, ordersAfterwards: Int64) async throws {
        try await Bench.with { bench in
            var first = try await verdict("s1", Bench.signed("t1"), kind: kind, bench)
            first.claims = ["t1"]
            try await bench.settle([first])
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            // It never says another thing in life: so it shows whether it was read.
            var again = try await verdict("s1", Bench.signed("t2"), kind: kind, bench)
            again.claims = ["t2"]
            try await bench.settle([again])
            #expect(try await bench.number("SELECT count(*) FROM orders") == ordersAfterwards)
            try await bench.expectClean()
        }
    }
}
