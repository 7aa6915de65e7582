import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// A lineage with several original ids: Apple changes them over the years (apple-facts C19).
@Suite("Lineages with several original ids", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct LineageMembersTests {
    /// A month of `vip`, which brings 10 gems, as Apple signs it under an original id.
    private static func month(
        _ number: Int, under original: String, id: String? = nil, token: UUID? = nil, signed: Double = 0,
        _ change: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var transaction = Bench.season(number, token: token, signed: signed)
        transaction.transactionId = id ?? "t\(number)"
        transaction.originalTransactionId = original
        transaction.webOrderLineItemId = "w\(number)"
        transaction.transactionReason = number == 1 ? "PURCHASE" : "RENEWAL"
        change(&transaction)
        return transaction
    }

    private static func with(_ rule: RestoreRule = .keep, _ body: (Bench) async throws -> Void) async throws {
        try await Bench.withOwners(rule) { bench in
            try await body(bench)
            try await bench.expectClean()
        }
    }

    /// Everything that has an original id: lineages with their owners, members, subscriptions, orders with their keys.
    private func all(_ bench: Bench) async throws -> [String] {
        try await bench.answers(
            """
            SELECT 'lineage ' || original_transaction_id || ' ' || coalesce(account, '-') FROM lineages
            UNION ALL SELECT 'member ' || original_transaction_id || ' ' || lineage_id FROM lineage_members
            UNION ALL SELECT concat_ws(' ', 'subscription', original_transaction_id, account, transaction_id)
                FROM subscriptions
            UNION ALL SELECT concat_ws(' ', 'order', transaction_id, original_transaction_id,
                coalesce(account, '-'), purchase_key) FROM orders
            ORDER BY 1
            """)
    }

    // MARK: - A transaction that moves

    @Test func `a month signed anew under another original id, and its renewal: one subscription`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month(1, under: "o1"), by: "anna")
            try await bench.notify("n1", Self.month(1, under: "o2", signed: 20))
            try await bench.notify("n2", Self.month(2, under: "o2"))
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(
                try await all(bench) == [
                    "lineage o1 anna", "member o2 o1", "order t1 o1 anna p:o1:w1", "order t2 o1 anna p:o1:w2",
                    "subscription o1 anna t2",
                ])
            // There and back again.
            try await bench.notify("n3", Self.month(3, under: "o1"))
            try await bench.notify("n4", Self.month(2, under: "o1", signed: 25))
            #expect(try await bench.number("SELECT count(*) FROM subscriptions") == 1)
            #expect(try await bench.gems(of: "anna") == 30)
        }
    }

    @Test(arguments: 0..<6, [true, false])
    func `whatever comes first, the end is one lineage with everything`(order: Int, isOneBatch: Bool) async throws {
        try await Self.with { bench in
            let all = [
                Self.month(1, under: "o1"), Self.month(1, under: "o2", signed: 20), Self.month(2, under: "o2"),
                Self.month(3, under: "o1"),
            ]
            let places = [
                [0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1], [2, 0, 3, 1], [0, 2, 1, 3],
            ][order]
            var batch: [VerdictMessage] = []
            for place in places { batch.append(try await bench.notification("n\(place)", [all[place]])) }
            for part in isOneBatch ? [batch] : batch.map({ [$0] }) { try await bench.settle(part) }
            try await bench.post("s1", Self.month(3, under: "o1", signed: 1), by: "anna")
            #expect(try await bench.gems(of: "anna") == 30)
            #expect(try await bench.number("SELECT count(*) FROM lineages") == 1)
            #expect(try await bench.number("SELECT count(*) FROM lineage_members") == 1)
            #expect(try await bench.answers("SELECT account || transaction_id FROM subscriptions") == ["annat3"])
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == 3)
            #expect(try await bench.number("SELECT count(DISTINCT original_transaction_id) FROM orders") == 1)
        }
    }

    @Test func `a lineage of nobody's that is one with anna's is granted to anna`() async throws {
        try await Self.with { bench in
            try await bench.notify("n2", Self.month(2, under: "o2"))
            #expect(try await bench.standing(of: "t2") == "parked unclaimed -")
            try await bench.post("s1", Self.month(1, under: "o1"), by: "anna")
            try await bench.notify("n1", Self.month(1, under: "o2", signed: 20))
            #expect(try await bench.standing(of: "t2") == "granted - anna")
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(try await bench.number("SELECT count(*) FROM subscriptions") == 1)
        }
    }

    @Test func `a refund, a renewal info and a restore reach it by either id`() async throws {
        try await Self.with(RestoreRule(policy: .transfer)) { bench in
            try await bench.post("s1", Self.month(1, under: "o1"), by: "anna")
            try await bench.notify("n1", Self.month(1, under: "o2", signed: 1))
            try await bench.notify("n2", Self.month(2, under: "o2"))
            var refunded = try await bench.notification(
                "n3",
                [
                    Self.month(2, under: "o1", signed: 2) {
                        $0.revocationDate = Bench.day(31)
                    }
                ])
            var renewal = RenewalStatement(
                environment: .production, originalTransactionId: "o2", productId: "vip", signedDate: Bench.day(32))
            renewal.willRenew = false
            refunded.renewals = [renewal]
            try await bench.settle([refunded])
            #expect(try await bench.gems(of: "anna") == 10)
            #expect(
                try await bench.answers(
                    "SELECT original_transaction_id || ' ' || (statement ->> 'original_transaction_id') "
                        + "FROM renewal_statements") == ["o1 o1"])
            try await bench.post("s2", Self.month(1, under: "o2", signed: 3), by: "ben")
            #expect(try await bench.owner(of: "o1") == "ben transfer")
            #expect(try await bench.standing(of: "t2") == "revoked revoked_by_apple ben")
            #expect(try await bench.inForce() == ["ben vip t1"])
        }
    }

    @Test func `two lineages that were known come together with all that they have`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month(1, under: "o1"), by: "anna")
            try await bench.post("s2", Self.month(2, under: "o2"), by: "anna")
            var info = try await bench.notification("n1", [Self.month(2, under: "o2", signed: 1)])
            info.renewals = [
                RenewalStatement(
                    environment: .production, originalTransactionId: "o2", productId: "vip", signedDate: Bench.day(31))
            ]
            try await bench.settle([info])
            #expect(try await bench.number("SELECT count(*) FROM subscriptions") == 2)
            try await bench.notify("n2", Self.month(2, under: "o1", signed: 2))
            #expect(
                try await all(bench) == [
                    "lineage o2 anna", "member o1 o2", "order t1 o2 anna p:o2:w1", "order t2 o2 anna p:o2:w2",
                    "subscription o2 anna t2",
                ])
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(
                try await bench.number(
                    "SELECT count(*) FROM events WHERE type = 'iap.subscription.started'") <= 2)
            let owned = try await OwnershipStore(pool: bench.pool).lineage(
                environment: .production, transactionId: "o1")
            #expect(owned?.originalTransactionId == "o2" && owned?.account == "anna")
            #expect(owned?.history.count == 2)
            #expect(try await InspectionStore(pool: bench.pool).inspect("o1")?.contains("\"t2\"") == true)
            #expect(
                try await IdentifierStore(pool: bench.pool).meanings(of: "o1").map(\.leadsTo) == ["t2", "t1"])
        }
    }

    @Test func `what was held for its line item is the purchase's copy, once both lineages are one`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month(1, under: "o1"), by: "anna")
            try await bench.post("s2", Self.month(1, under: "o2", id: "u1"), by: "anna")
            #expect(try await bench.standing(of: "u1") == "parked purchase_ambiguous -")
            #expect(try await bench.outcome("s2")?.reason == .purchaseAmbiguous)
            var refund = Self.month(1, under: "o2", id: "u1", signed: 3)
            refund.revocationDate = Bench.day(3)
            try await bench.notify("n1", refund)
            #expect(try await bench.gems(of: "anna") == 10)
            try await bench.notify("n2", Self.month(1, under: "o2", signed: 4))
            #expect(
                try await all(bench) == [
                    "lineage o1 anna", "member o2 o1", "order t1 o1 anna p:o1:w1", "subscription o1 anna t1",
                ])
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple anna")
            #expect(try await bench.gems(of: "anna") == 0)
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            #expect(
                try await bench.answers("SELECT order_transaction_id FROM order_transactions ORDER BY 1") == [
                    "t1", "t1",
                ])
        }
    }

    // MARK: - The subscription whose place it took

    @Test(arguments: [true, false])
    func `a subscription that took the place of anna's is anna's, without a token`(isKnown: Bool) async throws {
        try await Self.with { bench in
            let bundle = Self.month(2, under: "b1") {
                $0.previousOriginalTransactionId = "o1"
                $0.transactionReason = "PURCHASE"
            }
            if isKnown { try await bench.post("s1", Self.month(1, under: "o1"), by: "anna") }
            try await bench.notify("n1", bundle)
            if !isKnown { try await bench.post("s1", Self.month(1, under: "o1"), by: "anna") }
            #expect(try await bench.standing(of: "t2") == "granted - anna")
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(try await bench.number("SELECT count(*) FROM subscriptions") == 1)
            #expect(try await bench.number("SELECT count(*) FROM lineages") == 1)
        }
    }

    // MARK: - Two owners

    @Test func `two accounts without a token that decides stay two, and somebody is told`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month(1, under: "o1"), by: "anna")
            try await bench.post("s2", Self.month(2, under: "o2"), by: "ben")
            let before = try await all(bench)
            try await bench.notify("n1", Self.month(1, under: "o2", signed: 20))
            try await bench.notify("n2", Self.month(1, under: "o2", signed: 21))
            #expect(try await all(bench) == before)
            #expect(
                try await bench.answers("SELECT cause || ' ' || transaction_id FROM purchase_conflicts") == [
                    "two_owners t1"
                ])
            #expect(try await bench.gems(of: "anna") == 10)
            #expect(try await bench.gems(of: "ben") == 10)
        }
    }

    @Test func `a token decides between two accounts, and both are told`() async throws {
        try await Self.with { bench in
            let token = try await bench.token(of: "ben")
            try await bench.post("s1", Self.month(1, under: "o1"), by: "anna")
            try await bench.notify("n2", Self.month(2, under: "o2", token: token))
            try await bench.notify("n1", Self.month(1, under: "o2", signed: 20))
            #expect(
                try await all(bench) == [
                    "lineage o2 ben", "member o1 o2", "order t1 o2 ben p:o2:w1", "order t2 o2 ben p:o2:w2",
                    "subscription o2 ben t2",
                ])
            #expect(try await bench.gems(of: "anna") == 10)
            #expect(try await bench.gems(of: "ben") == 10)
            #expect(try await bench.inForce() == ["ben vip t1", "ben vip t2"])
            #expect(try await bench.tellings(to: "anna") == [#"iap.customer.transferred anna>ben ["vip"]"#])
            #expect(try await bench.tellings(to: "ben") == [#"iap.customer.transferred anna>ben ["vip"]"#])
        }
    }

    @Test func `who shares one of them shares both`() async throws {
        try await Self.with(RestoreRule(policy: .share, accountsMaximum: 3)) { bench in
            try await bench.post("s1", Self.month(1, under: "o1"), by: "anna")
            try await bench.post("s2", Self.month(2, under: "o2"), by: "anna")
            try await bench.post("s3", Self.month(2, under: "o2"), by: "ben")
            try await bench.notify("n1", Self.month(2, under: "o1", signed: 2))
            #expect(
                try await bench.inForce() == ["anna vip t1", "anna vip t2", "ben vip t1", "ben vip t2"])
        }
    }

    // MARK: - What says nothing

    @Test func `another app's transaction, a consumable and an expired signer's join nothing`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month(1, under: "o1"), by: "anna")
            try await bench.notify("n1", Self.month(1, under: "o2", signed: 20) { $0.bundleId = "com.example.other" })
            try await bench.notify("n2", Self.month(1, under: "o3", signed: 21) { $0.hasExpiredSigner = true })
            try await bench.notify("n3", Self.month(1, under: "o4", signed: 22) { $0.environment = .sandbox })
            #expect(try await bench.number("SELECT count(*) FROM lineage_members") == 0)
            #expect(try await bench.column("original_transaction_id", of: "t1") == "o1")
        }
    }

    // Found by correctly signed payloads with hostile values: three rules of the audit broke.
    @Test(arguments: [true, false])
    func `one transaction id under two original ids and of two types is one order, and is told`(
        isPeriodFirst: Bool
    ) async throws {
        try await Self.with { bench in
            let period = Self.month(1, under: "o1")
            let other = Self.month(1, under: "o2", signed: isPeriodFirst ? 0 : 1) {
                ($0.productType, $0.productId) = (.nonConsumable, "pro")
                ($0.expiresDate, $0.webOrderLineItemId, $0.transactionReason) = (nil, nil, nil)
            }
            let posted = isPeriodFirst ? [period, other] : [other, period]
            for (place, transaction) in posted.enumerated() {
                try await bench.post("s\(place)", transaction, by: "anna")
                try await bench.notify("n\(place)", transaction)
            }
            #expect(try await bench.number("SELECT count(*) FROM orders") == 1)
            #expect(try await bench.number("SELECT count(*) FROM lineages") == 1)
            #expect(try await bench.number("SELECT count(*) FROM purchase_conflicts WHERE cause = 'type_differs'") == 1)
        }
    }

    // Found by the same, once their ids were shared: its subscription stayed behind without its period.
    @Test func `a granted period stays in its lineage, whatever else is signed under its id`() async throws {
        try await Self.with { bench in
            let period = Self.month(1, under: "o1")
            try await bench.post("s1", period, by: "anna")
            for (place, original) in [period.transactionId, "o2"].enumerated() {
                let other = Self.month(1, under: original, signed: Double(place + 1)) {
                    $0.productType = .consumable
                    ($0.expiresDate, $0.webOrderLineItemId, $0.transactionReason) = (nil, nil, nil)
                }
                try await bench.notify("n\(place)", other)
                #expect(try await bench.column("original_transaction_id", of: period.transactionId) == "o1")
            }
            #expect(try await bench.number("SELECT count(*) FROM subscriptions") == 1)
        }
    }

    @Test func `eight at once, under either id, end as one`() async throws {
        try await Self.with { bench in
            var verdicts: [VerdictMessage] = []
            for number in 1...4 {
                for original in ["o1", "o2"] {
                    verdicts.append(
                        try await bench.notification(
                            "n\(number)\(original)", [Self.month(number, under: original, signed: 1)]))
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for verdict in verdicts { group.addTask { try await bench.settle([verdict]) } }
                try await group.waitForAll()
            }
            try await bench.post("s1", Self.month(4, under: "o1", signed: 2), by: "anna")
            #expect(try await bench.gems(of: "anna") == 40)
            #expect(try await bench.number("SELECT count(*) FROM lineages") == 1)
            #expect(try await bench.number("SELECT count(*) FROM subscriptions") == 1)
        }
    }
}
