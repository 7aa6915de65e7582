import Foundation
import HTTPTypes
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

extension TestIntake {
    /// Does something by hand.
    ///
    /// - Parameters:
    ///   - key: the request's name, where it has one.
    ///   - actor: who acts, where the key says so.
    func byHand(
        _ path: String, _ fields: [String: Any] = [:], app: String = app, key: String? = nil, actor: String? = nil,
        token: String? = deskKey
    ) async throws -> Answer {
        var headers: HTTPFields = [:]
        if let key { headers[.idempotencyKey] = key }
        if let actor { headers[.actor] = actor }
        let body = try JSONSerialization.data(
            withJSONObject: ["app": app, "reason": "ticket 4711"].merging(fields) { $1 }, options: .sortedKeys)
        return try await send(
            .post, path, token: token, body: String(decoding: body, as: UTF8.self), headers: headers)
    }

    /// Gives or takes items.
    func adjust(
        _ items: [(item: String, amount: Int64)], of account: String = "player-1", _ fields: [String: Any] = [:],
        key: String? = nil, actor: String? = nil, token: String? = deskKey
    ) async throws -> Answer {
        let items: [[String: Any]] = items.map { ["item": $0.item, "amount": $0.amount] }
        return try await byHand(
            "/v1/accounts/\(account)/adjustments", ["items": items].merging(fields) { $1 }, key: key, actor: actor,
            token: token)
    }

    /// Says whose an order is.
    func assign(
        _ order: String, to account: String = "player-1", _ fields: [String: Any] = [:], key: String? = nil,
        actor: String? = nil, token: String? = deskKey
    ) async throws -> Answer {
        try await byHand(
            "/v1/orders/\(order)/assign", ["account": account].merging(fields) { $1 }, key: key, actor: actor,
            token: token)
    }

    /// Has submissions judged again.
    func retry(
        _ fields: [String: Any], key: String? = nil, actor: String? = nil, token: String? = deskKey
    ) async throws -> Answer {
        try await byHand("/v1/submissions/retry", fields, key: key, actor: actor, token: token)
    }
}

/// What acts leave in the database.
struct ActRows: Sendable {
    let pool: PostgresPool

    /// An intake on a database of its own, and what is to be acted on.
    static func with(_ body: @escaping @Sendable (TestIntake, ActRows) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                try await body(intake, ActRows(pool: database.pool))
            }
        }
    }

    /// An order that is parked without an account.
    func park(_ order: String, app: String = TestIntake.app, environment: String = "production") async throws {
        try await ReadingFixture(pool: pool).order(
            order, account: nil, environment: environment, app: app, reason: "unclaimed", at: 20)
    }

    /// A submission that was settled so.
    func settle(_ id: String, _ state: String, reason: String?, app: String = TestIntake.app) async throws {
        try await ReadingFixture(pool: pool).submission(
            id, account: "player-1", state: state, reason: reason, received: 10, settled: 20)
        _ = try await pool.query("UPDATE submissions SET app = $1 WHERE id = $2", [.text(app), .text(id)])
    }

    /// Takes claims up as fulfillment does, once one is due.
    func takeUp(account: String?) async throws {
        var isTaken = false
        while !isTaken {
            isTaken = try await pool.withTransaction { connection in
                guard let due = try await OperatorClaimStore.due(limit: 1, on: connection).first else { return false }
                if let account {
                    _ = try await connection.query(
                        """
                        UPDATE orders SET state = 'granted', reason = NULL, account = $1, granted_at = now()
                        WHERE transaction_id = $2
                        """, [.text(account), .text(due.key.transactionId)])
                }
                try await OperatorClaimStore.settle([due.auditId], on: connection)
                return true
            }
            await Task.yield()
        }
    }

    /// Lines of the audit log, the oldest first.
    func audit() async throws -> [String] {
        try await pool.query("SELECT concat_ws('|', actor, action, reason) AS line FROM audit_log ORDER BY id").rows
            .map { try $0.decode("line") }
    }

    func count(_ table: String) async throws -> Int { try await WalletRows(pool: pool).count(table) }

    /// Everything in the tables that acts write to.
    func everything() async throws -> String {
        var text = ""
        for table in [
            "audit_log", "remembered_acts", "operator_claims", "ledger_entries", "balances", "events", "event_outbox",
            "account_sequences", "orders", "submissions",
        ] {
            let rows = try await pool.query(
                "SELECT coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '') AS text FROM \(unescaped: table) t")
            text += "\(table): \(try #require(rows.rows.first).decode("text", as: String.self))\n"
        }
        return text
    }

    /// Has whoever remembers an act wait for the lock that ``holding(_:)`` has: the act is done then, and nothing is committed.
    func stopBeforeMemory() async throws {
        _ = try await pool.query(
            """
            CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END'
            """)
        _ = try await pool.query(
            "CREATE TRIGGER stop BEFORE INSERT ON remembered_acts FOR EACH ROW EXECUTE FUNCTION stop()")
    }

    /// Runs with that lock.
    func holding<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await pool.withTransaction { connection in
            _ = try await connection.query("SELECT pg_advisory_xact_lock(4711)::text AS got")
            return try await body()
        }
    }

    /// Ends the sessions that wait for a lock, as the server does when their process dies.
    func endWaiting() async throws {
        _ = try await pool.query(
            """
            SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """)
    }
}

/// Acts by hand, well and badly, with what really came back.
enum ActSamples {
    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [SampleRequest.Sample] {
        let rows = ActRows(pool: database.pool)
        for order in ["7000001", "7000002"] { try await rows.park(order) }
        try await rows.settle("act-1", "rejected", reason: "product_unknown")
        var samples: [SampleRequest.Sample] = []
        let (order, account) = ("/v1/orders/{transaction_id}/assign", "/v1/accounts/{id}/adjustments")
        let retry = "/v1/submissions/retry"
        func note(_ path: String, _ answer: TestIntake.Answer) { samples.append(("POST", path, answer)) }
        note(order, try await intake.assign("7000001", ["dry_run": true]))
        note(order, try await intake.assign("7000001", key: "a"))
        note(order, try await intake.assign("7000001", key: "a"))
        note(order, try await intake.assign("7000001", key: "b"))
        async let taken: Void = rows.takeUp(account: "player-1")
        note(order, try await intake.assign("7000002", actor: "kim@example.com"))
        try await taken
        note(order, try await intake.assign("none"))
        try await rows.subscribe("901")
        let extend = "/v1/subscriptions/{original_transaction_id}/extend"
        note(extend, try await intake.extend("901", ["days": 7, "dry_run": true]))
        note(extend, try await intake.extend("901", ["days": 7], key: "extend", actor: "kim@example.com"))
        note(extend, try await intake.extend("901", ["days": 0], key: "extend-0"))
        note(extend, try await intake.extend("none", ["days": 7], key: "extend-1"))
        let extensions = "/v1/subscriptions/{original_transaction_id}/extensions"
        for id in ["901", "none", "%20"] {
            samples.append(("GET", extensions, try await intake.list("/v1/subscriptions/\(id)/extensions")))
        }
        for amount: Int64 in [100, -1_000] {
            for isDry in [true, false] {
                note(account, try await intake.adjust([("gem", amount)], ["dry_run": isDry], key: "\(amount)"))
            }
        }
        let large = LedgerStore.Limit.amount
        _ = try await database.pool.query(
            "UPDATE balances SET amount = $1 WHERE item = 'gem' AND account = 'player-1'",
            [.int8(LedgerStore.Limit.balance)])
        note(account, try await intake.adjust([("gem", large)], key: "beyond"))
        note(account, try await intake.adjust([("gem", 1)]))
        note(account, try await intake.adjust([("gem", 0)], key: "zero"))
        note(account, try await intake.adjust([("gem", 2)], key: "100"))
        note(retry, try await intake.retry(["submissions": ["act-1", "none"], "dry_run": true]))
        note(retry, try await intake.retry(["rejected_reason": "product_unknown"], key: "r"))
        note(retry, try await intake.retry([:]))
        for (path, real) in [
            (order, "/v1/orders/1/assign"), (account, "/v1/accounts/player-1/adjustments"), (retry, retry),
        ] {
            note(path, try await intake.byHand(real, token: nil))
            note(path, try await intake.byHand(real, token: TestIntake.serverKey))
            note(path, try await intake.byHand(real, actor: "kim", token: TestIntake.key(.operate)))
            for (body, type) in [("{", "application/json"), ("{}", "text/plain")] {
                let answer = try await intake.send(
                    .post, real, token: TestIntake.deskKey, body: body, headers: [.contentType: type])
                note(path, answer)
            }
        }
        return samples
    }
}
