import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// A month of proofs is dropped while an operator has submissions of it judged again.
@Suite("Retention beside redrive", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct RedriveAndRetentionTests {
    /// Rejected submissions with their proofs, all of an old month.
    private func write(_ count: Int, _ shop: RetentionBench) async throws {
        try await shop.makeOldMonth(.submissionProofs)
        try await shop.execute(
            """
            INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof_at, received_at, state,
                settled_at, outcome, reason)
            SELECT 's' || n, 'a', 'p', 'receipt', 'p', 'r', \(RetentionBench.old), \(RetentionBench.old), 'rejected',
                \(RetentionBench.old), '{}', 'bundle_mismatch' FROM generate_series(1, \(count)) n;
            INSERT INTO submission_proofs (submission_id, received_at, proof)
            SELECT 's' || n, \(RetentionBench.old), 'junk' FROM generate_series(1, \(count)) n
            """)
    }

    private func drop(_ shop: RetentionBench) async throws -> PartitionStore.Dropping {
        let store = PartitionStore(pool: shop.pool)
        let ended = try await store.ended(of: .submissionProofs, before: .seconds(86_400 * 30))
        guard let month = ended.first else { return .dropped }
        return try await store.drop(month, of: .submissionProofs)
    }

    /// Until it is gone, or stays for what is due.
    private func dropInTheEnd(_ shop: RetentionBench) async throws -> PartitionStore.Dropping {
        while true {
            let result = try await drop(shop)
            if result != .busy { return result }
        }
    }

    private func redriveEach(_ shop: RetentionBench) async throws -> Int {
        let store = SubmissionStore(pool: shop.pool)
        var count = 0
        for number in 1...40 {
            count += try await store.redrive(.ids(["s\(number)"]), reason: "mended", actor: "ann", limit: 1).count
        }
        return count
    }

    private static let dueWithoutProof = """
        SELECT count(*) FROM submissions s WHERE due_at IS NOT NULL AND NOT EXISTS (
            SELECT FROM submission_proofs p WHERE p.received_at = s.proof_at AND p.submission_id = s.id)
        """

    @Test func `what a redrive has begun with is there when it commits`() async throws {
        try await RetentionBench.with { (shop) async throws in
            try await write(1, shop)
            // A redrive that has chosen, and not committed: it has read the month.
            try await shop.pool.withTransaction { connection in
                _ = try await connection.query(
                    """
                    UPDATE submissions SET state = 'received', outcome = NULL, reason = NULL, settled_at = NULL, due_at = now()
                    WHERE id = 's1' AND EXISTS (SELECT FROM submission_proofs p
                        WHERE p.received_at = submissions.proof_at AND p.submission_id = submissions.id)
                    RETURNING 1 AS one
                    """)
                #expect(try await drop(shop) == .busy)
            }
            #expect(try await drop(shop) == .stays(because: "some of its submissions have no outcome yet"))
            #expect(try await shop.bench.number(Self.dueWithoutProof) == 0)
        }
    }

    @Test func `both at once, many times: no proof is lost that is due, and none waits for the other in a ring`()
        async throws
    {
        for round in 0..<12 {
            try await RetentionBench.with { (shop) async throws in
                try await write(40, shop)
                async let dropped = dropInTheEnd(shop)
                async let redriven = redriveEach(shop)
                let (result, count) = try await (dropped, redriven)
                #expect(try await shop.bench.number(Self.dueWithoutProof) == 0, "round \(round)")
                #expect(count == (result == .dropped ? 0 : 40), "round \(round): \(result)")
            }
        }
    }
}
