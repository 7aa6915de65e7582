import LogTesting
import Logging
import Messages
import Persistence
import Postgres
import PurchaseModel

@testable import Fulfillment

/// A database whose rows can be made old.
struct RetentionBench: Sendable {
    let bench: Bench
    var pool: PostgresPool { bench.pool }

    static func with(_ body: (RetentionBench) async throws -> Void) async throws {
        try await Bench.with { try await body(RetentionBench(bench: $0)) }
    }

    /// Why a submission is rejected here.
    static let mismatch = ReasonCode(rawValue: "bundle_mismatch")

    /// A month that ended about two years ago, of one of the tables.
    static let month = "2024_01"
    static let old = "'2024-01-15 00:00:00Z'::timestamptz"

    func execute(_ sql: String) async throws {
        try await pool.withConnection { try await $0.executeScript(sql) }
    }

    /// Makes the old month, as it would have been made in its time.
    func makeOldMonth(_ table: PartitionStore.Table) async throws {
        let bounds =
            switch table {
            case .submissionProofs, .webhookAttempts: "FROM ('2024-01-01 00:00Z') TO ('2024-02-01 00:00Z')"
            case .eventPositions: "FROM (1704067200000000) TO (1706745600000000)"
            // What event_floor says of these days.
            case .events, .webhookDeliveries: "FROM ('evt_018cc251f400') TO ('evt_018d61f71800')"
            }
        try await execute(
            """
            CREATE TABLE \(table.rawValue)_\(Self.month) PARTITION OF \(table.rawValue) FOR VALUES \(bounds);
            INSERT INTO table_months (table_name, partition_name, begins_at, ends_at)
            VALUES ('\(table.rawValue)', '\(table.rawValue)_\(Self.month)', '2024-01-01 00:00Z', '2024-02-01 00:00Z')
            """)
    }

    /// What the process does every five minutes.
    func look(_ retention: Retention = Retention()) async throws {
        try await ApplyRetention(pool: pool, retention: retention, logger: bench.log.logger()).look()
    }

    /// Takes all events over, and has their endpoint take them.
    func deliver() async throws {
        try await execute(
            """
            INSERT INTO webhook_deliveries (event_id, endpoint_id, state, delivered_at)
            SELECT event_id, 'backend', 'delivered', now() FROM event_outbox;
            DELETE FROM event_outbox
            """)
    }

    /// Makes all rows of purchases as old as the old month.
    func age() async throws {
        try await execute(
            """
            ALTER TABLE ledger_entries DISABLE TRIGGER USER;
            UPDATE ledger_entries SET created_at = \(Self.old);
            ALTER TABLE ledger_entries ENABLE TRIGGER USER;
            UPDATE orders SET created_at = \(Self.old), granted_at = CASE WHEN granted_at IS NOT NULL THEN \(Self.old) END;
            UPDATE order_transactions SET created_at = \(Self.old);
            UPDATE submission_proofs SET received_at = \(Self.old);
            UPDATE submissions SET received_at = \(Self.old), settled_at = CASE WHEN settled_at IS NOT NULL THEN \(Self.old) END,
                proof_at = CASE WHEN proof_at IS NOT NULL THEN \(Self.old) END;
            UPDATE webhook_deliveries SET event_id = 'evt_018d0a6afc00' || right(event_id, 20), created_at = \(Self.old);
            UPDATE event_outbox SET event_id = 'evt_018d0a6afc00' || right(event_id, 20);
            UPDATE events SET id = 'evt_018d0a6afc00' || right(id, 20), created_at = \(Self.old)
            """)
    }

    /// Whether a table is there.
    func isThere(_ table: String) async throws -> Bool {
        try await bench.number("(to_regclass('\(table)') IS NOT NULL)::int") == 1
    }

    func proof(_ id: String) async throws -> String? {
        try await SubmissionStore(pool: pool).proof(of: id)
    }

    /// Posts a proof, as intake does.
    func post(_ id: String, account: String = "player", kind: ProofKind = .receipt, proof: String) async throws {
        let message = SubmissionMessage(
            submissionId: id, app: Bench.app, account: account, kind: kind, proof: proof, attempt: 0,
            correlationId: "req_\(id)")
        _ = try await SubmissionStore(pool: pool).accept(
            [SubmissionStore.NewSubmission(message: message, partitionKey: account)], lease: .seconds(30))
    }

    /// Rejects a submission.
    func reject(_ id: String, _ reason: ReasonCode) async throws {
        let outcome = SubmissionOutcome(state: .rejected, finish: false, reason: reason, transactions: [])
        let message = SettlementMessage(submissionId: id, outcome: outcome)
        try await pool.withTransaction { _ = try await SubmissionStore.settle([message], on: $0) }
    }
}
