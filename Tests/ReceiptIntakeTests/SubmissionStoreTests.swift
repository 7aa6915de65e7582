import Foundation
import Messages
import Persistence
import PurchaseModel
import Testing

@Suite(
    "Submissions that are due",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct SubmissionStoreTests {
    private func submission(
        _ id: String, proof: String, named: String? = nil, environment: StoreEnvironment? = nil
    ) -> SubmissionStore.NewSubmission {
        SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: id, app: "app", account: "account", kind: .receipt, proof: proof, attempt: 0,
                correlationId: "req", namedTransactionId: named, expectedEnvironment: environment, isAwaited: true),
            partitionKey: "key")
    }

    private func claim(_ store: SubmissionStore, limit: Int = 500) async throws -> [SubmissionMessage] {
        try await store.claimDue(limit: limit, lease: .seconds(60), leaseMaximum: .seconds(600)).submissions.map(
            \.message)
    }

    @Test("come back as they were accepted, but that nobody waits any more; a large proof stays in its row")
    func roundTrip() async throws {
        try await TestDatabase.with { database in
            let store = SubmissionStore(pool: database.pool)
            let largest = String(repeating: "A", count: SubmissionStore.messageProofBytesMaximum)
            let accepted = try await store.accept(
                [
                    submission("plain", proof: "MIIB"),
                    submission("named", proof: largest, named: "20", environment: .sandbox),
                    submission("large", proof: largest + "A", named: "30", environment: .production),
                ], lease: .seconds(-1))
            #expect(accepted.new == ["plain", "named", "large"])
            let due = Dictionary(uniqueKeysWithValues: try await claim(store).map { ($0.submissionId, $0) })
            #expect(due.count == 3)
            let plain = try #require(due["plain"])
            #expect(plain.namedTransactionId == nil && plain.expectedEnvironment == nil && plain.attempt == 1)
            #expect(plain.kind == .receipt && plain.proof == "MIIB" && !plain.isClaimCheck && !plain.isAwaited)
            let named = try #require(due["named"])
            #expect(named.namedTransactionId == "20" && named.expectedEnvironment == .sandbox)
            #expect(named.proof == largest && !named.isClaimCheck)
            let large = try #require(due["large"])
            #expect(large.proof.isEmpty && large.isClaimCheck && large.namedTransactionId == "30")
            #expect(large.expectedEnvironment == .production)
            #expect(try await store.proof(of: "large") == largest + "A")
            #expect(try await store.proof(of: "nobody") == nil)
            #expect(try await claim(store).isEmpty, "each has a new lease")
        }
    }

    @Test("are claimed in portions of bounded size, the rest at once afterwards, and each once")
    func boundedClaims() async throws {
        try await TestDatabase.with { database in
            let store = SubmissionStore(pool: database.pool)
            let proof = String(repeating: "A", count: SubmissionStore.messageProofBytesMaximum)
            let fitting = SubmissionStore.claimBytesMaximum / proof.utf8.count
            for number in 0..<(fitting + 10) {
                _ = try await store.accept([submission("\(number)", proof: proof)], lease: .seconds(-1))
            }
            // Claim checks weigh nothing, however large their proofs are.
            _ = try await store.accept([submission("large", proof: proof + proof)], lease: .seconds(-1))
            let portion = try await store.claimDue(limit: 500, lease: .seconds(60), leaseMaximum: .seconds(600))
            #expect(portion.isMoreDue, "bytes ended the portion, and not rows")
            let first = portion.submissions.map(\.message)
            #expect((fitting...(fitting + 1)).contains(first.count))
            #expect(first.reduce(0) { $0 + $1.proof.utf8.count } == SubmissionStore.claimBytesMaximum)
            let rest = try await store.claimDue(limit: 500, lease: .seconds(60), leaseMaximum: .seconds(600))
            #expect(!rest.isMoreDue)
            let second = rest.submissions.map(\.message)
            #expect(Set((first + second).map(\.submissionId)).count == fitting + 11)
            #expect(first.count + second.count == fitting + 11)
            #expect(try await claim(store).isEmpty)
        }
    }

    @Test("are never more than was asked for")
    func limit() async throws {
        try await TestDatabase.with { database in
            let store = SubmissionStore(pool: database.pool)
            _ = try await store.accept(
                (0..<5).map { submission("\($0)", proof: "MIIB") }, lease: .seconds(-1))
            var counts: [Int] = []
            for _ in 0..<3 { counts.append(try await claim(store, limit: 2).count) }
            #expect(counts == [2, 2, 1])
        }
    }
}
