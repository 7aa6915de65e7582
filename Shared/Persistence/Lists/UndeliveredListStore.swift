import Foundation
package import Postgres
package import PurchaseModel

/// What of one app is paid, or may be, and is not delivered, a page at a time.
///
/// It is what the view `undelivered_purchases` tells of all apps; through the view no index would give the order of a
/// page.
package struct UndeliveredListStore: Sendable {
    /// How a purchase is lost, in the order of the list.
    package enum Stage: String, Sendable, Hashable, CaseIterable {
        /// Apple signed it, and it is held.
        case parked
        /// A submission has no outcome.
        case undecided
        /// The account has it, and an endpoint was never told.
        case untold
    }

    /// Which are meant.
    package struct Selection: Sendable, Hashable {
        package let app: String
        /// What is of neither environment yet is meant, too.
        package var environment: StoreEnvironment?
        package var stage: Stage?
        package var reason: String?
        /// Only what is older.
        package var olderThan = Duration.seconds(60)

        /// All of an app that has been so for a minute.
        package init(app: String) {
            self.app = app
        }

        func includes(_ other: Stage) -> Bool { stage == nil || stage == other }
    }

    /// One of them.
    package struct Row: Sendable {
        package let stage: Stage
        package let purchase: LostPurchasesStore.Row
        /// Of which an endpoint was never told; nil of the other stages.
        package let eventId: String?
        /// By the database's clock.
        package let ageSeconds: Double

        init(_ row: PostgresRow) throws {
            stage = try row.known("stage")
            purchase = LostPurchasesStore.Row(
                stage: stage.rawValue, environment: try row.decodeIfPresent("environment"), app: try row.decode("app"),
                reason: try row.decode("reason"), since: try row.decode("since"), account: try row.accountIfPresent(),
                productId: try row.decodeIfPresent("product_id"),
                transactionId: try row.decodeIfPresent("transaction_id"),
                submissionId: try row.decodeIfPresent("submission_id"),
                purchaseDate: try row.decodeIfPresent("purchase_date"))
            eventId = try row.decodeIfPresent("event_id")
            ageSeconds = try row.decode("age_seconds")
        }
    }

    package enum Limit {
        /// Rows that are counted of a group, and looked at where a stage has no index by app; a count of as many means
        /// "at least".
        package static let count = 10_000
    }

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Reads a page: stage by stage, in each the oldest first.
    ///
    /// - Throws: `PostgresError`.
    package func page(_ selection: Selection, after: Place?, limit: Int) async throws -> (rows: [Row], next: Place?) {
        try await ListLook.read(pool) { try await Self.page(selection, after: after, limit: limit, on: $0) }
    }

    /// A function of its own, since the optimizer crashes on throwing async calls in a loop in a closure.
    @inline(never)
    private static func page(
        _ selection: Selection, after: Place?, limit: Int, on connection: PostgresConnection
    ) async throws -> (rows: [Row], next: Place?) {
        var rows: [Row] = []
        var next: Place?
        for stage in Stage.allCases where selection.includes(stage) && stage.number >= after?.stage.number ?? 0 {
            let position = after?.stage == stage ? after?.position : nil
            let room = limit - rows.count
            let result = try await connection.query(
                statement(stage, selection, after: position, limit: room + 1))
            rows += try result.rows.prefix(room).map(Row.init)
            guard result.rows.count > room else {
                if stage == .untold, let last = try await lastLooked(after: position?.id, on: connection) {
                    next = Place(stage: stage, position: ListPosition(number: 0, id: last))
                }
                continue
            }
            // A page that another stage has filled goes on with the beginning of this one.
            next =
                room > 0
                ? Place(stage: stage, position: try ListLook.position(result.rows[room - 1]))
                : Place(stage: stage, position: nil)
            break
        }
        return (rows, next)
    }

    /// The last event of a look at what was given up, where more may come.
    private static func lastLooked(after event: String?, on connection: PostgresConnection) async throws -> String? {
        try await connection.query(
            "SELECT event_id FROM (\(givenUp(after: event))) looked ORDER BY event_id OFFSET \(Limit.count - 1) LIMIT 1"
        ).rows.first?.decode(String.self)
    }

    /// Deliveries have no app: so many of those that were given up are looked at, the oldest first.
    private static func givenUp(after event: String?) -> SQL {
        let rest: SQL = event.map { "AND event_id > \($0)" } ?? ""
        return """
            SELECT event_id FROM webhook_deliveries WHERE state = 'abandoned' \(rest)
            ORDER BY event_id, endpoint_id LIMIT \(unescaped: "\(Limit.count)")
            """
    }

    /// A place in the list.
    package struct Place: Sendable, Hashable {
        package let stage: Stage
        /// Nil where the stage begins.
        package let position: ListPosition?

        /// Names a place.
        package init(stage: Stage, position: ListPosition?) {
            self.stage = stage
            self.position = position
        }
    }

    static func statement(_ stage: Stage, _ selection: Selection, after position: ListPosition?, limit: Int) -> SQL {
        switch stage {
        case .parked: parked(selection, position, limit)
        case .undecided: undecided(selection, position, limit)
        case .untold: untold(selection, position, limit)
        }
    }

    /// Of whatever has `since`.
    private static let age: SQL = "greatest(extract(epoch FROM now() - since), 0)::float8 AS age_seconds"
    /// The end of what is read of one reason: no parameter, by which nobody could plan.
    private static let end: SQL = "LIMIT \(unescaped: "\(AccountStore.pageMaximum + 1)")"

    private static func parked(_ selection: Selection, _ position: ListPosition?, _ limit: Int) -> SQL {
        let branches = (selection.environment.map { [$0] } ?? StoreEnvironment.allCases).map { environment -> SQL in
            """
            (WITH RECURSIVE \(ParkedReasons.ofApp(selection.app, in: environment))
            SELECT found.* FROM parked_reasons CROSS JOIN LATERAL (
                SELECT 'parked' AS stage, environment, app, reason, created_at AS since, account, product_id, transaction_id,
                    submission_id, purchase_date, NULL::text AS event_id, \(ListLook.number("created_at")) AS number,
                    transaction_id AS list_id, environment AS list_environment
                FROM orders WHERE \(ParkedReasons.isParked) AND app = \(selection.app) AND environment = \(environment)
                    AND reason = parked_reasons.reason AND created_at <= now() - \(selection.olderThan)
                    AND \(rest("created_at", "transaction_id", "environment", position))
                ORDER BY created_at, transaction_id \(end)
            ) found WHERE \(selection.reason) IS NULL OR parked_reasons.reason = \(selection.reason))
            """
        }
        return """
            SELECT *, \(age) FROM (\(branches.joined(separator: " UNION ALL "))) found
            ORDER BY number, list_id, list_environment LIMIT \(limit)
            """
    }

    private static func undecided(_ selection: Selection, _ position: ListPosition?, _ limit: Int) -> SQL {
        """
        SELECT *, \(age) FROM (
            \(waiting(selection)) AND \(rest(SubmissionStore.unsettledSince, "id", nil, position))
                AND (\(selection.reason) IS NULL OR \(SubmissionStore.reasonIfUnsettled) = \(selection.reason))
            ORDER BY \(SubmissionStore.unsettledSince), id \(end)) undecided
        ORDER BY number, list_id LIMIT \(limit)
        """
    }

    /// Submissions without an outcome, by the index submissions_unfulfilled.
    static func waiting(_ selection: Selection) -> SQL {
        """
        SELECT 'undecided' AS stage, NULL::text AS environment, app, \(SubmissionStore.reasonIfUnsettled) AS reason,
            \(SubmissionStore.unsettledSince) AS since, nullif(account, '') AS account, NULL::text AS product_id,
            named_transaction_id AS transaction_id, id AS submission_id, NULL::timestamptz AS purchase_date,
            NULL::text AS event_id, \(ListLook.number(SubmissionStore.unsettledSince)) AS number, id AS list_id,
            '' AS list_environment
        FROM submissions WHERE state = 'received' AND \(SubmissionListStore.isUnfulfilled) AND app = \(selection.app)
            AND \(SubmissionStore.unsettledSince) <= now() - \(selection.olderThan)
        """
    }

    private static func untold(_ selection: Selection, _ position: ListPosition?, _ limit: Int) -> SQL {
        """
        SELECT *, 0::int8 AS number, event_id AS list_id, '' AS list_environment, \(age)
        FROM (\(untoldEvents(selection, after: position?.id))) untold
        WHERE \(selection.reason) IS NULL OR reason = \(selection.reason)
        ORDER BY event_id LIMIT \(limit)
        """
    }

    /// Events that an endpoint was never told of, each once.
    static func untoldEvents(_ selection: Selection, after event: String?) -> SQL {
        """
        SELECT DISTINCT ON (e.id) 'untold' AS stage, e.environment, e.app, 'webhook_abandoned' AS reason,
            e.created_at AS since, e.account, NULL::text AS product_id, e.transaction_id, NULL::text AS submission_id,
            NULL::timestamptz AS purchase_date, e.id AS event_id
        FROM (\(givenUp(after: event))) given_up
        CROSS JOIN LATERAL (SELECT * FROM events WHERE id = given_up.event_id OFFSET 0) e
        WHERE e.type = 'iap.transaction.fulfilled' AND e.app = \(selection.app)
            AND (\(selection.environment) IS NULL OR e.environment = \(selection.environment))
            AND e.created_at <= now() - \(selection.olderThan)
        ORDER BY e.id
        """
    }

    /// What comes after a position: first the index's condition.
    private static func rest(_ time: SQL, _ id: SQL, _ environment: SQL?, _ position: ListPosition?) -> SQL {
        guard let position else { return "true" }
        let place = ListLook.time(position.number)
        guard let environment else {
            return "\(time) >= \(place) AND (\(time), \(id)) > (\(place), \(position.id))"
        }
        return """
            (\(time), \(id)) >= (\(place), \(position.id))
                AND (\(time), \(id), \(environment)) > (\(place), \(position.id), \(position.environment))
            """
    }
}

extension UndeliveredListStore.Stage {
    /// Its place in the list.
    fileprivate var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
