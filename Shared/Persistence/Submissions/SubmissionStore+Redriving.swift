import Postgres

/// Gives settled submissions another run on a person's word, and writes down who did it and why.
///
/// It is harmless to granted orders: verification and granting are idempotent, so a run more changes nothing of them.
extension SubmissionStore {
    /// Which submissions.
    package enum Selection: Sendable {
        /// These, unless they are fulfilled.
        case ids([String])
        /// All that are parked.
        case parked
        /// All that were rejected for this reason.
        case rejected(reason: String)
        /// These of Apple's notifications, fulfilled ones too.
        case notifications([String])
    }

    /// A submission that runs again.
    package struct Redriven: Codable, Sendable {
        /// Its id.
        package let id: String
        /// The state it had.
        package let previousState: String
        /// The id of its row in `audit_log`.
        package let auditId: Int64
    }

    /// Submissions of one transaction.
    package static let redriveBatch = 1_000

    /// Sets submissions back to received and due now, with a row in `audit_log` for each.
    ///
    /// So many in a transaction, those first that were settled first. What is settled again meanwhile is not chosen again.
    ///
    /// - Parameters:
    ///   - selection: which; those that have no proof any more are always left alone, and fulfilled ones but for notifications.
    ///   - app: whose; nil for every app's.
    ///   - reason: why, in the operator's words.
    ///   - actor: who.
    ///   - limit: the most to redrive in all.
    /// - Returns: what each transaction changed; it throws `PostgresError`, and what was told before is due all the same.
    package func redriveBatches(
        _ selection: Selection, app: String? = nil, reason: String, actor: String, limit: Int
    ) -> AsyncThrowingStream<[Redriven], any Error> {
        let batches = RedriveBatches(
            store: self, selection: selection, app: app, reason: reason, actor: actor, left: limit)
        return AsyncThrowingStream { try await batches.next() }
    }

    /// The same, and all of it at the end.
    ///
    /// - Throws: `PostgresError`.
    package func redrive(
        _ selection: Selection, app: String? = nil, reason: String, actor: String, limit: Int
    ) async throws -> [Redriven] {
        var redriven: [Redriven] = []
        for try await batch in redriveBatches(selection, app: app, reason: reason, actor: actor, limit: limit) {
            redriven += batch
        }
        return redriven
    }

    /// - Parameters:
    ///   - order: by which they are chosen, so many of them; none that was settled after `start`.
    @inline(never)
    fileprivate func setBack(
        _ condition: SQL, by order: SQL, limit: Int, before start: String, reason: String, actor: String
    ) async throws -> [Redriven] {
        try await pool.withTransaction { connection in
            let result = try await connection.query(
                """
                WITH found AS (
                    SELECT id FROM submissions
                    -- Without a proof nothing can be judged: its account was forgotten, or retention has dropped it.
                    WHERE \(condition) AND \(Self.hasProof)
                        AND (settled_at IS NULL OR settled_at <= \(start)::timestamptz)
                    ORDER BY \(order) LIMIT \(limit)
                ), chosen AS (
                    SELECT id, state FROM submissions
                    WHERE id = ANY(ARRAY(SELECT id FROM found)) AND \(condition) ORDER BY id FOR UPDATE
                ), changed AS (
                    UPDATE submissions SET state = 'received', outcome = NULL, reason = NULL, settled_at = NULL,
                        due_at = now(), attempts = 0
                    FROM chosen WHERE submissions.id = chosen.id
                    RETURNING submissions.id, chosen.state AS previous_state
                )
                SELECT id, previous_state FROM changed ORDER BY id
                """)
            let changed = try result.map { (id: String, state: String) in (id: id, state: state) }
            let lines = try await AuditLog.write(
                "redrive", of: changed.map(\.id), app: .ofSubmission, actor: actor, reason: reason, on: connection)
            return zip(changed, lines).map { Redriven(id: $0.id, previousState: $0.state, auditId: $1.id) }
        }
    }
}

/// The transactions of one redrive, one after the other.
private actor RedriveBatches {
    private let store: SubmissionStore
    private let selection: SubmissionStore.Selection
    private let app: String?
    private let reason: String
    private let actor: String
    private var left: Int
    /// Ids that are named and not looked at yet.
    private var ids: [String]
    /// The database's time at the beginning.
    private var start: String?
    private var isOver = false

    init(
        store: SubmissionStore, selection: SubmissionStore.Selection, app: String?, reason: String, actor: String,
        left: Int
    ) {
        self.store = store
        self.selection = selection
        self.app = app
        self.reason = reason
        self.actor = actor
        self.left = left
        ids =
            switch selection {
            case .ids(let ids), .notifications(let ids): ids
            case .parked, .rejected: []
            }
    }

    /// What the next transaction changes; nil when there is nothing more.
    func next() async throws -> [SubmissionStore.Redriven]? {
        guard !isOver, left > 0 else { return nil }
        let limit = min(left, SubmissionStore.redriveBatch)
        let (condition, order) = choice(limit)
        let start = try await begun()
        let redriven = try await store.setBack(
            app.map { "\(condition) AND app = \($0)" } ?? condition, by: order, limit: limit, before: start,
            reason: reason, actor: actor)
        left -= redriven.count
        switch selection {
        case .ids, .notifications: isOver = ids.isEmpty
        case .parked, .rejected: isOver = redriven.count < limit
        }
        return redriven
    }

    /// Which submissions, in the order of the index that finds them.
    private func choice(_ limit: Int) -> (condition: SQL, order: SQL) {
        switch selection {
        case .ids:
            let some = Array(ids.prefix(limit))
            ids.removeFirst(some.count)
            return ("id = ANY(\(some)) AND state <> 'fulfilled'", "id")
        case .notifications:
            let some = Array(ids.prefix(limit))
            ids.removeFirst(some.count)
            return ("id = ANY(\(some)) AND kind = 'server_notification'", "id")
        case .parked: return ("state = 'parked'", "reason, settled_at, id")
        case .rejected(let reason):
            return ("state = 'rejected' AND reason = \(reason)", "settled_at, reason, id")
        }
    }

    private func begun() async throws -> String {
        if let start { return start }
        let result = try await store.pool.query("SELECT now()::text AS now")
        let now = try result.rows.first?.decode(String.self) ?? "now"
        start = now
        return now
    }
}
