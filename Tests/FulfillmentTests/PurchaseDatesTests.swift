import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// Line items that a family shares, and dates of one purchase that differ (apple-facts C18, C19).
@Suite("Shared line items and dates that differ", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct PurchaseDatesTests {
    private static func month(
        _ id: String, number: Int = 1, original: String = "o", lineItem: String? = "w1", later: TimeInterval = 0,
        signed: Double = 0, _ change: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var transaction = Bench.season(number, signed: signed)
        transaction.transactionId = id
        transaction.originalTransactionId = original
        transaction.webOrderLineItemId = lineItem
        transaction.purchaseDate += later
        transaction.transactionReason = "RENEWAL"
        change(&transaction)
        return transaction
    }

    private static func with(_ body: (Bench) async throws -> Void) async throws {
        try await Bench.withOwners { bench in
            try await body(bench)
            try await bench.expectClean()
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `a family member's copy with the purchaser's line item entitles, and brings no items`(
        isFirst: Bool, isOneBatch: Bool
    ) async throws {
        try await Self.with { bench in
            let copy = Self.month("f", original: "f") { $0.ownership = "FAMILY_SHARED" }
            let own = try await bench.verdict("s1", .genuine([Self.month("a")]), account: "anna")
            let shared = try await bench.verdict("s2", .genuine([copy]), account: "ben")
            let batch = isFirst ? [shared, own] : [own, shared]
            for part in isOneBatch ? [batch] : batch.map({ [$0] }) { try await bench.settle(part) }
            #expect(try await bench.standing(of: "f") == "granted - ben")
            #expect(try await bench.standing(of: "a") == "granted - anna")
            #expect(try await bench.gems(of: "anna") == 10)
            #expect(try await bench.gems(of: "ben") == 0)
            #expect(try await bench.inForce() == ["anna vip a", "ben vip f"])
            #expect(try await bench.number("SELECT count(*) FROM purchase_conflicts") == 0)
        }
    }

    @Test func `a date that is an hour off is the same period by its line item or its id`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a", later: 3_600), by: "anna")
            try await bench.post("s2", Self.month("a", signed: 1), by: "anna")
            try await bench.post("s3", Self.month("b"), by: "anna")
            try await bench.post("s4", Self.month("c", later: 3_600), by: "anna")
            #expect(try await bench.gems(of: "anna") == 10)
            // By the second alone, whichever of the two a statement has.
            try await bench.post("s5", Self.month("d", lineItem: nil), by: "anna")
            try await bench.post("s6", Self.month("e", lineItem: nil, later: 3_600), by: "anna")
            #expect(try await bench.gems(of: "anna") == 10)
            #expect(try await bench.number("SELECT count(*) FROM orders") == 1)
            #expect(try await bench.number("SELECT count(*) FROM purchase_conflicts") == 0)
        }
    }

    @Test func `a date that is an hour off is not taken for the period of that hour`() async throws {
        try await Self.with { bench in
            // Periods of an hour, as the sandbox has them of a year.
            let hour: TimeInterval = 3_600
            try await bench.post("s1", Self.month("a"), by: "anna")
            try await bench.post("s2", Self.month("b", lineItem: "w2", later: hour), by: "anna")
            try await bench.post("s3", Self.month("a", later: hour, signed: 1), by: "anna")
            try await bench.post("s4", Self.month("c", later: hour, signed: 1), by: "anna")
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == 2)
            #expect(try await bench.number("SELECT count(*) FROM purchase_conflicts") == 0)
        }
    }

    @Test(arguments: [0.6, 1, -0.4], [true, false])
    func `a receipt that rounds the second is the same period`(later: TimeInterval, isOneBatch: Bool) async throws {
        try await Self.with { bench in
            let receipt = Self.month("r", lineItem: nil, later: later) {
                $0.productType = .unstated
                $0.ownership = nil
                $0.priceMilliunits = nil
            }
            let batch = [
                try await bench.verdict("s1", .genuine([Self.month("a", lineItem: nil)]), account: "anna"),
                try await bench.verdict("s2", .genuine([receipt]), account: "anna"),
                try await bench.verdict("s3", .genuine([Self.month("b")]), account: "anna"),
            ]
            for part in isOneBatch ? [batch] : batch.map({ [$0] }) { try await bench.settle(part) }
            #expect(try await bench.gems(of: "anna") == 10)
            #expect(try await bench.number("SELECT count(*) FROM orders") == 1)
            #expect(try await bench.number("SELECT count(*) FROM purchase_conflicts") == 0)
        }
    }

    @Test func `periods that wait for a token are granted, though the second of one is stated of another by now`()
        async throws
    {
        try await Self.with { bench in
            let token = UUID()
            let hour: TimeInterval = 3_600
            func notify(_ id: String, _ month: Transaction) async throws {
                var month = month
                month.appAccountToken = token
                try await bench.notify(id, month)
            }
            try await notify("n1", Self.month("a"))
            try await notify("n2", Self.month("b", lineItem: "w2", later: hour))
            try await notify("n3", Self.month("a", later: hour, signed: 1))
            #expect(try await bench.standing(of: "a") == "parked account_token_unknown -")
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "anna")
            #expect(try await bench.grantParked() == 2)
            for id in ["a", "b"] { #expect(try await bench.standing(of: id) == "granted - anna") }
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(try await bench.number("SELECT count(*) FROM purchase_conflicts") == 0)
        }
    }

    // MARK: - One line item for two orders in one batch

    /// `id state key` of every order, with `-` for null.
    private func keys(_ bench: Bench) async throws -> [String] {
        try await bench.answers(
            "SELECT concat_ws(' ', transaction_id, state, coalesce(purchase_key, '-')) FROM orders ORDER BY 1")
    }

    private func conflicts(_ bench: Bench) async throws -> [String] {
        try await bench.answers(
            "SELECT concat_ws(' ', transaction_id, order_transaction_id, cause) FROM purchase_conflicts")
    }

    // It was for ever: the granted order took the key that the new one was inserted with.
    @Test(arguments: ["vip", "max"])
    func `a line item of a new order and, in the same batch, of a granted one is the new one's`(
        product: String
    ) async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a", lineItem: nil), by: "anna")
            let other = Self.month("b", later: 3_600) { $0.productId = product }
            let batch = [
                try await bench.verdict("s2", .genuine([other]), account: "anna"),
                try await bench.verdict("s3", .genuine([Self.month("a", signed: 1)]), account: "anna"),
            ]
            for _ in 1...2 {
                try await bench.settle(batch)
                // Nobody sells `max` here.
                #expect(
                    try await keys(bench) == ["a granted -", "b \(product == "vip" ? "granted" : "parked") p:o:w1"])
                #expect(try await conflicts(bench) == ["a b two_orders"])
            }
            #expect(try await bench.gems(of: "anna") == (product == "vip" ? 20 : 10))
        }
    }

    @Test func `a line item of two granted orders in one batch is the first's`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a", lineItem: nil), by: "anna")
            try await bench.post("s2", Self.month("b", lineItem: nil, later: 7_200), by: "anna")
            try await bench.settle([
                try await bench.verdict("s3", .genuine([Self.month("a", signed: 1)]), account: "anna"),
                try await bench.verdict("s4", .genuine([Self.month("b", later: 7_200, signed: 1)]), account: "anna"),
            ])
            #expect(try await keys(bench) == ["a granted p:o:w1", "b granted -"])
            #expect(try await conflicts(bench) == ["b a two_orders"])
            #expect(try await bench.gems(of: "anna") == 20)
        }
    }

    @Test(arguments: [false, true])
    func `a key that nobody looked for is written once, a new order's first`(hasNew: Bool) async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Self.month("a", lineItem: nil), by: "anna")
            try await bench.post("s2", Self.month("b", lineItem: nil, later: 7_200), by: "anna")
            let terms = OrderRules.Terms(owner: .unclaimed, sharers: [], product: nil, catalogueVersion: nil)
            try await bench.pool.withTransaction { connection in
                var decided = Decided()
                func add(_ stored: StoredOrder?, _ key: OrderKey, _ purchase: Purchase) {
                    let transition = OrderRules.transition(
                        of: stored, key: key, purchase: purchase, conflict: nil, submissionId: "s1",
                        correlationId: "r"
                    ) { _ in terms }
                    decided.transitions += [transition].compactMap(\.self)
                }
                let keys = ["a", "b", "c"].map { OrderKey(environment: .production, transactionId: $0) }
                for stored in try await OrderStore.lock(keys, on: connection) {
                    let statement = Self.month(
                        stored.key.transactionId, later: stored.key == keys[0] ? 0 : 7_200, signed: 1)
                    add(stored, stored.key, try #require(stored.purchase).adding([statement]))
                }
                if hasNew { add(nil, keys[2], Purchase(Self.month("c", later: 14_400))) }
                let loaded = Loaded(catalogue: bench.products, now: bench.now())
                _ = try await WriteBatch().changes(decided, of: loaded, on: connection)
            }
            #expect(
                try await keys(bench)
                    == (hasNew
                        ? ["a granted -", "b granted -", "c parked p:o:w1"] : ["a granted p:o:w1", "b granted -"]))
        }
    }
}
