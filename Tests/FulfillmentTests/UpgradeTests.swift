import Foundation
import Logging
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment
@testable import Persistence

/// A database that the version before owners and subscriptions filled, with orders in all states, goes on with this one.
@Suite(.enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct UpgradeTests {
    /// A whole day, so that no instant has parts of a millisecond.
    private static let today = ((Date().timeIntervalSince1970 - 1_700_000_000) / 86_400).rounded(.down)

    private static func period(
        _ id: String, _ lineage: String, from start: Double, to end: Double, token: UUID? = nil
    ) -> Transaction {
        SubscriptionBench.period(id, from: today + start, to: today + end, lineage: lineage) {
            $0.appAccountToken = token
        }
    }

    private static func restored(_ id: String, of original: String, day: Double) -> Transaction {
        var transaction = Bench.signed(id, product: "pro")
        transaction.originalTransactionId = original
        transaction.purchaseDate = SubscriptionBench.day(day)
        return transaction
    }

    private static let carolsToken = UUID()

    // What the older version granted to whoever posted it first, one transaction like another.
    private static func fill(_ old: OldDatabase) async throws {
        let gem = [Catalogue.ItemGrant(item: "gem", amount: 100)]
        try await old.grant(Bench.signed("gems"), to: "alice", items: gem)
        try await old.grant(Bench.entry("old gems"), to: "alice", items: gem)
        try await old.grant(Bench.signed("tested", environment: .sandbox), to: "alice", items: gem)
        try await old.grant(Bench.entry("old pro", product: "pro"), to: "gina", entitlements: ["pro"])
        try await old.grant(restored("pro", of: "pro", day: 0), to: "alice", entitlements: ["pro"])
        try await old.grant(restored("pro again", of: "pro", day: 1), to: "bob", entitlements: ["pro"])

        try await old.grant(period("a1", "a1", from: -40, to: -10), to: "alice", items: gem, entitlements: ["basic"])
        try await old.grant(period("a2", "a1", from: -10, to: 20), to: "bob", items: gem, entitlements: ["basic"])
        _ = try await AccountTokenStore(pool: old.pool).register(
            app: Bench.app, token: carolsToken, account: "carol")
        try await old.grant(
            period("c1", "c1", from: -40, to: -10, token: carolsToken), to: "carol", entitlements: ["basic"])
        try await old.grant(
            period("c2", "c1", from: -10, to: 20, token: carolsToken), to: "carol", entitlements: ["basic"])
        try await old.grant(period("d1", "d1", from: -70, to: -40), to: "dave", entitlements: ["basic"])
        try await old.grant(period("d2", "d1", from: -40, to: -10), to: "dave", entitlements: ["basic"])
        var receipt = period("e1", "e1", from: -10, to: 20)
        receipt.productType = .unstated
        try await old.grant(receipt, to: "erin", entitlements: ["basic"])
        try await old.grant(period("f1", "f1", from: -40, to: -10), to: "frank", entitlements: ["basic"])
        try await old.hold(period("f2", "f1", from: -10, to: 20), .revoked, .revokedByApple, account: "frank")
        var season = Bench.signed("season", product: "season")
        season.productType = .nonRenewing
        try await old.grant(
            season, to: "alice", entitlements: ["arena", "season"], until: SubscriptionBench.day(today - 1))

        try await old.hold(Bench.entry("unclaimed"), .parked, .unclaimed, account: nil)
        try await old.hold(Bench.signed("new product", product: "gold"), .parked, .productUnknown, account: "alice")
        try await old.hold(Bench.signed("stranger", token: UUID()), .parked, .accountTokenUnknown, account: nil)
        try await old.hold(Bench.signed("taken back"), .revoked, .revokedByApple, account: nil)
    }

    private func accounts(_ sql: String, _ bench: Bench) async throws -> [String] {
        try await bench.pool.query("SELECT \(sql)").rows.map { try $0.decode("words", as: String.self) }
    }

    @Test("orders of an older version in all states get owners and subscriptions, and nobody loses anything")
    func upgrade() async throws {
        try await TestDatabase.with { pool in
            let old = OldDatabase(pool: pool)
            try await old.create()
            try await Self.fill(old)
            #expect(
                try await Migrator(pool: pool).migrate() == [
                    "keep_owners_and_subscriptions", "estimate_proceeds", "one_order_a_purchase",
                    "keep_purchases_unique", "look_up_less", "see_what_waits", "whose_refunds",
                    "keep_chains_once", "send_events_from_an_outbox", "drop_idle_indexes", "keep_revocations",
                    "read_few_rows", "hold_deliveries", "forget_accounts", "divide_by_month", "sweep_history",
                    "answer_apple",
                    "import_from_older_systems", "find_numbers", "number_events", "store_webhook_endpoints",
                    "record_attempts", "ask_for_sweeps", "forget_as_of_a_moment",
                ])
            let shop = SubscriptionBench(Bench(pool: pool))
            shop.on(Self.today)
            try await shop.bench.expectClean()
            let owners = try await accounts(
                "concat_ws(' ', original_transaction_id, account, cause, token) AS words FROM lineages ORDER BY 1",
                shop.bench)
            #expect(
                owners == [
                    "a1 bob possession", "c1 carol token \(Self.carolsToken.uuidString.lowercased())",
                    "d1 dave possession", "e1 erin possession", "f1 frank possession", "pro bob possession",
                    "season alice possession",
                ])
            // She can use it still; of the subscription only the period that was over was hers.
            #expect(
                try await accounts(
                    "original_transaction_id || ' ' || account AS words FROM lineage_shares", shop.bench)
                    == ["pro alice"])
            #expect(
                try await accounts(
                    """
                    concat_ws(' ', original_transaction_id, coalesce(from_account, '-'), to_account, cause) AS words
                    FROM binding_history WHERE original_transaction_id IN ('a1', 'pro') ORDER BY id
                    """, shop.bench)
                    == [
                        "a1 - alice possession", "a1 alice bob possession", "pro - bob possession",
                        "pro bob alice share",
                    ]
            )
            let usable = try await accounts(
                """
                account || ' ' || string_agg(entitlement, ' ' ORDER BY transaction_id) AS words FROM entitlements
                WHERE expires_at IS NULL OR expires_at > now() GROUP BY account ORDER BY account
                """, shop.bench)
            // The pass and its restored copy are one purchase.
            #expect(usable == ["alice pro", "bob basic pro", "carol basic", "erin basic", "gina pro"])
            try await goesOn(shop)
        }
    }

    /// Subscriptions end and renew as if they had been there always.
    private func goesOn(_ shop: SubscriptionBench) async throws {
        #expect(try await shop.endSubscriptions.end(limit: 100) == 1)
        #expect(try await shop.events(of: "dave") == ["expired"])
        #expect(try await shop.endEntitlements.end(limit: 100) > 0)
        #expect(try await shop.events(of: "alice", like: "iap.entitlement.%") == ["expired"])
        // The end of each period of a subscription that is over is none of its own.
        #expect(try await shop.events(of: "dave", like: "iap.entitlement.%").isEmpty)
        // What was said before changes nothing, and a renewal is one.
        for (lineage, account) in [("a", "bob"), ("c", "carol")] {
            let known = try await shop.standing("\(lineage)1")
            try await shop.post([Self.period("\(lineage)2", "\(lineage)1", from: -10, to: 20)], account: account)
            #expect(try await shop.standing("\(lineage)1") == known)
        }
        for (lineage, account) in [("a", "bob"), ("c", "carol"), ("e", "erin")] {
            try await shop.post([Self.period("\(lineage)3", "\(lineage)1", from: 20, to: 50)], account: account)
            #expect(try await shop.standing("\(lineage)1")?.transactionId == "\(lineage)3")
        }
        #expect(try await shop.events(of: "bob") == ["renewed"])
        #expect(try await shop.events(of: "carol") == ["renewed"])
        #expect(try await shop.standing("f1")?.state == .revoked)
        #expect(try await shop.bench.grantParked() == 0)
        try await shop.bench.expectClean()
    }

    @Test("of two who migrate at once one waits, and finds everything done")
    func together() async throws {
        try await TestDatabase.withAddress { pool, url in
            let old = OldDatabase(pool: pool)
            try await old.create()
            let other = PostgresPool(
                configuration: try PostgresConfiguration(url: url), logger: Logger(label: "tests"))
            async let first = Migrator(pool: pool).migrate()
            async let second = Migrator(pool: other).migrate()
            let applied = try await [first, second].map(\.count).sorted()
            #expect(applied == [0, Migrator.migrations.count - 3])
            await other.close()
        }
    }

    @Test("who comes while another migrates waits for it, longer than for other locks")
    func waiting() async throws {
        try await TestDatabase.withAddress { pool, url in
            var configuration = try PostgresConfiguration(url: url)
            configuration.lockTimeout = .milliseconds(20)
            let impatient = PostgresPool(configuration: configuration, logger: Logger(label: "tests"))
            let later = try await pool.withConnection { connection in
                _ = try await connection.query("SELECT pg_advisory_lock($1)::text", [.int8(Migrator.lockKey)])
                let later = Task { try await Migrator(pool: impatient).migrate() }
                // Until it waits; then as long again as it may wait elsewhere, and more.
                var looks = 0
                while looks < 500, try await Self.waiting(pool) == 0 { looks += 1 }
                _ = try await pool.query("SELECT pg_sleep(0.1)::text")
                _ = try await connection.query("SELECT pg_advisory_unlock($1)", [.int8(Migrator.lockKey)])
                return later
            }
            #expect(try await later.value.isEmpty)
            await impatient.close()
        }
    }

    private static func waiting(_ pool: PostgresPool) async throws -> Int64 {
        let result = try await pool.query(
            """
            SELECT count(*) AS n, pg_sleep(0.01)::text FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'idle in transaction'
                AND query LIKE 'SET LOCAL idle_in_transaction%'
            """)
        return try result.rows[0].decode("n")
    }
}
