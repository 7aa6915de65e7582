import Messages
import Persistence
import Postgres
import PurchaseModel
import Testing

@Suite(
    "The header of a verified proof is kept once",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ProofHeadersTests {
    private static let header = String(repeating: "h", count: 4_411)

    private let headers = ProofHeaders()

    private func submission(
        _ id: String, header: String = Self.header, kind: ProofKind = .signedTransaction
    ) -> SubmissionStore.NewSubmission {
        SubmissionStore.NewSubmission(
            message: SubmissionMessage(
                submissionId: id, app: "app", account: "account", kind: kind, proof: "\(header).\(id).sig", attempt: 0,
                correlationId: "req"),
            partitionKey: "key")
    }

    /// Accepts submissions that are due at once.
    private func accept(_ submissions: [SubmissionStore.NewSubmission], in pool: PostgresPool) async throws {
        let ids = Set(submissions.map(\.message.submissionId))
        let accepted = try await SubmissionStore(pool: pool, headers: headers).accept(submissions, lease: .seconds(-1))
        #expect(accepted.new == ids)
    }

    private func settle(_ id: String, as state: String, in pool: PostgresPool) async throws {
        _ = try await pool.query(
            """
            UPDATE submissions SET state = $2, due_at = NULL, outcome = jsonb_build_object(
                'state', $2, 'finish', true, 'transactions', '[]'::jsonb) WHERE id = $1
            """, [.text(id), .text(state)])
    }

    /// Ids of the rows whose proof is without its header.
    private func shortened(in pool: PostgresPool) async throws -> Set<String> {
        let result = try await pool.query(
            "SELECT submission_id AS id FROM submission_proofs WHERE proof IS NULL AND octet_length(rest) < 100")
        return Set(try result.rows.map { try $0.decode("id", as: String.self) })
    }

    /// Has one proof verified, so that its header is known.
    private func verifyOne(in pool: PostgresPool) async throws {
        try await accept([submission("first")], in: pool)
        try await settle("first", as: "fulfilled", in: pool)
        try await headers.refresh(from: pool)
    }

    @Test func `once one is verified, its header is left out of those that follow, and every reader gets it`()
        async throws
    {
        try await TestDatabase.with { database in
            let pool = database.pool
            try await verifyOne(in: pool)
            let notification = submission("notification", kind: .serverNotification)
            try await accept([submission("second"), notification, submission("other", header: "x")], in: pool)
            #expect(try await shortened(in: pool) == ["second", "notification"])
            // Any process reads them: the redriver, the workers, the tool.
            let store = SubmissionStore(pool: pool)
            let claimed = try await store.claimDue(limit: 10, lease: .seconds(60), leaseMaximum: .seconds(60))
            let due = claimed.submissions.map(\.message)
            #expect(Set(due.map(\.submissionId)) == ["second", "notification", "other"])
            for message in due {
                let header = message.submissionId == "other" ? "x" : Self.header
                #expect(message.proof == "\(header).\(message.submissionId).sig" && !message.isClaimCheck)
                #expect(try await store.proof(of: message.submissionId) == message.proof)
            }
            let found = try #require(try await InspectionStore(pool: pool).inspect("second"))
            #expect(found.contains(#""proof_bytes": \#("\(Self.header).second.sig".utf8.count)"#), "\(found)")
        }
    }

    @Test(arguments: ["received", "rejected", "parked"])
    func `a header that nobody verified is not kept`(state: String) async throws {
        try await TestDatabase.with { database in
            let pool = database.pool
            try await accept([submission("first"), submission("receipt", kind: .receipt)], in: pool)
            if state != "received" { try await settle("first", as: state, in: pool) }
            try await settle("receipt", as: "fulfilled", in: pool)
            try await headers.refresh(from: pool)
            try await accept([submission("second")], in: pool)
            #expect(try await shortened(in: pool).isEmpty)
            #expect(try await pool.query("SELECT 1 AS one FROM proof_headers", []).rows.isEmpty)
        }
    }

    @Test func `headers that anybody made up do not keep a genuine one from being kept`() async throws {
        try await TestDatabase.with { database in
            let pool = database.pool
            let forged = (0..<50).map { submission("same-\($0)") }
            try await accept(forged, in: pool)
            try await accept([submission("genuine")], in: pool)
            try await accept((0..<100).map { submission("other-\($0)", header: "made-up-\($0)") }, in: pool)
            try await settle("genuine", as: "fulfilled", in: pool)
            try await headers.refresh(from: pool)
            #expect(try await pool.query("SELECT 1 AS one FROM proof_headers", []).rows.count == 1)
        }
    }

    @Test func `under load it is kept although the newest have no outcome yet`() async throws {
        try await TestDatabase.with { database in
            let pool = database.pool
            try await accept([submission("first")], in: pool)
            try await accept((0..<100).map { submission("under-way-\($0)") }, in: pool)
            try await settle("first", as: "fulfilled", in: pool)
            try await headers.refresh(from: pool)
            #expect(try await pool.query("SELECT 1 AS one FROM proof_headers", []).rows.count == 1)
        }
    }

    @Test func `a database that lost the header, as after a restore, gets the proof whole`() async throws {
        try await TestDatabase.with { database in
            let pool = database.pool
            try await verifyOne(in: pool)
            _ = try await pool.query("DELETE FROM proof_headers", [])
            try await accept([submission("second"), submission("third")], in: pool)
            #expect(try await shortened(in: pool).isEmpty)
            let store = SubmissionStore(pool: pool)
            #expect(try await store.proof(of: "second") == "\(Self.header).second.sig")
        }
    }

    @Test func `a row whose header is missing is never sent without it`() async throws {
        try await TestDatabase.with { database in
            let pool = database.pool
            try await verifyOne(in: pool)
            try await accept([submission("second")], in: pool)
            _ = try await pool.query("DELETE FROM proof_headers", [])
            let store = SubmissionStore(pool: pool)
            let claimed = try await store.claimDue(limit: 10, lease: .seconds(60), leaseMaximum: .seconds(60))
            let due = claimed.submissions.map(\.message)
            #expect(due.map(\.submissionId) == ["second"])
            #expect(due.first?.isClaimCheck == true && due.first?.proof == "")
            #expect(try await store.proof(of: "second") == nil)
        }
    }

    @Test func `posted again it is the same submission`() async throws {
        try await TestDatabase.with { database in
            let pool = database.pool
            try await verifyOne(in: pool)
            let store = SubmissionStore(pool: pool, headers: headers)
            try await accept([submission("second")], in: pool)
            let again = try await store.accept([submission("first"), submission("second")], lease: .seconds(60))
            #expect(again.new.isEmpty && Set(again.existing.keys) == ["first", "second"])
        }
    }
}
