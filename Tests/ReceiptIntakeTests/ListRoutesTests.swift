import Foundation
import HTTPTypes
import Persistence
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "Lists of orders and submissions, and what an id is",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ListRoutesTests {
    @Test("orders come newest first, by every filter, a page at a time, each once")
    func orders() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            let path = "/v1/orders"
            #expect(try await intake.all("transaction_id", of: path, limit: 100) == ["1004", "1003", "1002", "1001"])
            let filters: [(String, [String])] = [
                ("&state=parked", ["1004", "1003"]), ("&state=parked&reason=unclaimed", ["1003"]),
                ("&state=granted", ["1002", "1001"]), ("&state=revoked", []), ("&environment=sandbox", ["1002"]),
                ("&account=player-1", ["1004", "1002", "1001"]), ("&account=player-1&state=parked", ["1004"]),
                ("&account=nobody", []), ("&product_id=gems.500", ["1004"]), ("&since=2020-01-01&until=2020-01-02", []),
                ("&since=2020-01-01", ["1004", "1003", "1002", "1001"]),
                (
                    "&since=2020-02-29T23:59:59.5-01:00&until=9999-12-31T23:59:59-12:00",
                    ["1004", "1003", "1002", "1001"]
                ),
            ]
            for (query, expected) in filters {
                #expect(try await intake.all("transaction_id", of: path, query, limit: 2) == expected, "\(query)")
            }
            let row = try #require(try await intake.rows(path, "&state=parked").first)
            #expect(row["reason"] as? String == "product_unknown" && row["submission_id"] as? String == "sub_of_1004")
            #expect(row["account"] as? String == "player-1" && row["price_milliunits"] as? Int == 990)
        }
    }

    @Test("orders of one instant, in both environments, are each on one page")
    func instant() async throws {
        try await ListRows.with { intake, rows in
            try await rows.run(
                """
                INSERT INTO orders (environment, transaction_id, state, account, app, product_id, product_type, quantity,
                    original_transaction_id, purchase_date, signed_date, submission_id, correlation_id, created_at,
                    granted_at, transaction)
                SELECT e, n::text, 'granted', 'player-1', '\(ListRows.app)', 'p', 'consumable', 1, n::text, now(), now(), 's',
                    'c', now(), now(), '{}'
                FROM generate_series(1, 30) n, unnest(ARRAY['production', 'sandbox']) e
                """)
            for query in ["", "&account=player-1"] {
                let found = try await intake.all("transaction_id", of: "/v1/orders", query, limit: 7)
                #expect(found.count == 60 && Set(found).count == 30, "\(query)")
            }
        }
    }

    @Test("submissions that are not fulfilled are listed, all of an account's, and each is told with its outcome")
    func submissions() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            let path = "/v1/submissions"
            let filters: [(String, [String])] = [
                ("", ["sub_c", "sub_b"]), ("&state=received", ["sub_b"]), ("&state=rejected", ["sub_c"]),
                ("&reason=bundle_mismatch", ["sub_c"]), ("&kind=order_id", ["sub_b"]),
                ("&account=player-1", ["sub_c", "sub_b", "sub_a"]), ("&account=player-1&state=fulfilled", ["sub_a"]),
            ]
            for (query, expected) in filters {
                #expect(try await intake.all("id", of: path, query, limit: 1) == expected, "\(query)")
            }
            let waiting = try #require(try await intake.rows(path, "&state=received").first)
            #expect(waiting["order_id"] as? String == "MQ5LZK4PTX" && waiting["due_at"] is String)
            #expect(waiting["request_id"] as? String == "req_of_sub_b")
            let one = try await intake.list("\(path)/sub_a")
            #expect(one.status == 200 && one.finish == true && one.fields["transactions"] is [Any], "\(one.text)")
            #expect(try await intake.list("\(path)/sub_aother").status == 404)
            #expect(try await intake.list(path, "&state=fulfilled").slug == "field-missing")
        }
    }

    @Test(
        "an id of any kind is found, and leads somewhere",
        arguments: [
            ("1001", "transaction", "transaction_id", "1001"), ("sub_b", "submission", "submission_id", "sub_b"),
            ("req_of_sub_c", "request", "submission_id", "sub_c"), ("player-1", "account", "account", "player-1"),
            ("MQ5LZK4PTX", "posted_number", "submission_id", "sub_b"),
            ("mq5lzk4ptx", "posted_number", "submission_id", "sub_b"), ("ticket-1", "intent", "account", "player-1"),
            (ListRows.token, "intent", "intent_id", ListRows.token),
            (ListRows.notification, "notification", "submission_id", "sub_d"),
        ])
    func find(id: String, kind: String, member: String, value: String) async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            let found = try await intake.rows("/v1/find", "&q=%20\(id)")
            #expect(found.contains { $0["kind"] as? String == kind && $0[member] as? String == value }, "\(found)")
        }
    }

    @Test("what nobody knows is no row; what is missing is said")
    func unknown() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            #expect(try await intake.rows("/v1/find", "&q=MQ1234567X").isEmpty)
            #expect(try await intake.list("/v1/find").slug == "field-missing")
            #expect(try await intake.rows("/v1/find", "&q=%20").isEmpty)
            for (path, query) in [
                ("/v1/orders", "&state=lost"), ("/v1/orders", "&after=bm9uZQ"), ("/v1/orders", "&limit=101"),
                ("/v1/orders", "&since=yesterday"), ("/v1/orders", "&since=300000-01-01T00:00:00Z"),
                ("/v1/orders", "&until=2026-02-31"), ("/v1/orders", "&since=2026-13-45T00:00:00Z"),
                ("/v1/orders", "&until=2026-01-01T00:00:00Zfoo"), ("/v1/orders", "&account="),
                ("/v1/undelivered", "&older_than=-1"), ("/v1/undelivered", "&stage=gone"),
                ("/v1/submissions", "&reason=%27"),
                ("/v1/accounts/player-1/tokens", "&after=MQogeA"), ("/v1/revenue", "&from=2026-02-30&to=2026-03-01"),
                ("/v1/revenue", "&from=2024-01-01&to=2026-01-01"), ("/v1/refund-requests", "&state=lost"),
                ("/v1/subscription-figures", "&from=2024-01-01&to=2026-01-01"),
                ("/v1/subscription-figures", "&from=2026-01-01&to=2026-01-02&by=storefront"),
                ("/v1/catalogue", "&environment=moon"),
            ] {
                #expect(try await intake.list(path, query).slug == "field-invalid", "\(path)\(query)")
            }
        }
    }

    @Test("another app's rows are in no list, whatever is asked for")
    func otherApp() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            // A third app would have nothing: everything that is named here is one of the two.
            let lists = intake.routes.filter { route in
                [.servers(.read), .servers(.read, testKeys: true)].contains(route.access) && route.method == .get
            }.map(\.path)
            #expect(lists.count >= 20)
            for template in lists where !template.hasPrefix("/v1/webhooks") && template != "/v1/events" {
                let path = template.replacing("{id}", with: template.contains("accounts") ? "player-1" : "sub_aother")
                let query = "&q=1001other&older_than=0\(ListRows.days)"
                let answer = try await intake.list(path, query)
                #expect([200, 404].contains(answer.status), "\(path): \(answer.text)")
                #expect(!answer.text.contains("other"), "\(path): \(answer.text)")
                let stranger = try await intake.list(path, query, token: TestIntake.otherServerKey)
                #expect(stranger.slug == "authentication-failed", "\(path)")
                let player = try await intake.list(path, query, token: ReadingFixture.player())
                #expect(player.slug == "server-key-required", "\(path)")
            }
            for id in ["1001other", "sub_aother", "req_of_sub_bother", "ticket-1other", "n-2other"] {
                #expect(try await intake.rows("/v1/find", "&q=\(id)").isEmpty, "\(id)")
            }
        }
    }
}
