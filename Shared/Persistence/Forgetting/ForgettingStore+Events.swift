import Foundation
import Messages
import Postgres
import PurchaseModel

/// What an account was told, and others of it. What was delivered cannot be called back; what was not yet goes out with the
/// pseudonym.
extension ForgettingStore {
    /// Whether an event `e` of the name is the account's: what is told of a purchase is, until all of it has the pseudonym.
    ///
    /// - Parameter place: of the request's id.
    private static func isOwn(_ place: Int) -> String {
        "(e.transaction_id IS NOT NULL OR e.created_at <= \(moment(place)))"
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
    /// `$1` is the name, `$4` and `$5` are name and pseudonym as JSON. Keys are sorted, and there are no spaces, so that each of these
    /// texts is one member.
    private static func nameless(_ body: String) -> String {
        let correlation = #"substring(\#(body) FROM '"correlation_id":"([^"]*)"')"#
        let bound =
            #"replace(replace(\#(body), '"from":' || $4::text, '"from":' || $5::text), '"to":' || $4::text, '"to":' || $5::text)"#
        return """
            CASE WHEN length($1) >= \(nameLengthMinimum) AND strpos(\(correlation), $1) > 0
                THEN replace(\(bound), \(correlation), replace(\(correlation), $1, 'forgotten')) ELSE \(bound) END
            """
    }

    /// A body without the token and the app's own number of the order, which came with it.
    private static func tokenless(_ body: String) -> String {
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
                SELECT id, \(nameless("bare.body")) AS body FROM (
                    SELECT e.id, CASE WHEN \(tokenInBody) = ANY($3)
                        THEN \(tokenless("e.body")) ELSE e.body END
                        AS body
                    FROM events e WHERE e.id = ANY($2) ORDER BY e.id FOR UPDATE) bare) new
            WHERE events.id = new.id AND events.body <> new.body
            RETURNING 1 AS one
            """,
            [
                .text(request.account.text), .textArray(traces.mentions), .textArray(traces.tokens),
                .text(json.name), .text(json.pseudonym),
            ], on: connection)
    }

    /// The account's own events, which go on with the pseudonym's numbers.
    static func forgetEvents(
        of request: ForgetRequestStore.Due, _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        let names = names(request)
        let json = try JSONNames(request)
        // Held by whoever writes an event for it; both, in the order of accounts.
        let known = try await connection.query(
            """
            SELECT account FROM account_sequences WHERE account IN ($1, $3) AND app = $2
            ORDER BY account, app, environment FOR UPDATE
            """, names)
        guard try known.rows.contains(where: { try $0.account() == request.account }) else { return }
        // Until the end nobody gives positions by the name that the events have now.
        try await EventPositionStore.hold(on: connection)
        let renamed = try await connection.query(
            """
            WITH numbered AS (
                SELECT e.id, e.environment, e.sequence, coalesce(s.last_sequence, 0)
                    + row_number() OVER (PARTITION BY e.environment ORDER BY e.sequence) AS number
                FROM (SELECT * FROM events e WHERE account = $1 AND app = $2 AND \(isOwn(6))
                    ORDER BY environment, sequence LIMIT \(Limit.rows)) e
                LEFT JOIN account_sequences s ON (s.account, s.app, s.environment) = ($3, $2, e.environment)
            ), bodies AS (
                SELECT n.id, n.number, replace(
                    \(tokenless("e.body")),
                    '"id":' || $4::text || ',"sequence":' || n.sequence || '}',
                    '"id":' || $5::text || ',"sequence":' || n.number || '}') AS body
                FROM numbered n JOIN events e USING (id)
            ), counted AS (
                INSERT INTO account_sequences AS s (environment, app, account, last_sequence)
                SELECT environment, $2, $3, max(number) FROM numbered GROUP BY environment ORDER BY environment
                ON CONFLICT (account, app, environment) DO UPDATE SET last_sequence = excluded.last_sequence
            )
            UPDATE events SET account = $3, sequence = bodies.number,
                partition_key = CASE WHEN partition_key = $1 THEN $3 ELSE partition_key END,
                body = \(nameless("bodies.body"))
            FROM bodies WHERE events.id = bodies.id
            RETURNING events.id
            """, names + [.text(json.name), .text(json.pseudonym), .text(request.id)])
        changed["events"] = renamed.rows.count
        changed["event_positions"] = try await rows(
            """
            UPDATE event_positions p SET account = $3 WHERE account = $1 AND app = $2
                AND NOT EXISTS (SELECT FROM events e WHERE e.id = p.event_id AND e.account = $1)
            RETURNING 1 AS one
            """, names, on: connection)
        try await forgetTurns(of: request, &changed, on: connection)
        try await forgetAnswers(
            to: try renamed.rows.map { try $0.decode("id", as: String.self) }, &changed, on: connection)
        changed["account_sequences"] = try await rows(
            """
            DELETE FROM account_sequences s WHERE account = $1 AND app = $2 AND NOT EXISTS (
                SELECT FROM events e WHERE (e.account, e.app, e.environment) = (s.account, s.app, s.environment))
            RETURNING 1 AS one
            """, Array(names.prefix(2)), on: connection)
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
        let names: [PostgresValue] = [.text(request.account.text), .text(request.app)]
        let found = try await connection.query(
            """
            SELECT id, environment, number FROM (
                SELECT id, environment, sequence, row_number() OVER (PARTITION BY environment ORDER BY sequence) AS number
                FROM events WHERE account = $1 AND app = $2) numbered
            WHERE sequence <> number ORDER BY environment, number
            """, names)
        for row in found.rows {
            let (id, number): (String, Int64) = (try row.decode("id"), try row.decode("number"))
            _ = try await connection.query(
                """
                WITH turns AS (UPDATE webhook_turns SET sequence = $2 WHERE event_id = $1), counted AS (
                    UPDATE account_sequences SET last_sequence = $2
                    WHERE account = $4 AND app = $5 AND environment = $6
                )
                UPDATE events SET sequence = $2, body = replace(
                    body, '"id":' || $3::text || ',"sequence":' || sequence || '}',
                    '"id":' || $3::text || ',"sequence":' || $2::int8 || '}')
                WHERE id = $1 RETURNING 1 AS one
                """,
                [.text(id), .int8(number), .text(json.name)] + names + [.text(try row.decode("environment"))])
        }
        changed["events", default: 0] += found.rows.count
    }

    /// A lane is a hash of the name: what waits for its turn goes on in the pseudonym's.
    private static func forgetTurns(
        of request: ForgetRequestStore.Due, _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        let environments: PostgresValue = .textArray([
            StoreEnvironment.production.rawValue, StoreEnvironment.sandbox.rawValue,
        ])
        let lanes = """
            SELECT \(DeliveryStore.lane("environment", "$2", name: "$1")) AS lane,
                \(DeliveryStore.lane("environment", "$2", name: "$3")) AS new_lane
            FROM unnest($4::text[]) AS every (environment)
            """
        let found = try await connection.query(
            "SELECT DISTINCT endpoint_id FROM webhook_turns JOIN (\(lanes)) lanes USING (lane)",
            names(request) + [environments])
        guard !found.rows.isEmpty else { return }
        // Whoever gives turns at an endpoint holds this first.
        try await DeliveryStore.lock(try found.rows.map { try $0.decode("endpoint_id") }, on: connection)
        changed["webhook_turns"] = try await rows(
            """
            UPDATE webhook_turns t SET lane = lanes.new_lane, sequence = e.sequence
            FROM (\(lanes)) lanes, events e
            WHERE t.lane = lanes.lane AND e.id = t.event_id AND e.account = $3 AND e.app = $2
            RETURNING 1 AS one
            """, names(request) + [environments], on: connection)
    }

    /// What endpoints answered to an account's events may repeat what was sent.
    private static func forgetAnswers(
        to eventIds: [String], _ changed: inout [String: Int], on connection: PostgresConnection
    ) async throws {
        let values: [PostgresValue] = [.textArray(eventIds), .text(removedText)]
        changed["webhook_deliveries"] = try await rows(
            """
            UPDATE webhook_deliveries SET last_error = $2 WHERE event_id = ANY($1) AND last_error IS NOT NULL
            RETURNING 1 AS one
            """, values, on: connection)
        changed["webhook_attempts"] = try await rows(
            """
            UPDATE webhook_attempts SET answer = $2 WHERE event_id = ANY($1) AND answer IS NOT NULL RETURNING 1 AS one
            """, values, on: connection)
    }
}
