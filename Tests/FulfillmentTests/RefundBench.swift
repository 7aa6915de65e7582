import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// What tests of refunds share: products of every policy, what Apple says later, and the ledger as text.
extension Bench {
    static let refundable = Catalogue([
        app: [
            product("gems.100", [("gem", 100)]), product("debt.100", [("gem", 100)], ["gem": .toNegative]),
            product("kept.100", [("gem", 100)], ["gem": .leave]),
            product("mixed", [("gem", 100), ("key", 3), ("skin", 1)], ["key": .toNegative, "skin": .leave]),
            Catalogue.Product(id: "pro", type: .nonConsumable, items: [], entitlements: ["pro"]),
            Catalogue.Product(id: "suite", type: .nonConsumable, items: [], entitlements: ["pro", "extras"]),
            Catalogue.Product(
                id: "vip.monthly", type: .autoRenewable, items: [Catalogue.ItemGrant(item: "gem", amount: 10)],
                entitlements: ["vip"]),
        ]
    ])

    private static func product(
        _ id: String, _ items: [(String, Int64)], _ takeBacks: [String: TakeBackPolicy] = [:]
    ) -> Catalogue.Product {
        Catalogue.Product(
            id: id, type: .consumable, items: items.map { Catalogue.ItemGrant(item: $0.0, amount: $0.1) },
            entitlements: [], takeBacks: takeBacks)
    }

    /// Fulfillment with products of every policy, on a database of its own.
    static func withRefunds(_ body: (Bench) async throws -> Void) async throws {
        try await with { bench in
            var bench = bench
            bench.products = refundable
            try await body(bench)
        }
    }

    static func time(_ seconds: Double) -> Date { Date(timeIntervalSince1970: 1_700_000_000 + seconds) }

    /// What Apple signs of a transaction so many seconds after it was bought.
    static func bought(_ id: String, product: String = "gems.100", at seconds: Double = 1) -> Transaction {
        var transaction = signed(id, product: product)
        transaction.signedDate = time(seconds)
        switch product {
        case "pro", "suite": transaction.productType = .nonConsumable
        case "vip.monthly":
            transaction.productType = .autoRenewable
            transaction.expiresDate = Date.distantFuture.addingTimeInterval(-1_000_000_000)
        default: transaction.productType = .consumable
        }
        return transaction
    }

    /// The same, refunded.
    static func refunded(
        _ id: String, product: String = "gems.100", at seconds: Double, percentage: Int64? = nil,
        type: String? = "REFUND_FULL"
    ) -> Transaction {
        var transaction = bought(id, product: product, at: seconds)
        transaction.revocationDate = time(seconds - 0.5)
        transaction.revocationReason = 0
        transaction.revocationType = percentage == nil ? type : "REFUND_PRORATED"
        transaction.revocationPercentage = percentage
        return transaction
    }

    /// Settles what an account posts.
    func post(
        _ transactions: Transaction..., by account: String = "anna", submission: String = UUID().uuidString
    ) async throws {
        try await settle([try await verdict(submission, .genuine(transactions), account: account)])
    }

    /// Settles what Apple tells: it claims nothing for anybody.
    func notify(_ transactions: Transaction...) async throws {
        try await settle([try await notice(transactions)])
    }

    /// What Apple tells, as a worker sends it.
    func notice(_ transactions: [Transaction]) async throws -> VerdictMessage {
        try await verdict("n_" + UUID().uuidString, .genuine(transactions), account: "", claims: [])
    }

    /// An account's total of an item; 0 where it has none.
    func balance(_ account: String = "anna", _ item: String = "gem") async throws -> Int64 {
        try await number(
            "SELECT coalesce((SELECT amount FROM balances WHERE account = '\(account)' AND item = '\(item)'), 0)")
    }

    /// `kind sequence amount item` of each line of an order, in the order they were written.
    func lines(of id: String) async throws -> [String] {
        try await texts(
            """
            SELECT concat_ws(' ', kind, sequence, amount, item) AS value FROM ledger_entries
            WHERE transaction_id = '\(id)' ORDER BY id
            """)
    }

    /// `type account entries entitlements` of each event of an order, by the account's sequence.
    func events(of id: String) async throws -> [String] {
        try await texts(
            """
            SELECT concat_ws(' ', replace(type, 'iap.', ''), account,
                (SELECT string_agg((e ->> 'amount') || (e ->> 'item'), ',')
                    FROM jsonb_array_elements(body::jsonb -> 'data' -> 'entries') e),
                (SELECT string_agg(n, ',') FROM jsonb_array_elements_text(body::jsonb -> 'data' -> 'entitlements') n)
                ) AS value
            FROM events WHERE transaction_id = '\(id)' AND type NOT LIKE 'iap.subscription.%' ORDER BY account, sequence
            """)
    }

    /// `entitlement account cause` of each entitlement of an order; `-` where it is in force.
    func entitlements(of id: String) async throws -> [String] {
        try await texts(
            """
            SELECT concat_ws(' ', entitlement, account, coalesce(revoked_because, '-')) AS value
            FROM entitlements WHERE transaction_id = '\(id)' ORDER BY 1
            """)
    }

    /// The column `value` of every row.
    func texts(_ sql: String) async throws -> [String] {
        try await pool.query(sql).rows.map { try $0.decode("value") }
    }

    /// Spends as a player does, and expects that there is enough.
    func spend(_ amount: Int64, _ item: String = "gem", by account: String = "anna") async throws {
        guard case .spent = try await trySpending([Catalogue.ItemGrant(item: item, amount: amount)], by: account)
        else { return #expect(Bool(false), "\(account) has less than \(amount) \(item)") }
    }

    /// Spends as a player does.
    func trySpending(
        _ items: [Catalogue.ItemGrant], by account: String = "anna", key: String = UUID().uuidString
    ) async throws -> LedgerStore.Spent {
        let customer = Customer(environment: .production, app: Self.app, account: Account(stored: account))
        return try await pool.withTransaction { connection in
            try await LedgerStore.spend(items, of: customer, on: connection) { _ in
                let result = try await connection.query(
                    """
                    INSERT INTO spends (environment, app, account, idempotency_key, request_sha256, answer)
                    VALUES ('production', $1, $2, $3, '', jsonb_build_object('items', $4::jsonb))
                    ON CONFLICT ON CONSTRAINT spends_once_per_key DO NOTHING RETURNING id
                    """,
                    [
                        .text(Self.app), .text(account), .text(key),
                        .jsonb(String(decoding: try MessageCoding.encode(items), as: UTF8.self)),
                    ])
                return try result.rows.first?.decode("id", as: Int64.self)
            }
        }
    }

    /// How often the server had to end a wait of two transactions for each other.
    ///
    /// A connection tells its counts when it ends: all but the asking one are ended here.
    func deadlocks() async throws -> Int64 {
        try await pool.withConnection { connection in
            try await connection.executeScript(
                """
                SELECT pg_stat_force_next_flush();
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
                """)
            let result = try await connection.query(
                "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
            return try #require(result.rows.first).decode("deadlocks")
        }
    }

    /// Runs two things while a statement's locks are held: the second begins once the first waits, and both go on once the
    /// second waits, too.
    func meet(
        at locks: String, _ first: @Sendable () async throws -> Void, _ second: @Sendable () async throws -> Void
    ) async throws {
        try await pool.withTransaction { connection in
            _ = try await connection.query(locks)
            async let one: Void = first()
            try await untilWaiting(1)
            async let other: Void = second()
            try await untilWaiting(2)
            // Sets both free, and leaves a transaction for the pool to end.
            _ = try await connection.query("ROLLBACK AND CHAIN")
            _ = try await (one, other)
        }
    }

    /// Runs a thing that waits for a statement's locks, and does another from beginning to end meanwhile.
    func meanwhile(
        at locks: String, _ first: @Sendable () async throws -> Void, _ second: @Sendable () async throws -> Void
    ) async throws {
        try await pool.withTransaction { connection in
            _ = try await connection.query(locks)
            async let one: Void = first()
            try await untilWaiting(1)
            try await second()
            _ = try await connection.query("ROLLBACK AND CHAIN")
            try await one
        }
    }

    /// Returns once so many statements wait for a lock.
    private func untilWaiting(_ count: Int64) async throws {
        while try await number(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """) < count
        { await Task.yield() }
    }

    /// Balances are the sums of their lines, and every line has its order.
    func expectBalanced(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let broken = try await number(
            """
            SELECT count(*) FROM (
                SELECT environment, app, account, item, sum(amount) AS amount FROM ledger_entries GROUP BY 1, 2, 3, 4) e
            FULL JOIN balances b USING (environment, app, account, item)
            WHERE coalesce(e.amount, 0) <> coalesce(b.amount, 0)
            """)
        #expect(broken == 0, "balances differ from their lines", sourceLocation: sourceLocation)
    }
}
