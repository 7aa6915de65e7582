import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

@Suite("Calls that follow from grants", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct QueuedCallTests {
    @Test func `nothing is queued unless the apps file says so`() async throws {
        try await Bench.with { bench in
            try await bench.buy("1")
            #expect(try await bench.calls().isEmpty)
        }
    }

    @Test func `what is granted is finished once, by its own id; what is parked is not`() async throws {
        try await Bench.with { plain in
            var bench = plain
            bench.apps = try Bench.apps("finish: server")
            try await bench.buy("1")
            try await bench.buy("1")
            try await bench.settle([
                try await bench.verdict("unknown", .genuine([Bench.signed("2", product: "gems.5")])),
                // Apple alone tells of it: nobody's yet.
                try await bench.appleNotification("ONE_TIME_CHARGE", [Bench.signed("3")]),
            ])
            #expect(try await bench.calls() == ["finish ready 1"])
            // It is claimed: granted now, and finished now.
            try await bench.buy("3")
            #expect(try await bench.calls() == ["finish ready 1", "finish ready 3"])
        }
    }

    @Test func `what has no token gets one of its account, once for a lineage; what has one keeps it`() async throws {
        try await Bench.with { plain in
            var bench = plain
            bench.apps = try Bench.apps("account_token: set")
            let token = UUID()
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "player")
            try await bench.buy("1", product: "pro", token: token)
            #expect(try await bench.calls().isEmpty)
            try await bench.buy("2", product: "pro")
            try await bench.buy("2", product: "pro")
            try await bench.buy("3")
            #expect(try await bench.calls() == ["account_token ready 2", "account_token ready 3"])
            let same = "SELECT count(*) FROM apple_calls WHERE account_token = '\(token)'"
            #expect(try await bench.number(same) == 2)
            let lineages = "SELECT count(*) FROM lineages WHERE original_transaction_id = '2' AND token = '\(token)'"
            #expect(try await bench.number(lineages) == 1)
            try await bench.expectClean()
        }
    }

    @Test func `an account without a token gets one; an intent's is not taken for it`() async throws {
        try await Bench.with { plain in
            var bench = plain
            bench.apps = try Bench.apps("account_token: set")
            let intent = UUID()
            _ = try await IntentStore(pool: bench.pool).open(
                intent, app: Bench.app, account: "player", productId: "pro", limit: 10)
            try await bench.settle([
                try await bench.verdict("one", .genuine([Bench.signed("1", product: "pro")])),
                try await bench.verdict("two", .genuine([Bench.signed("2")])),
            ])
            #expect(try await bench.calls().count == 2)
            let made = """
                SELECT count(DISTINCT c.account_token) FROM apple_calls c JOIN account_tokens t ON t.token = c.account_token
                WHERE t.account = 'player' AND t.token <> '\(intent)'
                """
            #expect(try await bench.number(made) == 1)
        }
    }

    /// Apple names the token from now on; what was moved on purpose stays moved all the same.
    @Test func `a token that was set moves nothing when it comes back`() async throws {
        try await Bench.with { plain in
            var bench = plain
            bench.products = Catalogue([
                Bench.app: [
                    Catalogue.Product(
                        id: "pro", type: .nonConsumable, items: [], entitlements: ["pro"],
                        restore: RestoreRule(policy: .transfer))
                ]
            ])
            bench.apps = try Bench.apps("account_token: set")
            try await bench.buy("1", product: "pro")
            let row = try #require(
                try await bench.pool.query("SELECT account_token AS token FROM apple_calls").rows.first)
            let token: UUID = try row.decode("token")
            var moved = Bench.signed("1", product: "pro")
            moved.signedDate += 100
            try await bench.settle([try await bench.verdict("other", .genuine([moved]), account: "other")])
            #expect(try await bench.standing(of: "1") == "granted - other")
            var named = Bench.signed("1", product: "pro", token: token)
            named.signedDate += 200
            try await bench.settle([try await bench.appleNotification("REFUND_DECLINED", [named])])
            #expect(try await bench.standing(of: "1") == "granted - other")
            try await bench.expectClean()
        }
    }
}
