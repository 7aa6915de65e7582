package import Foundation
package import Postgres
package import PurchaseModel

/// The table `sweep_requests`: what backends want Apple asked about, and how far that is.
///
/// Intake writes a request down, a worker takes it up: whoever faces the players makes no task of the sweep.
package struct SweepRequestStore: Sendable {
    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    package enum Limit {
        /// Customers of Apple's that one request asks about, those who bought last; an account has one or a few.
        package static let customers = 100
        /// The time in which an app's requests are counted, in seconds: a day, to the second.
        package static let windowSeconds: Int64 = 86_400
        /// Days that a request can be looked at.
        package static let days = 30
        /// Those that are older and go at a time.
        package static let removedAtOnce = 1_000
        /// Requests that a worker takes up at a time.
        package static let takenAtOnce = 20
        /// Recovered purchases that are told of a request.
        package static let recovered = 100
    }

    /// The first half of the keys of advisory locks here; intents have another.
    private static let lockClass: Int32 = 0x53_5750

    /// What a subject that is an order id begins with, in place of an environment.
    private static let orderPrefix = "order/"

    /// Whom a backend wants asked about.
    package enum Subject: Sendable, Hashable {
        /// Whoever paid for what this account has.
        case account(Account)
        /// Whoever has this transaction id.
        case transaction(String)
        /// Whose appAccountToken this is.
        case token(UUID)
        /// Whoever has this order id in Apple's e-mail; nothing need be known of him.
        case order(String)
    }

    /// What asking led to.
    package enum Asking: Sendable, Hashable {
        /// It is on disk; or the same is under way already.
        case asked(id: String, isNew: Bool)
        /// Nothing is known by which Apple could be asked.
        case unknown
        /// The app has asked as often as it may; there is room for one more after so many seconds.
        case exhausted(retryAfterSeconds: Int)
    }

    /// Writes a request down, with a line in the audit log.
    ///
    /// Requests of one app are let through one at a time, so that many at once get no more than the limit.
    ///
    /// - Parameters:
    ///   - environment: nil for both.
    ///   - actor: who, for the audit log.
    ///   - reason: why, in the caller's words.
    ///   - limit: the most that an app may ask within a day.
    /// - Throws: `PostgresError`.
    @inline(never)
    package func ask(
        _ subject: Subject, app: String, environment: StoreEnvironment?, actor: String, reason: String, limit: Int
    ) async throws -> Asking {
        let id = "swp_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        return try await pool.withTransaction { connection in
            // The lock has a statement of its own: the next one's snapshot must be of a time when it is held.
            _ = try await connection.query(
                "SELECT pg_advisory_xact_lock(\(Self.lockClass), hashtext(\(app)))")
            let found: (subjects: [String], named: [String]) =
                if case .order(let id) = subject {
                    ([Self.orderPrefix + id], [id])
                } else {
                    try await Self.customers(subject, app: app, environment: environment, on: connection)
                }
            guard !found.subjects.isEmpty else { return .unknown }
            if let known = try await Self.underWay(found.subjects, app: app, on: connection) {
                return .asked(id: known, isNew: false)
            }
            if let seconds = try await Self.roomIn(app: app, limit: limit, on: connection) {
                return .exhausted(retryAfterSeconds: seconds)
            }
            _ = try await connection.query(
                "INSERT INTO sweep_requests (id, app, subjects) VALUES (\(id), \(app), \(found.subjects))")
            let place = environment?.rawValue ?? "both"
            // Forgetting an account finds these lines by this text.
            _ = try await AuditLog.write(
                "sweep", of: found.named.map { "\(place) \(app) \($0)" }, app: .named(app), actor: actor,
                reason: reason,
                on: connection)
            return .asked(id: id, isNew: true)
        }
    }

    /// One purchase of each customer, and by which names the audit log has them.
    private static func customers(
        _ subject: Subject, app: String, environment: StoreEnvironment?, on connection: PostgresConnection
    ) async throws -> (subjects: [String], named: [String]) {
        let condition: SQL =
            switch subject {
            case .account(let account): "o.account = \(account)"
            case .transaction(let id):
                """
                (o.environment, o.transaction_id) IN (SELECT o.environment, o.transaction_id FROM order_transactions t
                    JOIN orders asked ON (asked.environment, asked.transaction_id) = (t.environment, t.order_transaction_id)
                    JOIN orders o ON \(SweepTask.isOfCustomer) WHERE t.transaction_id = \(id))
                """
            // The purchases with the token; and since none may have come, what its account has bought before.
            case .token(let token):
                """
                (o.environment, o.transaction_id) IN (
                    SELECT environment, transaction_id FROM orders WHERE app_account_token = \(token)
                    UNION SELECT b.environment, b.transaction_id FROM account_tokens t JOIN orders b ON b.account = t.account
                    WHERE t.app = \(app) AND t.token = \(token) AND b.app = \(app))
                """
            // Apple is asked by the order id itself.
            case .order: "false"
            }
        let result = try await connection.query(
            """
            SELECT DISTINCT ON (customer) name, subject FROM (
                SELECT \(SweepTask.customerSQL) AS customer, coalesce(o.account, o.transaction_id) AS name,
                    o.purchase_date, o.environment || '/' || o.transaction_id AS subject
                FROM orders o WHERE o.app = \(app) AND \(condition)
                    AND o.environment = ANY(\(environment.map { [$0] } ?? [.production, .sandbox]))
                ORDER BY o.purchase_date DESC, o.transaction_id DESC LIMIT \(Limit.customers)) newest
            ORDER BY customer, purchase_date DESC, subject
            """)
        let found = try result.map { (name: String, subject: String) in (name: name, subject: subject) }
        return (found.map(\.subject).sorted(), Set(found.map(\.name)).sorted())
    }

    /// The request for the same customers that is not over yet.
    private static func underWay(
        _ subjects: [String], app: String, on connection: PostgresConnection
    ) async throws -> String? {
        let result = try await connection.query(
            """
            SELECT r.id FROM sweep_requests r
            WHERE r.app = \(app) AND r.subjects = \(subjects) AND r.requested_at > now() - \(Limit.days) * interval '1 day'
                AND (r.taken_at IS NULL OR EXISTS (SELECT FROM sweep_tasks t WHERE t.id = ANY(r.task_ids) AND \(isWaiting)))
            ORDER BY r.requested_at DESC LIMIT 1
            """)
        return try result.rows.first?.decode(String.self)
    }

    /// Whether a task `t` has not been asked to its end since a request `r` made it due.
    ///
    /// A round that was under way then ends before what was asked for begins: it leaves the priority of a request.
    private static let isWaiting: SQL = """
        (t.finished_at IS NULL OR t.finished_at < r.taken_at OR t.priority = 0 AND t.asked_at >= r.taken_at)
        """

    /// After how many seconds there is room for one more request of an app; nil where there is.
    private static func roomIn(app: String, limit: Int, on connection: PostgresConnection) async throws -> Int? {
        // One step in the index from the newest to the oldest that counts.
        let result = try await connection.query(
            """
            SELECT ceil(extract(epoch FROM requested_at + \(Limit.windowSeconds) * interval '1 second' - now()))::int8 AS room_in
            FROM sweep_requests WHERE app = \(app) AND requested_at > now() - \(Limit.windowSeconds) * interval '1 second'
            ORDER BY requested_at DESC OFFSET \(limit) - 1 LIMIT 1
            """)
        return try result.rows.first.map { max(1, try $0.decode(Int.self)) }
    }
}

extension SweepRequestStore {
    /// How far a request is.
    package struct Status: Sendable, Hashable {
        /// A purchase that the sweep found since.
        package struct Recovered: Sendable, Hashable {
            package let environment: StoreEnvironment
            package let transactionId: String
            /// The order's.
            package let state: String
            package let reason: String?
        }

        package let id: String
        package let requestedAt: Date
        /// Nil until a worker has taken it up.
        package let takenAt: Date?
        /// When the last question was answered; nil until then.
        package let finishedAt: Date?
        package let questions: Int64
        /// Those that are not answered to their end.
        package let questionsLeft: Int64
        /// Calls of Apple's servers, and what they found that the books lacked.
        package let calls: Int64
        package let found: Int64
        /// Why a question was put off the last time.
        package let lastError: String?
        /// What was found and has an order by now, and all purchases of an order id, at most ``Limit/recovered``.
        package let recovered: [Recovered]
    }

    /// A request of an app; nil for none, and for one that is too old.
    ///
    /// - Throws: `PostgresError`.
    package func find(_ id: String, app: String) async throws -> Status? {
        let result = try await pool.query(
            """
            SELECT r.requested_at, r.taken_at, t.questions, t.questions_left, t.finished_at, t.last_error,
                greatest(t.calls - r.calls_before, 0) AS calls, greatest(t.found - r.found_before, 0) AS found
            FROM sweep_requests r CROSS JOIN LATERAL (
                SELECT count(*) AS questions, count(*) FILTER (WHERE \(Self.isWaiting)) AS questions_left,
                    max(t.finished_at) AS finished_at, coalesce(sum(t.calls), 0)::int8 AS calls,
                    coalesce(sum(t.found), 0)::int8 AS found,
                    max(t.last_error) FILTER (WHERE \(Self.isWaiting)) AS last_error
                FROM sweep_tasks t WHERE t.id = ANY(r.task_ids)) t
            WHERE r.id = \(id) AND r.app = \(app) AND r.requested_at > now() - \(Limit.days) * interval '1 day'
            """)
        guard let row = result.rows.first else { return nil }
        let (requestedAt, takenAt, questions, left, finishedAt, lastError, calls, found) = try row.decode(
            (Date, Date?, Int64, Int64, Date?, String?, Int64, Int64).self)
        return Status(
            id: id, requestedAt: requestedAt, takenAt: takenAt,
            finishedAt: takenAt != nil && left == 0 ? finishedAt ?? takenAt : nil, questions: questions,
            questionsLeft: left, calls: calls, found: found, lastError: lastError,
            recovered: takenAt == nil ? [] : try await recovered(id))
    }

    private func recovered(_ id: String) async throws -> [Status.Recovered] {
        let result = try await pool.query(
            """
            SELECT o.environment, o.transaction_id, o.state, o.reason
            FROM sweep_requests r JOIN sweep_tasks t ON t.id = ANY(r.task_ids)
            JOIN recoveries v ON v.found_at >= r.taken_at AND (v.app, v.environment) = (t.app, t.environment)
            JOIN order_transactions i ON (i.environment, i.transaction_id) = (v.environment, v.transaction_id)
            JOIN orders o ON (o.environment, o.transaction_id) = (i.environment, i.order_transaction_id)
            WHERE r.id = \(id) AND \(SweepTask.customerSQL) = t.customer
            UNION
            SELECT o.environment, o.transaction_id, o.state, o.reason
            FROM sweep_requests r JOIN sweep_tasks t ON t.id = ANY(r.task_ids) AND t.kind = 'order'
            CROSS JOIN unnest(string_to_array(t.revision, ',')) AS named (transaction_id)
            JOIN order_transactions i ON (i.environment, i.transaction_id) = (t.environment, named.transaction_id)
            JOIN orders o ON (o.environment, o.transaction_id) = (i.environment, i.order_transaction_id) AND o.app = t.app
            WHERE r.id = \(id)
            ORDER BY 1, 2 LIMIT \(Limit.recovered)
            """)
        return try result.map(Status.Recovered.init)
    }
}

extension SweepRequestStore {
    /// Makes the tasks of requests due, the oldest first.
    ///
    /// - Returns: how many requests were taken up.
    /// - Throws: `PostgresError`; then none was.
    package func takeUp() async throws -> Int {
        try await pool.withTransaction { connection in
            let waiting = try await connection.query(
                """
                SELECT id FROM sweep_requests WHERE taken_at IS NULL
                ORDER BY requested_at LIMIT \(Limit.takenAtOnce) FOR UPDATE SKIP LOCKED
                """)
            guard !waiting.rows.isEmpty else { return 0 }
            for row in waiting.rows { try await Self.takeUp(try row.decode(String.self), on: connection) }
            return waiting.rows.count
        }
    }

    /// Removes some of the requests that are too old to be looked at.
    ///
    /// - Returns: how many.
    /// - Throws: `PostgresError`.
    @discardableResult
    package func removeOld() async throws -> Int {
        let result = try await pool.query(
            """
            DELETE FROM sweep_requests WHERE id = ANY(ARRAY(
                SELECT id FROM sweep_requests WHERE requested_at < now() - \(Limit.days) * interval '1 day'
                LIMIT \(Limit.removedAtOnce)))
            """)
        return Int(result.affectedRows)
    }

    private static func takeUp(_ id: String, on connection: PostgresConnection) async throws {
        _ = try await SweepTaskStore.ask(
            customersSource(id), kinds: [.history, .statuses, .refunds], cause: .request, readsAll: true,
            on: connection)
        _ = try await SweepTaskStore.ask(
            ordersSource(id), kinds: [.order], cause: .request, readsAll: true, on: connection)
        _ = try await connection.query(
            """
            UPDATE sweep_requests r SET taken_at = now(), task_ids = t.ids, calls_before = t.calls, found_before = t.found
            FROM (SELECT coalesce(array_agg(id), '{}') AS ids, coalesce(sum(calls), 0)::int8 AS calls,
                    coalesce(sum(found), 0)::int8 AS found
                FROM sweep_tasks JOIN (SELECT app, environment, customer FROM (\(customersSource(id))) o
                        UNION SELECT app, environment, customer FROM (\(ordersSource(id))) o) asked
                    USING (app, environment, customer)
                WHERE kind IN ('history', 'statuses', 'refunds', 'order')) t
            WHERE r.id = \(id)
            """)
    }

    private static func customersSource(_ id: String) -> SQL {
        """
        SELECT o.app, o.environment, \(SweepTask.customerSQL) AS customer, o.transaction_id
        FROM sweep_requests asked CROSS JOIN unnest(asked.subjects) AS subjects (subject)
        JOIN orders o ON (o.environment, o.transaction_id) = (split_part(subject, '/', 1), split_part(subject, '/', 2))
        WHERE asked.id = \(id) AND o.app = asked.app
        """
    }

    /// Order ids of a request; the sandbox sends no e-mail.
    private static func ordersSource(_ id: String) -> SQL {
        """
        SELECT asked.app, 'production' AS environment, 'm:' || split_part(subject, '/', 2) AS customer,
            split_part(subject, '/', 2) AS transaction_id
        FROM sweep_requests asked CROSS JOIN unnest(asked.subjects) AS subjects (subject)
        WHERE asked.id = \(id) AND starts_with(subject, \(orderPrefix))
        """
    }
}
