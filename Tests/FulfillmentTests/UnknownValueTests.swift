import EventProcessing
import Foundation
import LogTesting
import Logging
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import Fulfillment

/// Words of Apple's that this version does not know, and types that contradict what was granted.
@Suite("Unknown words", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct UnknownValueTests {
    private typealias Sub = SubscriptionBench

    private static func selling(
        assigned: MarkedPolicy = .hold, bundled: MarkedPolicy = .hold
    ) -> Catalogue {
        Catalogue([
            Bench.app: [
                Catalogue.Product(
                    id: "vip", type: .autoRenewable, items: [Catalogue.ItemGrant(item: "gem", amount: 50)],
                    entitlements: ["vip"], assigned: assigned, bundled: bundled)
            ]
        ])
    }

    private static func with(_ products: Catalogue = selling(), _ body: (Bench) async throws -> Void) async throws {
        try await Bench.with { bench in
            var bench = bench
            bench.products = products
            bench.now = { Sub.day(5) }
            try await body(bench)
            try await bench.expectClean()
        }
    }

    private static func month(
        _ id: String, lineItem: String? = nil, signed: Double = 0, _ change: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        let number = Double(id.dropFirst()) ?? 1
        return Sub.period(
            id, from: 30 * (number - 1), to: 30 * number, product: "vip", lineage: "m1",
            signed: 30 * (number - 1) + signed
        ) {
            $0.webOrderLineItemId = lineItem ?? "w\(id)"
            change(&$0)
        }
    }

    private func noted(_ bench: Bench) async throws -> [String] {
        try await bench.texts(
            """
            SELECT concat_ws(' ', field, quote_literal(value), effect, CASE WHEN is_named THEN 'named' END, transaction_id)
                AS value
            FROM unknown_values ORDER BY field, value
            """)
    }

    @Test func `three periods of a type of tomorrow, with one original id, are three orders and held`() async throws {
        try await Self.with { bench in
            let bundles = ["m1", "m2", "m3"].map { id in
                Self.month(id) { $0.productType = ProductType(appleName: "Subscription Bundle") }
            }
            for bundle in bundles { try await bench.post(bundle) }
            try await bench.post(bundles[0], bundles[1], bundles[2])
            for id in ["m1", "m2", "m3"] {
                #expect(try await bench.standing(of: id) == "parked vocabulary_unknown anna")
            }
            #expect(try await bench.balance() == 0)
            #expect(try await noted(bench) == ["type 'Subscription Bundle' holds named m1"])
            #expect(try await bench.grantParked() == 0)
        }
    }

    @Test func `each word is noted and logged once, and so is the name of a field`() async throws {
        try await Self.with { bench in
            var lent = Self.month("m1") {
                ($0.ownership, $0.offerType) = ("LENT", 9)
                $0.unknownFields = ["transaction.zebra"]
            }
            try await bench.post(lent)
            lent.unknownFields = nil
            try await bench.post(lent)
            #expect(
                try await noted(bench) == [
                    "inAppOwnershipType 'LENT' holds m1", "offerType '9' noted m1", "transaction.zebra '' noted m1",
                ])
            #expect(try await bench.column("transaction ? 'unknown_fields'", of: "m1") == "false")
            #expect(bench.log.texts(.warning).count { $0.contains("inAppOwnershipType LENT") } >= 1)
        }
    }

    @Test func `words of a renewal and of a notification are noted, and names of its fields`() async throws {
        try await Self.with { bench in
            var verdict = try await bench.notice([
                Self.month("m1") { $0.commitment = Transaction.Commitment(billingPlan: "WEEKLY") }
            ])
            var renewal = RenewalStatement(
                environment: .production, originalTransactionId: "m1", productId: "vip", signedDate: Sub.day(1))
            (renewal.unknownRenewStatus, renewal.renewalBillingPlan) = (7, "MONTHLY")
            verdict.renewals = [renewal]
            func kind(_ uuid: String) -> VerdictMessage.NotificationKind {
                VerdictMessage.NotificationKind(type: "TEST", subtype: nil, uuid: uuid, environment: .production)
            }
            verdict.notification = kind("u1")
            verdict.notification?.status = 6
            verdict.notification?.unknownFields = ["notification.data.zebra"]
            var told = try await bench.notice([])
            told.notification = kind("u2")
            told.notification?.storeType = "CORNER"
            told.notification?.unknownFields = ["appTransaction.zebra"]
            try await bench.settle([verdict, told])
            #expect(
                try await noted(bench) == [
                    "appTransaction.zebra '' noted u2", "autoRenewStatus '7' noted m1",
                    "billingPlanType 'WEEKLY' noted m1", "notification.data.zebra '' noted m1", "status '6' noted m1",
                    "storeType 'CORNER' noted u2",
                ])
        }
    }

    @Test func `an offer or a reason of tomorrow holds nothing that is paid for`() async throws {
        try await Self.with { bench in
            try await bench.post(Self.month("m1") { ($0.offerType, $0.transactionReason) = (9, "GIFT") })
            #expect(try await bench.standing(of: "m1") == "granted - anna")
            #expect(try await bench.balance() == 50)
        }
    }

    @Test func `a seat without a price is held until the product's policy says what it brings`() async throws {
        try await Self.with { bench in
            let seat = Self.month("m1") { ($0.ownership, $0.priceMilliunits) = ("ASSIGNED", nil) }
            try await bench.post(seat)
            #expect(try await bench.standing(of: "m1") == "parked vocabulary_unknown anna")
            var decided = bench
            decided.products = Self.selling(assigned: .entitlements)
            #expect(try await decided.grantParked() == 1)
            #expect(try await bench.standing(of: "m1") == "granted - anna")
            #expect(try await bench.entitlements(of: "m1") == ["vip anna -"])
            #expect(try await bench.lines(of: "m1").isEmpty, "no items unasked")
            // Taken back: no refund.
            var back = Self.month("m1", signed: 3) { ($0.ownership, $0.priceMilliunits) = ("ASSIGNED", nil) }
            (back.revocationDate, back.revocationType) = (Sub.day(2), "ASSIGNMENT_REVOKED")
            try await decided.notify(back)
            #expect(try await bench.entitlements(of: "m1") == ["vip anna family_revoke"])
            #expect(try await bench.events(of: "m1").last == "family.revoked anna")
        }
    }

    @Test func `what a receipt granted, and is a seat, keeps its access and loses its items`() async throws {
        try await Self.with { bench in
            var entry = Bench.entry("m1", product: "vip")
            (entry.expiresDate, entry.signedDate) = (Sub.day(30), Sub.day(1))
            try await bench.post(entry)
            #expect(try await bench.balance() == 50)
            try await bench.notify(
                Self.month("m1", signed: 2) { ($0.ownership, $0.priceMilliunits) = ("ASSIGNED", nil) })
            #expect(try await bench.standing(of: "m1") == "granted - anna")
            #expect(try await bench.lines(of: "m1") == ["grant 1 50 gem", "correction 1 -50 gem"])
            #expect(try await bench.entitlements(of: "m1") == ["vip anna -"])
        }
    }

    @Test func `a part of a bundle is held, and granted by the product's policy`() async throws {
        try await Self.with { bench in
            try await bench.post(Self.month("m1") { $0.bundleField = "bundleTransactionId" })
            #expect(try await bench.standing(of: "m1") == "parked vocabulary_unknown anna")
            var decided = bench
            decided.products = Self.selling(bundled: .all)
            #expect(try await decided.grantParked() == 1)
            #expect(try await bench.balance() == 50)
        }
    }

    @Test(
        "a version that knows the word decides anew, when it starts and by the look through all",
        arguments: [true, false])
    func known(starts: Bool) async throws {
        try await Self.with { bench in
            for id in ["m1", "m2", "m3"] {
                // Two of one line item: one purchase, as it turns out.
                try await bench.post(
                    Self.month(id, lineItem: id == "m1" ? "w1" : "w2") {
                        $0.productType = ProductType(appleName: "Renewable of Tomorrow")
                    })
                #expect(try await bench.standing(of: id) == "parked vocabulary_unknown anna")
            }
            // Kept under Apple's name. As if tomorrow's word were one that is known today: this version is the newer one.
            #expect(try await bench.column("product_type", of: "m1") == "Renewable of Tomorrow")
            _ = try await bench.pool.query(
                """
                UPDATE orders SET product_type = 'Auto-Renewable Subscription',
                    transaction = jsonb_set(transaction, '{product_type}', '"Auto-Renewable Subscription"')
                """)
            let doubtful = DoubtfulProducts()
            let store = CatalogueStore(pool: bench.pool)
            let catalogues = CurrentCatalogue(CatalogueFile.Loaded(catalogue: bench.products, text: "words")) {
                try await store.version(of: $0)
            }
            let release = ReleaseByCatalogue(orders: bench.releaseOrders(catalogues, doubtful: doubtful))
            if !starts {
                _ = doubtful.begin(try await catalogues.current())
                #expect(try await release.look(limit: 100).count == 0)
                try await OverlookedOrders(pool: bench.pool, catalogues: catalogues, doubtful: doubtful).look(
                    limit: 100)
            }
            #expect(try await release.look(limit: 100).count == 3)
            #expect(try await bench.standing(of: "m1") == "granted - anna")
            #expect(try await bench.column("purchase_key", of: "m1") == "p:m1:w1")
            #expect(try await bench.standing(of: "m2") == "granted - anna")
            #expect(try await bench.standing(of: "m3") == "parked purchase_ambiguous -")
            #expect(try await bench.column("purchase_key", of: "m3") == nil)
            #expect(try await bench.balance() == 100)
        }
    }

    @Test(
        "a period that is signed anew as another type keeps the one that it was granted by", arguments: [false, true])
    func type(isSilentReceipt: Bool) async throws {
        try await Self.with { bench in
            if isSilentReceipt {
                var entry = Bench.entry("m1", product: "vip")
                (entry.expiresDate, entry.signedDate) = (Sub.day(30), Sub.day(0.5))
                entry.productType = .autoRenewable
                try await bench.post(entry)
            } else {
                try await bench.post(Self.month("m1"))
            }
            let other = Self.month("m1", signed: 2) {
                $0.productType = isSilentReceipt ? ProductType(appleName: "Subscription Suite") : .nonRenewing
            }
            try await bench.notify(other)
            try await bench.post(other)
            #expect(try await bench.standing(of: "m1") == "granted - anna")
            #expect(try await bench.column("product_type", of: "m1") == "auto_renewable")
            #expect(try await bench.balance() == 50)
            #expect(
                try await bench.texts("SELECT concat_ws(' ', transaction_id, cause) AS value FROM purchase_conflicts")
                    == ["m1 type_differs"])
            // The next period is its own.
            try await bench.post(Self.month("m2"))
            #expect(try await bench.standing(of: "m2") == "granted - anna")
        }
    }

    @Test("of two types the catalogue's counts, in any order, and somebody is told", arguments: [[0, 1], [1, 0]])
    func twoTypes(places: [Int]) async throws {
        try await Self.with { bench in
            let statements = [
                Self.month("m1"), Self.month("m1", signed: 2) { $0.productType = ProductType(appleName: "Consumable") },
            ]
            for place in places { try await bench.post(statements[place]) }
            #expect(try await bench.standing(of: "m1") == "granted - anna")
            #expect(try await bench.column("product_type", of: "m1") == "auto_renewable")
            #expect(try await bench.column("purchase_key", of: "m1") == "p:m1:wm1")
            #expect(
                try await bench.texts("SELECT DISTINCT cause AS value FROM purchase_conflicts") == ["type_differs"])
        }
    }
}
