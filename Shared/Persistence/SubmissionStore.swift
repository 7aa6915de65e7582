public import Foundation
public import Messages
public import Postgres
public import PurchaseModel

/// The table `submissions`: what was received and must get an outcome.
public struct SubmissionStore: Sendable {
    /// The most bytes of a proof that travels in a message; a larger one stays in its row, and is read from there.
    ///
    /// A signed transaction has 5 kB, a receipt of a hundred purchases 60 kB. Brokers take a megabyte.
    public static let messageProofBytesMaximum = 256 << 10
    /// The most bytes of proofs that one claim of due rows loads.
    public static let claimBytesMaximum = 16 << 20

    private let pool: PostgresPool

    /// Works on the database of a pool.
    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A submission as it is accepted, or as it is sent.
    public struct NewSubmission: Sendable {
        /// What is to be verified.
        public let message: SubmissionMessage
        /// The Kafka key: keeps a lineage in one partition.
        public let partitionKey: String

        /// Makes one.
        public init(message: SubmissionMessage, partitionKey: String) {
            self.message = message
            self.partitionKey = partitionKey
        }

        /// The same as it is sent: without a proof that is larger than `messageProofBytesMaximum`.
        public var withClaimCheck: NewSubmission {
            guard message.proof.utf8.count > SubmissionStore.messageProofBytesMaximum else { return self }
            var message = message
            message.proof = ""
            message.isClaimCheck = true
            return NewSubmission(message: message, partitionKey: partitionKey)
        }
    }

    /// What is known of a submission.
    public struct Status: Sendable {
        /// The account that posted it.
        public let account: String
        /// The app it was posted for.
        public let app: String
        /// When it was received.
        public let receivedAt: Date
        /// Its outcome; nil while it has none.
        public let outcome: SubmissionOutcome?
    }

    /// Writes many submissions in one statement and one commit; those that exist are left as they are.
    ///
    /// - Parameters:
    ///   - submissions: distinct ids, each with its whole proof.
    ///   - lease: after how long they are sent again unless they have an outcome by then.
    /// - Returns: the ids that are new, and the status of those that existed.
    /// - Throws: `PostgresError`; then nothing was written, or the outcome is unknown and writing again is harmless.
    public func accept(
        _ submissions: [NewSubmission], lease: Duration
    ) async throws -> (new: Set<String>, existing: [String: Status]) {
        let messages = submissions.map(\.message)
        let inserted = try await pool.query(
            """
            INSERT INTO submissions (id, app, account, kind, proof, partition_key, correlation_id,
                named_transaction_id, expected_environment, due_at)
            SELECT new.*, now() + $10 * interval '1 millisecond'
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                $9::text[]) AS new (id, app, account, kind, proof, partition_key, correlation_id,
                named_transaction_id, expected_environment)
            ORDER BY id
            ON CONFLICT (id) DO NOTHING
            RETURNING id
            """,
            [
                .textArray(messages.map(\.submissionId)), .textArray(messages.map(\.app)),
                .textArray(messages.map(\.account)), .textArray(messages.map(\.kind.rawValue)),
                .textArray(messages.map(\.proof)), .textArray(submissions.map(\.partitionKey)),
                .textArray(messages.map(\.correlationId)), .textArray(messages.map(\.namedTransactionId)),
                .textArray(messages.map(\.expectedEnvironment?.rawValue)), .int8(lease.wholeMilliseconds),
            ])
        let new = Set(try inserted.rows.map { try $0.decode("id", as: String.self) })
        let known = messages.map(\.submissionId).filter { !new.contains($0) }
        return (new, known.isEmpty ? [:] : try await statuses(of: known))
    }

    /// The status of submissions by id; unknown ids are left out.
    ///
    /// - Throws: `PostgresError`.
    public func statuses(of ids: [String]) async throws -> [String: Status] {
        let result = try await pool.query(
            "SELECT id, app, account, received_at, outcome FROM submissions WHERE id = ANY($1)", [.textArray(ids)])
        var statuses: [String: Status] = [:]
        for row in result.rows {
            let outcome = try row.decodeIfPresent("outcome", as: String.self)
            statuses[try row.decode("id", as: String.self)] = Status(
                account: try row.decode("account", as: String.self), app: try row.decode("app", as: String.self),
                receivedAt: try row.decode("received_at", as: Date.self),
                outcome: try outcome.map { try MessageCoding.decode(SubmissionOutcome.self, from: Array($0.utf8)) })
        }
        return statuses
    }

    /// When the oldest submission without an outcome was received; nil when all have one.
    ///
    /// - Throws: `PostgresError`.
    public func oldestUnsettled() async throws -> Date? {
        // Only unsettled rows are due, and only those are in the index.
        let result = try await pool.query("SELECT min(received_at) AS oldest FROM submissions WHERE due_at IS NOT NULL")
        return try result.rows.first?.decodeIfPresent("oldest", as: Date.self)
    }

    /// The proof of a submission, whole: for who was sent a claim check.
    ///
    /// - Returns: nil when there is no such submission.
    /// - Throws: `PostgresError`.
    public func proof(of id: String) async throws -> String? {
        let result = try await pool.query("SELECT proof FROM submissions WHERE id = $1", [.text(id)])
        return try result.rows.first?.decode("proof", as: String.self)
    }

    /// Takes submissions that are due, and gives each a new lease that doubles with every attempt.
    ///
    /// Any number of processes may do this at once: a row locked by another is passed over. A proof too large for a
    /// message is not loaded: such a submission is a claim check.
    ///
    /// - Parameters:
    ///   - limit: the most to take; fewer, but at least one, where their proofs would be more than
    ///     `claimBytesMaximum`.
    ///   - lease: the first lease.
    ///   - leaseMaximum: where doubling ends.
    /// - Throws: `PostgresError`.
    public func claimDue(limit: Int, lease: Duration, leaseMaximum: Duration) async throws -> [NewSubmission] {
        let result = try await pool.query(
            Self.claimStatement,
            [
                .int8(Int64(limit)), .int8(lease.wholeMilliseconds), .int8(leaseMaximum.wholeMilliseconds),
                .int8(Int64(Self.messageProofBytesMaximum)), .int8(Int64(Self.claimBytesMaximum)),
            ])
        return try result.rows.map { row in
            let proof = try row.decodeIfPresent("proof", as: String.self)
            let environment = try row.decodeIfPresent("expected_environment", as: String.self)
            return NewSubmission(
                message: SubmissionMessage(
                    submissionId: try row.decode("id"), app: try row.decode("app"),
                    account: try row.decode("account"),
                    kind: ProofKind(rawValue: try row.decode("kind", as: String.self)), proof: proof ?? "",
                    attempt: Int(try row.decode("attempts", as: Int32.self)),
                    correlationId: try row.decode("correlation_id"),
                    namedTransactionId: try row.decodeIfPresent("named_transaction_id", as: String.self),
                    expectedEnvironment: environment.flatMap { StoreEnvironment(rawValue: $0) },
                    isClaimCheck: proof == nil),
                partitionKey: try row.decode("partition_key"))
        }
    }

    // A proof's length is in its row, so that a large one is measured without being read. Rows that are locked and then
    // left for their size are free again with this statement's end.
    private static let claimStatement = """
        WITH due AS MATERIALIZED (
            SELECT id, due_at, octet_length(proof) AS bytes FROM submissions
            WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
        ), measured AS (
            SELECT id, bytes, sum(bytes) FILTER (WHERE bytes <= $4) OVER (
                ORDER BY due_at, id ROWS UNBOUNDED PRECEDING) AS total
            FROM due
        )
        UPDATE submissions SET attempts = attempts + 1,
            due_at = now() + least($2 * power(2, least(attempts + 1, 20)), $3) * interval '1 millisecond'
        FROM measured
        WHERE submissions.id = measured.id AND coalesce(measured.total, 0) <= $5
        RETURNING submissions.id, app, account, kind, partition_key, correlation_id, attempts, named_transaction_id,
            expected_environment, CASE WHEN measured.bytes <= $4 THEN proof END AS proof
        """

    /// Sets outcomes in the caller's transaction; a settled submission keeps the outcome it has, unless it is parked.
    ///
    /// - Throws: `PostgresError`.
    public static func settle(
        _ outcomes: [(id: String, outcome: SubmissionOutcome)], on connection: PostgresConnection
    ) async throws {
        guard !outcomes.isEmpty else { return }
        let bodies = try outcomes.map { String(decoding: try MessageCoding.encode($0.outcome), as: UTF8.self) }
        _ = try await connection.query(
            """
            UPDATE submissions SET state = settled.state, reason = settled.reason, outcome = settled.outcome,
                due_at = NULL, settled_at = now()
            FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[]) AS settled (id, state, reason, outcome)
            WHERE submissions.id = settled.id AND submissions.state IN ('received', 'parked')
            """,
            [
                .textArray(outcomes.map(\.id)), .textArray(outcomes.map(\.outcome.state.rawValue)),
                .textArray(outcomes.map(\.outcome.reason?.rawValue)), .jsonbArray(bodies),
            ])
    }

    /// Puts submissions off in the caller's transaction: due again after the delay given for each.
    ///
    /// - Throws: `PostgresError`.
    public static func putOff(
        _ delays: [(id: String, reason: ReasonCode, delay: Duration)], on connection: PostgresConnection
    ) async throws {
        guard !delays.isEmpty else { return }
        _ = try await connection.query(
            """
            UPDATE submissions SET due_at = now() + put_off.milliseconds * interval '1 millisecond',
                reason = put_off.reason
            FROM unnest($1::text[], $2::text[], $3::int8[]) AS put_off (id, reason, milliseconds)
            WHERE submissions.id = put_off.id AND submissions.state = 'received'
            """,
            [
                .textArray(delays.map(\.id)), .textArray(delays.map(\.reason.rawValue)),
                .int8Array(delays.map(\.delay.wholeMilliseconds)),
            ])
    }
}
