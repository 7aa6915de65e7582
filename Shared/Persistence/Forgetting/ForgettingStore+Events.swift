import Foundation
import Messages
import Postgres
import PurchaseModel

/// What an account was told, and others of it. What was delivered cannot be called back; what was not yet goes out with the
/// pseudonym.
extension ForgettingStore {
    /// Whether an event `e` of the name is the account's: what is told of a purchase is, until all of it has the pseudonym.
    private static func isOwn(_ request: ForgetRequestStore.Due) -> SQL {
        "(e.transaction_id IS NOT NULL OR e.created_at <= \(moment(request)))"
    }

    /// Names as events' bodies have them.
    struct JSONNames {
        /// With its quotation marks.
        let name: String
        let pseudonym: String

        init(_ request: ForgetRequestStore.Due) throws {
            name = String(decoding: try MessageCoding.encode(request.account), as: UTF8.self)
            pseudonym = String(decoding: try MessageCoding.encode(request.pseudonym), as: UTF8.self)
        }

        /// Without them.
        var inner: String { String(name.dropFirst().dropLast()) }
    }

    /// What stands in place of a free text about an account.
    static let removedText = "removed: the account was forgotten"

    /// A body without the account in its binding and its correlation id.
    ///
    /// Keys are sorted, and there are no spaces, so that each of these texts is one member.
    private static func nameless(_ body: SQL, _ request: ForgetRequestStore.Due, _ json: JSONNames) -> SQL {
        let (name, pseudonym) = (SQL.once(json.name), SQL.once(json.pseudonym))
        let correlation: SQL = #"substring(\#(body) FROM '"correlation_id":"([^"]*)"')"#
        let bound: SQL = #"""
            replace(replace(\#(body), '"from":' || \#(name), '"from":' || \#(pseudonym)),
                '"to":' || \#(name), '"to":' || \#(pseudonym))
            """#
        return """
            CASE WHEN length(\(request.account)) >= \(nameLengthMinimum) AND strpos(\(correlation), \(request.account)) > 0
                THEN replace(\(bound), \(correlation), replace(\(correlation), \(request.account), '***'))
                ELSE \(bound) END
            """
    }

    /// A body without the token and the app's own number of the order, which came with it.
    private static func tokenless(_ body: SQL) -> SQL {
        #"regexp_replace(\#(body), '"(app_account_token|reference)":"([^"\\]|\\.)*",', '', 'g')"#
    }

    /// Others' events: who had it before, and tokens.
    static func forgetMentions(
        _ traces: Traces, _ request: ForgetRequestStore.Due, on connection: PostgresConnection
    ) async throws -> Int {
        guard !traces.mentions.isEmpty else { return 0 }
        let json = try JSONNames(request)
        return try await rows(
            """
            UPDATE events SET body = new.body FROM (
                SELECT id, \(nameless("bare.body", request, json)) AS body FROM (
                    SELECT e.id, CASE WHEN \(tokenInBody) = ANY(\(traces.tokens))
                        THEN \(tokenless("e.body")) ELSE e.body END
                        AS body
                    FROM events e WHERE e.id = ANY(\(traces.mentions)) ORDER BY e.id FOR UPDATE) bare) new
            WHERE events.id = new.id AND events.body <> new.body
            """, on: connection)
    }

    /// The account's own events, which go on with the pseudonym's numbers.
    static func forgetEvents(
        of request: ForgetRequestStore.Due, _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        let json = try JSONNames(request)
        // Held by whoever writes an event for it; both, in the order of accounts.
        let known = try await connection.query(
            """
            SELECT account FROM account_sequences WHERE account IN (\(request.account), \(request.pseudonym))
                AND app = \(request.app)
            ORDER BY account, app, environment FOR UPDATE
            """)
        guard try known.map({ (account: Account) in account == request.account }).contains(true) else { return }
        // Until the end nobody gives positions by the name that the events have now.
        try await EventPositionStore.hold(on: connection)
        let renamed = try await connection.query(
            """
            WITH numbered AS (
                SELECT e.id, e.environment, e.sequence, coalesce(s.last_sequence, 0)
                    + row_number() OVER (PARTITION BY e.environment ORDER BY e.sequence) AS number
                FROM (SELECT * FROM events e WHERE account = \(request.account) AND app = \(request.app) AND \(isOwn(request))
                    ORDER BY environment, sequence LIMIT \(Limit.rows)) e
                LEFT JOIN account_sequences s ON (s.account, s.app, s.environment)
                    = (\(request.pseudonym), \(request.app), e.environment)
            ), bodies AS (
                SELECT n.id, n.number, replace(
                    \(tokenless("e.body")),
                    '"id":' || \(json.name) || ',"sequence":' || n.sequence || '}',
                    '"id":' || \(json.pseudonym) || ',"sequence":' || n.number || '}') AS body
                FROM numbered n JOIN events e USING (id)
            ), counted AS (
                INSERT INTO account_sequences AS s (environment, app, account, last_sequence)
                SELECT environment, \(request.app), \(request.pseudonym), max(number)
                FROM numbered GROUP BY environment ORDER BY environment
                ON CONFLICT (account, app, environment) DO UPDATE SET last_sequence = excluded.last_sequence
            )
            UPDATE events SET account = \(request.pseudonym), sequence = bodies.number,
                partition_key = CASE WHEN partition_key = \(request.account) THEN \(request.pseudonym) ELSE partition_key END,
                body = \(nameless("bodies.body", request, json))
            FROM bodies WHERE events.id = bodies.id
            RETURNING events.id
            """)
        changed["events"] = renamed.rows.count
        changed["event_positions"] = try await rows(
            """
            UPDATE event_positions p SET account = \(request.pseudonym) WHERE account = \(request.account) AND app = \(request.app)
                AND NOT EXISTS (SELECT FROM events e WHERE e.id = p.event_id AND e.account = \(request.account))
            """, on: connection)
        try await forgetTurns(of: request, &changed, on: connection)
        try await forgetAnswers(
            to: try renamed.map { (id: String) in id }, &changed, on: connection)
        changed["account_sequences"] = try await rows(
            """
            DELETE FROM account_sequences s WHERE account = \(request.account) AND app = \(request.app) AND NOT EXISTS (
                SELECT FROM events e WHERE (e.account, e.app, e.environment) = (s.account, s.app, s.environment))
            """, on: connection)
        // All of its own have gone, as far as they can be seen.
        if renamed.rows.count < Limit.rows { try await renumber(request, json, &changed, on: connection) }
    }

    /// What was told since of a new account of the name, as of an adjustment, is numbered from 1.
    ///
    /// One after the other, since no two of an account may have one number at any moment; there are few.
    private static func renumber(
        _ request: ForgetRequestStore.Due, _ json: JSONNames, _ changed: inout [String: Int],
        on connection: PostgresConnection
    ) async throws {
        let found = try await connection.query(
            """
            SELECT id, environment, number FROM (
                SELECT id, environment, sequence, row_number() OVER (PARTITION BY environment ORDER BY sequence) AS number
                FROM events WHERE account = \(request.account) AND app = \(request.app)) numbered
            WHERE sequence <> number ORDER BY environment, number
            """)
        for row in found.rows {
            let (id, environment, number) = try row.decode((String, StoreEnvironment, Int64).self)
            _ = try await connection.query(
                """
                WITH turns AS (UPDATE webhook_turns SET sequence = \(number) WHERE event_id = \(id)), counted AS (
                    UPDATE account_sequences SET last_sequence = \(number)
                    WHERE account = \(request.account) AND app = \(request.app) AND environment = \(environment)
                )
                UPDATE events SET sequence = \(number), body = replace(
                    body, '"id":' || \(json.name) || ',"sequence":' || sequence || '}',
                    '"id":' || \(json.name) || ',"sequence":' || \(number) || '}')
                WHERE id = \(id)
                """)
        }
        changed["events", default: 0] += found.rows.count
    }

    /// A lane is a hash of the name: what waits for its turn goes on in the pseudonym's.
    private static func forgetTurns(
        of request: ForgetRequestStore.Due, _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        let lanes: SQL = """
            SELECT \(DeliveryStore.lane("environment", "\(request.app)", name: "\(request.account)")) AS lane,
                \(DeliveryStore.lane("environment", "\(request.app)", name: "\(request.pseudonym)")) AS new_lane
            FROM unnest(\([StoreEnvironment.production, .sandbox])) AS every (environment)
            """
        let found = try await connection.query(
            "SELECT DISTINCT endpoint_id FROM webhook_turns JOIN (\(lanes)) lanes USING (lane)")
        guard !found.rows.isEmpty else { return }
        // Whoever gives turns at an endpoint holds this first.
        try await DeliveryStore.lock(try found.map { (id: String) in id }, on: connection)
        changed["webhook_turns"] = try await rows(
            """
            UPDATE webhook_turns t SET lane = lanes.new_lane, sequence = e.sequence
            FROM (\(lanes)) lanes, events e
            WHERE t.lane = lanes.lane AND e.id = t.event_id AND e.account = \(request.pseudonym) AND e.app = \(request.app)
            """, on: connection)
    }

    /// What endpoints answered to an account's events may repeat what was sent.
    private static func forgetAnswers(
        to eventIds: [String], _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        changed["webhook_deliveries"] = try await rows(
            """
            UPDATE webhook_deliveries SET last_error = \(removedText) WHERE event_id = ANY(\(eventIds)) AND last_error IS NOT NULL
            """, on: connection)
        changed["webhook_attempts"] = try await rows(
            """
            UPDATE webhook_attempts SET answer = \(removedText) WHERE event_id = ANY(\(eventIds)) AND answer IS NOT NULL
            """, on: connection)
    }
}
