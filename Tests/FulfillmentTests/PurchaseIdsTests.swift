import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// One purchase under several transaction ids: the cases of apple-facts C18, with the ids in every order.
@Suite("One purchase, several ids", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct PurchaseIdsTests {
    private static func catalogue(_ family: FamilyPolicy = .entitlements) -> Catalogue {
        Catalogue([
            Bench.app: [
                Catalogue.Product(
                    id: "vip", type: .autoRenewable, items: [Catalogue.ItemGrant(item: "gem", amount: 50)],
                    entitlements: ["vip"], family: family),
                Catalogue.Product(
                    id: "max", type: .autoRenewable, items: [Catalogue.ItemGrant(item: "gem", amount: 90)],
                    entitlements: ["vip", "max"]),
                Catalogue.Product(
                    id: "pro", type: .nonConsumable, items: [Catalogue.ItemGrant(item: "gem", amount: 7)],
                    entitlements: ["pro"]),
                Catalogue.Product(
                    id: "gems.100", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 100)],
                    entitlements: []),
            ]
        ])
    }

    private static func with(
        _ family: FamilyPolicy = .entitlements, _ body: (Bench) async throws -> Void
    ) async throws {
        try await Bench.with { bench in
            var bench = bench
            bench.products = catalogue(family)
            bench.now = { Bench.day(3) }
            try await body(bench)
            try await bench.expectClean()
        }
    }

    /// A month as Apple signs it.
    private static func month(
        _ id: String, from start: Double = 0, original: String = "o", lineItem: String? = "w1", product: String = "vip",
        signed: Double = 0, _ change: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var transaction = Bench.signed(id, product: product)
        transaction.originalTransactionId = original
        transaction.productType = .autoRenewable
        transaction.purchaseDate = Bench.day(start)
        transaction.expiresDate = Bench.day(start + 30)
        transaction.signedDate = Bench.day(start + signed)
        transaction.webOrderLineItemId = lineItem
        change(&transaction)
        return transaction
    }

    private static func refunded(_ transaction: Transaction, signed: Double = 2) -> Transaction {
        var refund = transaction
        refund.revocationDate = Bench.day(signed)
        refund.revocationReason = 1
        refund.signedDate = Bench.day(signed)
        return refund
    }

    /// `order id state reason account`, and the ids that lead to it.
    private func orders(_ bench: Bench) async throws -> [String] {
        try await bench.answers(
            """
            SELECT concat_ws(' ', o.state, coalesce(o.reason, '-'), coalesce(o.account, '-'),
                (SELECT string_agg(t.transaction_id, ',' ORDER BY t.transaction_id) FROM order_transactions t
                    WHERE (t.environment, t.order_transaction_id) = (o.environment, o.transaction_id)))
            FROM orders o ORDER BY 1
            """)
    }

    /// Every order of three, four at the most.
    private static func permutations<Element>(_ list: [Element]) -> [[Element]] {
        guard list.count > 1 else { return [list] }
        return list.indices.flatMap { index -> [[Element]] in
            var rest = list
            let first = rest.remove(at: index)
            return permutations(rest).map { [first] + $0 }
        }
    }

    // MARK: - Case 1, 3, 4: a period again under other ids, with or without its line item

    @Test func `a month under four ids is granted once, in any order, in one batch or in four`() async throws {
        let four = ["a", "b", "c", "d"].map { Self.month($0) }
        for order in [four, four.reversed(), [four[2], four[0], four[3], four[1]]] {
            try await Self.with { bench in
                for (index, transaction) in order.enumerated() {
                    try await bench.post("s\(index)", transaction, by: "anna")
                    #expect(try await bench.outcome("s\(index)")?.state == .fulfilled)
                }
                #expect(try await bench.gems(of: "anna") == 50)
                #expect(try await orders(bench) == ["granted - anna a,b,c,d"])
            }
            try await Self.with { bench in
                var batch: [VerdictMessage] = []
                for (index, transaction) in order.enumerated() {
                    batch.append(try await bench.verdict("s\(index)", .genuine([transaction]), account: "anna"))
                }
                try await bench.settle(batch)
                #expect(try await bench.gems(of: "anna") == 50)
                #expect(try await orders(bench) == ["granted - anna a,b,c,d"])
            }
        }
    }

    @Test func `a copy without the line item is the same month, whichever comes first`() async throws {
        var entry = Bench.entry("r", product: "vip")
        entry.originalTransactionId = "o"
        entry.purchaseDate = Bench.day(0).addingTimeInterval(0.4)
        entry.expiresDate = Bench.day(30)
        entry.webOrderLineItemId = "0"
        for order in Self.permutations([Self.month("a"), Self.month("b", lineItem: nil), entry]) {
            try await Self.with { bench in
                for (index, transaction) in order.enumerated() {
                    try await bench.post("s\(index)", transaction, by: "anna")
                }
                #expect(try await bench.gems(of: "anna") == 50)
                #expect(try await orders(bench) == ["granted - anna a,b,r"])
                #expect(try await bench.answers("SELECT purchase_key FROM orders") == ["p:o:w1"])
            }
        }
    }

    // MARK: - Case 5, 6, 7: further periods are further purchases

    @Test func `a renewal, a return after a gap and an upgrade are granted for themselves`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a"), by: "anna")
            try await bench.post("s2", Self.month("b", from: 30, lineItem: "w2"), by: "anna")
            try await bench.post("s3", Self.month("c", from: 90, lineItem: "w3"), by: "anna")
            try await bench.post("s4", Self.month("d", from: 100, lineItem: "w4", product: "max"), by: "anna")
            #expect(try await bench.gems(of: "anna") == 50 * 3 + 90)
            #expect(try await orders(bench).count == 4)
        }
    }

    // MARK: - Case 2, 8: restored non-consumables

    @Test func `a restored non-consumable grants nothing, and is refunded by any id`() async throws {
        func pro(_ id: String, bought: Double) -> Transaction {
            var transaction = Bench.signed(id, product: "pro")
            transaction.originalTransactionId = "a"
            transaction.purchaseDate = Bench.day(bought)
            transaction.signedDate = Bench.day(bought)
            return transaction
        }
        for order in Self.permutations([pro("a", bought: 0), pro("b", bought: 1), pro("c", bought: 2)]) {
            for refunded in ["a", "b", "c"] {
                try await Self.with { bench in
                    for (index, transaction) in order.enumerated() {
                        try await bench.post("s\(index)", transaction, by: "anna")
                    }
                    #expect(try await bench.gems(of: "anna") == 7)
                    #expect(try await bench.inForce() == ["anna pro \(order[0].transactionId)"])
                    try await bench.notify("n", Self.refunded(pro(refunded, bought: 0), signed: 2.5))
                    #expect(try await bench.gems(of: "anna") == 0)
                    #expect(try await bench.inForce().isEmpty)
                    #expect(try await orders(bench) == ["revoked revoked_by_apple anna a,b,c"])
                }
            }
        }
    }

    // MARK: - Case 9: consumables

    @Test func `a consumable bought twice is two purchases, by whichever proofs`() async throws {
        try await Self.with { bench in
            var three = Bench.signed("t1")
            three.quantity = 3
            var receipt = Bench.entry("t1")
            receipt.quantity = 3
            receipt.webOrderLineItemId = "0"
            try await bench.post("s1", three, by: "anna")
            try await bench.notify("n1", three)
            try await bench.post("s2", receipt, by: "anna")
            try await bench.notify("n2", Bench.signed("t2"))
            try await bench.post("s3", Bench.signed("t2"), by: "anna")
            try await bench.post("s4", Bench.entry("t2"), by: "anna")
            #expect(try await bench.gems(of: "anna") == 400)
            #expect(try await orders(bench).count == 2)
        }
    }

    @Test func `a consumable that names another purchase as its first is held`() async throws {
        try await Self.with { bench in
            var copy = Bench.signed("t2")
            copy.originalTransactionId = "t1"
            for order in [[Bench.signed("t1"), copy]] {
                for (index, transaction) in order.enumerated() {
                    try await bench.post("s\(index)", transaction, by: "anna")
                }
            }
            #expect(try await bench.gems(of: "anna") == 100)
            #expect(try await bench.standing(of: "t2") == "parked purchase_ambiguous -")
            #expect(try await bench.answers("SELECT cause FROM purchase_conflicts") == ["original_differs"])
        }
    }

    // MARK: - Case 10: refunds

    @Test func `a refund names any id; a stale copy does not undo it; a reversal of any id does`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a"), by: "anna")
            // The id that Apple names was posted by nobody.
            try await bench.notify("n1", Self.refunded(Self.month("b")))
            #expect(try await bench.gems(of: "anna") == 0)
            #expect(try await bench.inForce().isEmpty)
            try await bench.post("s2", Self.month("c", signed: 2.5), by: "anna")
            #expect(try await bench.gems(of: "anna") == 0)
            #expect(try await orders(bench) == ["revoked revoked_by_apple anna a,b,c"])
            var reversal = try await bench.notification("n2", [Self.month("c", signed: 2.9)])
            reversal.notification = VerdictMessage.NotificationKind(type: "REFUND_REVERSED", subtype: nil, uuid: "n2")
            try await bench.settle([reversal])
            #expect(try await bench.gems(of: "anna") == 50)
            #expect(try await bench.inForce() == ["anna vip a"])
        }
    }

    @Test func `a refund of what is not known yet is remembered for every id`() async throws {
        try await Self.with { bench in
            try await bench.notify("n1", Self.refunded(Self.month("b")))
            try await bench.post("s1", Self.month("a", signed: 2.5), by: "anna")
            #expect(try await bench.gems(of: "anna") == 0)
            #expect(try await bench.outcome("s1")?.reason == .revokedByApple)
            #expect(try await orders(bench) == ["revoked revoked_by_apple anna a,b"])
        }
    }

    // MARK: - Case 11: a family

    @Test(arguments: FamilyPolicy.allCases)
    func `a purchaser and two members: one revenue, three entitlements, and a revoke leaves two`(
        family: FamilyPolicy
    ) async throws {
        try await Self.with(family) { bench in
            try await bench.post("s1", Self.month("a"), by: "anna")
            for (index, member) in ["ben", "cleo"].enumerated() {
                let copy = Self.month("f\(index)", original: "f\(index)", lineItem: nil) {
                    $0.ownership = "FAMILY_SHARED"
                }
                try await bench.post("m\(index)", copy, by: member)
            }
            let shared: Int64 = family == .all ? 50 : 0
            #expect(try await bench.gems(of: "anna") == 50)
            #expect(try await bench.gems(of: "ben") == shared)
            #expect(try await bench.gems(of: "cleo") == shared)
            guard family != .nothing else {
                #expect(try await bench.inForce() == ["anna vip a"])
                return
            }
            #expect(try await bench.inForce() == ["anna vip a", "ben vip f0", "cleo vip f1"])
            let revoke = Self.refunded(
                Self.month("f0", original: "f0", lineItem: nil) { $0.ownership = "FAMILY_SHARED" })
            try await bench.notify("n", revoke)
            #expect(try await bench.inForce() == ["anna vip a", "cleo vip f1"])
        }
    }

    @Test func `a receipt's entry with the line item of a purchase brings the entitlement and no items`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a"), by: "anna")
            let entry = Self.month("f", original: "f") { $0.ownership = nil }
            for submission in ["s2", "s3"] { try await bench.post(submission, entry, by: "ben") }
            #expect(try await bench.gems(of: "anna") == 50)
            #expect(try await bench.gems(of: "ben") == 0)
            #expect(try await bench.inForce() == ["anna vip a", "ben vip f"])
            #expect(try await bench.answers("SELECT cause FROM purchase_conflicts") == [])
            // Apple says so: nothing changes.
            try await bench.notify("n1", Self.month("f", original: "f", signed: 2) { $0.ownership = "FAMILY_SHARED" })
            #expect(try await bench.gems(of: "ben") == 0)
            #expect(try await bench.inForce() == ["anna vip a", "ben vip f"])
            #expect(try await bench.gems(of: "anna") == 50)
        }
    }

    @Test func `what a receipt lists, and came first, holds a purchase of the same line item`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("f", original: "f") { $0.ownership = nil }, by: "ben")
            try await bench.post("s2", Self.month("a"), by: "anna")
            // Items were given for the line item: nothing says whether anna paid for another's copy, or for her own twice.
            #expect(try await bench.standing(of: "a") == "parked purchase_ambiguous -")
            #expect(try await bench.gems(of: "ben") == 50)
            try await bench.post("s3", Self.month("f", original: "f") { $0.ownership = nil }, by: "ben")
            #expect(try await bench.gems(of: "ben") == 50)
        }
    }

    // MARK: - Case 12: contradictions, environments, races

    @Test func `one line item under two original ids is held, and somebody is told`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a"), by: "anna")
            try await bench.post("s2", Self.month("b", original: "p"), by: "ben")
            #expect(try await bench.gems(of: "anna") == 50)
            #expect(try await bench.gems(of: "ben") == 0)
            #expect(try await bench.standing(of: "b") == "parked purchase_ambiguous -")
            #expect(try await bench.answers("SELECT cause FROM purchase_conflicts") == ["line_item_of_another"])
            let outcome = try #require(try await bench.outcome("s2"))
            #expect(outcome.state == .parked && outcome.reason == .purchaseAmbiguous)
            // It stays so, however often it comes.
            try await bench.post("s3", Self.month("b", original: "p", signed: 1), by: "ben")
            #expect(try await bench.standing(of: "b") == "parked purchase_ambiguous -")
        }
    }

    @Test func `one second of one product under two line items is held`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a"), by: "anna")
            try await bench.post("s2", Self.month("b", lineItem: "w2"), by: "anna")
            #expect(try await bench.gems(of: "anna") == 50)
            #expect(try await bench.standing(of: "b") == "parked purchase_ambiguous -")
            #expect(try await bench.answers("SELECT cause FROM purchase_conflicts") == ["two_line_items"])
        }
    }

    @Test func `the same ids in the sandbox and in production are apart`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a"), by: "anna")
            try await bench.post("s2", Self.month("b") { $0.environment = .sandbox }, by: "anna")
            #expect(try await orders(bench).count == 2)
        }
    }

    @Test func `twenty copies at once are one purchase`() async throws {
        try await Self.with { bench in
            var verdicts: [VerdictMessage] = []
            for index in 0..<20 {
                let copy = Self.month("t\(index)", lineItem: index % 3 == 0 ? nil : "w1")
                verdicts.append(try await bench.verdict("s\(index)", .genuine([copy]), account: "anna"))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for verdict in verdicts { group.addTask { try await bench.settle([verdict]) } }
                try await group.waitForAll()
            }
            #expect(try await bench.gems(of: "anna") == 50)
            #expect(try await bench.number("SELECT count(*) FROM orders") == 1)
            #expect(try await bench.number("SELECT count(*) FROM order_transactions") == 20)
        }
    }

    // MARK: - What must not be granted for ever

    @Test func `a period without its end is held until Apple says when it ends`() async throws {
        try await Self.with { bench in
            try await bench.post("s1", Self.month("a") { $0.expiresDate = nil }, by: "anna")
            #expect(try await bench.standing(of: "a") == "parked transaction_incomplete anna")
            #expect(try await bench.gems(of: "anna") == 0)
            try await bench.post("s2", Self.month("a", signed: 1), by: "anna")
            #expect(try await bench.standing(of: "a") == "granted - anna")
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
        }
    }

    @Test func `a verdict without its submission grants nothing`() async throws {
        try await Self.with { bench in
            try await bench.settle([
                VerdictMessage(
                    submissionId: "forged", app: Bench.app, account: "mallory", correlationId: "r", attempt: 0,
                    verdict: .genuine([Self.month("a")]))
            ])
            #expect(try await orders(bench).isEmpty)
        }
    }

    @Test func `whose a purchase is says the submission's row, not the message`() async throws {
        try await Self.with { bench in
            var verdict = try await bench.verdict("s1", .genuine([Self.month("a")]), account: "anna")
            verdict.account = "mallory"
            try await bench.settle([verdict])
            #expect(try await bench.standing(of: "a") == "granted - anna")
        }
    }
}
