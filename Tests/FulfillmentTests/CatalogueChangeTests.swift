import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// What a changed catalogue does to orders that are there already: nobody posts anything again.
@Suite("Changed catalogues", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct CatalogueChangeTests {
    private static func selling(
        _ id: String = "gems.100", _ type: ProductType = .consumable, gems: Int64 = 100,
        entitlements: [String] = []
    ) -> Catalogue {
        Catalogue([
            Bench.app: [
                Catalogue.Product(
                    id: id, type: type, items: [Catalogue.ItemGrant(item: "gem", amount: gems)],
                    entitlements: entitlements)
            ]
        ])
    }

    /// The same process with another catalogue.
    private func with(_ products: Catalogue, _ bench: Bench) -> Bench {
        var bench = bench
        bench.products = products
        return bench
    }

    @Test func `an order whose type the catalogue had wrong is granted once the catalogue has it right`() async throws {
        try await Bench.with { bench in
            let wrong = with(Self.selling("gems.100", .nonConsumable), bench)
            try await wrong.settle([try await bench.verdict("s1", .genuine([Bench.signed("t1")]))])
            #expect(try await bench.standing(of: "t1") == "parked product_type_mismatch player")
            #expect(try await bench.outcome("s1")?.reason == .productTypeMismatch)
            #expect(try await wrong.grantParked() == 0, "nothing changed, and nothing is looked at")
            let right = with(Self.selling(), bench)
            #expect(try await right.grantParked() == 1)
            #expect(try await bench.standing(of: "t1") == "granted - player")
            #expect(try await bench.column("catalogue_version", of: "t1") != nil)
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            #expect(try await bench.gems(of: "player") == 100)
            #expect(try await right.grantParked() == 0)
            try await bench.expectClean()
        }
    }

    @Test func `what was taken for used up and is not belongs to its lineage once the type is right`() async throws {
        try await Bench.with { bench in
            let wrong = with(Self.selling("pro", .consumable), bench)
            try await wrong.settle([try await bench.verdict("s1", .genuine([Bench.signed("t1", product: "pro")]))])
            #expect(try await bench.standing(of: "t1") == "parked product_type_mismatch player")
            let right = with(Self.selling("pro", .nonConsumable, entitlements: ["pro"]), bench)
            #expect(try await right.grantParked() == 1)
            #expect(try await bench.standing(of: "t1") == "granted - player")
            #expect(try await bench.owner(of: "t1") == "player possession")
            #expect(try await bench.inForce() == ["player pro t1"])
            try await bench.expectClean()
        }
    }

    @Test func `an order of too large an amount is granted once the amount is mended`() async throws {
        try await Bench.with { bench in
            var three = Bench.signed("t1")
            three.quantity = 3
            let wrong = with(Self.selling(gems: OrderDecision.amountMaximum), bench)
            try await wrong.settle([try await bench.verdict("s1", .genuine([three, Bench.signed("t2")]))])
            #expect(try await bench.standing(of: "t1") == "parked amount_too_large player")
            #expect(try await bench.standing(of: "t2") == "granted - player")
            #expect(try await wrong.grantParked() == 0)
            #expect(
                try await with(Self.selling(gems: OrderDecision.amountMaximum / 3 + 1), bench).grantParked() == 0)
            #expect(try await with(Self.selling(gems: 5), bench).grantParked() == 1)
            #expect(try await bench.standing(of: "t1") == "granted - player")
            #expect(try await bench.gems(of: "player") == OrderDecision.amountMaximum + 15)
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            try await bench.expectClean()
        }
    }

    @Test func `a product that becomes known with a wrong type, and then with the right one, is told of each time`()
        async throws
    {
        try await Bench.with { bench in
            let sold = Bench.signed("t1", product: "hat")
            try await bench.settle([try await bench.verdict("s1", .genuine([sold]))])
            #expect(try await bench.standing(of: "t1") == "parked product_unknown player")
            let wrong = with(Self.selling("hat", .nonConsumable), bench)
            #expect(try await wrong.grantParked() == 1)
            #expect(try await bench.outcome("s1")?.reason == .productTypeMismatch)
            #expect(try await wrong.grantParked() == 0)
            #expect(try await with(Self.selling("hat"), bench).grantParked() == 1)
            #expect(
                try bench.published.settlements(of: "s1").map(\.reason) == [
                    .productUnknown, .productTypeMismatch, nil,
                ])
            #expect(try await bench.gems(of: "player") == 100)
            try await bench.expectClean()
        }
    }

    @Test func `a notification of an unknown product is granted by the catalogue alone, whoever has its token`()
        async throws
    {
        try await Bench.with { bench in
            let token = try await bench.token(of: "anna")
            try await bench.notify("n1", Bench.signed("t1", product: "hat", token: token))
            #expect(try await bench.standing(of: "t1") == "parked product_unknown anna")
            #expect(try await with(Self.selling("hat"), bench).grantParked() == 1)
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(try await bench.gems(of: "anna") == 100)
            try await bench.expectClean()
        }
    }

    @Test func `a product that is sold no more keeps what was granted, can be taken back, and comes again`()
        async throws
    {
        try await Bench.with { bench in
            let sold = with(Self.selling(), bench)
            let gone = with(Self.selling("hat"), bench)
            try await sold.settle([try await bench.verdict("s1", .genuine([Bench.signed("t1"), Bench.signed("t2")]))])
            try await gone.settle([try await bench.verdict("s2", .genuine([Bench.signed("t3")]))])
            #expect(try await gone.grantParked() == 0)
            #expect(try await bench.standing(of: "t3") == "parked product_unknown player")
            var refunded = Bench.signed("t2")
            refunded.signedDate += 100
            refunded.revocationDate = refunded.signedDate
            try await gone.notify("n1", refunded)
            #expect(try await bench.standing(of: "t2") == "revoked revoked_by_apple player")
            #expect(try await bench.gems(of: "player") == 100)
            #expect(try await sold.grantParked() == 1)
            #expect(try await bench.gems(of: "player") == 200)
            try await bench.expectClean()
        }
    }

    @Test func `processes with the old file and with the new one grant each order once, by the one that knows it`()
        async throws
    {
        try await Bench.with { bench in
            let old = with(Self.selling("hat", .nonConsumable), bench)
            let new = with(Self.selling("hat"), bench)
            let verdicts = try await withThrowingTaskGroup(of: VerdictMessage.self) { group in
                for number in 0..<40 {
                    let sold = Bench.signed("t\(number)", product: "hat")
                    group.addTask { try await bench.verdict("s\(number)", .genuine([sold])) }
                }
                return try await group.reduce(into: [VerdictMessage]()) { $0.append($1) }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (place, verdict) in verdicts.enumerated() {
                    group.addTask { try await (place.isMultiple(of: 2) ? old : new).settle([verdict]) }
                    group.addTask { _ = try await (place.isMultiple(of: 3) ? old : new).grantParked() }
                }
                try await group.waitForAll()
            }
            while try await new.grantParked() > 0 {}
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == 40)
            #expect(try await bench.gems(of: "player") == 4_000)
            #expect(try await old.grantParked() == 0, "what is granted stays granted")
            try await bench.expectClean()
        }
    }
}
