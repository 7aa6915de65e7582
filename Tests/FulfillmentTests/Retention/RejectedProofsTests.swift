import Messages
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment
@testable import Persistence

/// The proofs of rejected submissions are dropped after a stated time; a post of the same brings one back.
@Suite("Rejected proofs", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct RejectedProofsTests {
    private func reject(_ id: String, _ reason: ReasonCode, daysAgo days: Int, _ shop: RetentionBench) async throws {
        try await shop.reject(id, reason)
        try await shop.execute(
            "UPDATE submissions SET settled_at = now() - interval '\(days) days' WHERE id = '\(id)'")
    }

    @Test func `a proof goes thirty days after its rejection, and its outcome stays`() async throws {
        try await RetentionBench.with { (shop) async throws in
            for (id, days) in [("old", 31), ("young", 29)] {
                try await shop.post(id, proof: "junk \(id)")
                try await reject(id, RetentionBench.mismatch, daysAgo: days, shop)
            }
            try await shop.post("due", proof: "waits")
            for _ in 0..<2 { try await shop.look() }
            #expect(try await shop.proof("old") == nil)
            #expect(try await shop.proof("young") == "junk young")
            #expect(try await shop.proof("due") == "waits")
            #expect(try await shop.bench.outcome("old")?.reason == RetentionBench.mismatch)
            // Posted again it is judged anew, by the proof of that post.
            try await shop.post("old", proof: "junk old")
            #expect(try await shop.proof("old") == "junk old")
            #expect(try await shop.bench.outcome("old") == nil)
        }
    }

    @Test func `rejections of one instant are not cut in two`() async throws {
        try await RetentionBench.with { (shop) async throws in
            try await shop.execute(
                """
                INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof_at, state, settled_at,
                    outcome, reason)
                SELECT 'r' || n, 'a', 'p', 'receipt', 'p', 'r', now(), 'rejected',
                    now() - interval '40 days' + n / 7 * interval '1 second', '{}', 'x' FROM generate_series(0, 20) n;
                INSERT INTO submission_proofs (received_at, submission_id, proof) SELECT proof_at, id, 'junk' FROM submissions
                """)
            let store = SubmissionStore(pool: shop.pool)
            let looked = try await store.removeRejectedProofs(olderThan: .seconds(30 * 86_400), limit: 4)
            #expect(looked.looked == 7 && looked.removed == 7)
            for _ in 0..<2 { _ = try await store.removeRejectedProofs(olderThan: .seconds(30 * 86_400), limit: 4) }
            #expect(try await shop.bench.number("SELECT count(*) FROM submission_proofs") == 0)
            #expect(try await store.removeRejectedProofs(olderThan: .seconds(30 * 86_400), limit: 4).looked == 0)
        }
    }

    @Test func `what Apple may know by now is judged anew with the proof of the new post, and only with one`()
        async throws
    {
        try await RetentionBench.with { (shop) async throws in
            for id in ["posted", "named"] {
                try await shop.post(id, proof: "receipt \(id)")
                try await shop.execute("UPDATE submissions SET named_transaction_id = 't_\(id)' WHERE id = '\(id)'")
                try await reject(id, .transactionNotInReceipt, daysAgo: 31, shop)
            }
            try await shop.look()
            #expect(try await shop.proof("posted") == nil)
            // An order of it comes from elsewhere: there is nothing left that could be judged.
            let reopened = try await shop.pool.withTransaction {
                try await SubmissionStore.reopen(naming: [(app: Bench.app, transactionId: "t_named")], on: $0)
            }
            #expect(reopened == 0)
            #expect(try await shop.bench.outcome("named")?.state == .rejected)
            try await shop.post("posted", proof: "receipt posted")
            #expect(try await shop.proof("posted") == "receipt posted")
            #expect(try await shop.bench.outcome("posted") == nil, "it is judged anew")
            try await shop.bench.expectClean()
        }
    }

    @Test func `an operator's redrive leaves alone what has no proof`() async throws {
        try await RetentionBench.with { (shop) async throws in
            for (id, days) in [("old", 31), ("young", 29)] {
                try await shop.post(id, proof: "junk \(id)")
                try await reject(id, RetentionBench.mismatch, daysAgo: days, shop)
            }
            try await shop.look()
            let redriven = try await SubmissionStore(pool: shop.pool).redrive(
                .rejected(reason: "bundle_mismatch"), reason: "mended", actor: "ann", limit: 10)
            #expect(redriven.map(\.id) == ["young"])
        }
    }
}
