import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// Whose orders are that wait for something else, too: for their product, for a token, or for nothing any more.
@Suite("Owners of what waits", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct OwnerDoubtTests {
    private func claim(_ id: String, for account: String, _ bench: Bench) async throws {
        _ = try await OperatorClaimStore(pool: bench.pool).claim(
            environment: .production, transactionId: id, account: account, actor: "eve", reason: "ticket 12")
    }

    private func register(_ token: UUID, for account: String, _ bench: Bench) async throws {
        _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: account)
    }

    /// The same, while nobody knows what subscriptions bring.
    private func unknowing(_ bench: Bench) -> Bench {
        var before = bench
        before.products = Bench.catalogue
        return before
    }

    /// A season as a receipt tells of it.
    private func entry(_ number: Int) -> Transaction {
        var entry = Bench.season(number)
        entry.productType = .unstated
        entry.ownership = nil
        entry.priceMilliunits = nil
        entry.currency = nil
        return entry
    }

    private func receipt(
        _ id: String, _ entries: Transaction..., by account: String, claims: [String], _ bench: Bench
    ) async throws {
        try await bench.settle([try await bench.verdict(id, .genuine(entries), account: account, claims: claims)])
    }

    // MARK: An operator's word

    @Test(arguments: [false, true])
    func `an operator's word holds until the product is known, whoever gets the token`(isRegistered: Bool) async throws
    {
        try await Bench.withOwners { bench in
            let token = UUID()
            var hat = Bench.signed("h1", product: "hat", token: token)
            try await bench.post("s1", hat, by: "anna")
            #expect(try await bench.standing(of: "h1") == "parked account_token_unknown -")
            try await claim("h1", for: "ben", bench)
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "h1") == "parked product_unknown ben")
            hat.signedDate += 60
            try await bench.notify("n1", hat)
            #expect(try await bench.standing(of: "h1") == "parked product_unknown ben")
            if isRegistered { try await register(token, for: "cleo", bench) }
            var later = bench
            later.products = Catalogue([
                Bench.app: [Catalogue.Product(id: "hat", type: .consumable, items: [], entitlements: ["hats"])]
            ])
            #expect(try await later.grantParked() == 1)
            #expect(try await later.grantParked() == 0)
            #expect(try await bench.standing(of: "h1") == "granted - ben")
            #expect(try await bench.outcome("s1")?.reason == .belongsToAnotherAccount)
            try await bench.expectClean()
        }
    }

    @Test func `so it does for an older period with another token of nobody`() async throws {
        try await Bench.withOwners { bench in
            var first = Bench.season(1, token: UUID())
            first.productId = "basic"
            try await bench.notify("n1", first)
            try await bench.notify("n2", Bench.season(2, token: UUID()))
            for id in ["v2", "v1"] {
                try await claim(id, for: "ben", bench)
                #expect(try await bench.grantParked() == 1)
            }
            #expect(try await bench.standing(of: "v2") == "granted - ben")
            #expect(try await bench.standing(of: "v1") == "parked product_unknown ben")
            var later = bench
            later.products = Catalogue([
                Bench.app: [Catalogue.Product(id: "basic", type: .autoRenewable, items: [], entitlements: ["basic"])]
            ])
            #expect(try await later.grantParked() == 1)
            #expect(try await bench.standing(of: "v1") == "granted - ben")
            try await bench.expectClean()
        }
    }

    @Test func `an operator's word on what nobody knew to be a lineage is the first of its history`() async throws {
        try await Bench.withOwners { bench in
            let before = unknowing(bench)
            try await receipt("s1", Bench.entry("g1"), entry(1), by: "anna", claims: ["g1"], before)
            try await claim("v1", for: "ben", before)
            #expect(try await before.grantParked() == 1)
            #expect(try await bench.standing(of: "v1") == "parked product_unknown ben")
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "v1") == "granted - ben")
            #expect(try await bench.owner(of: "v1") == "ben operator")
            #expect(try await bench.bindings(of: "v1") == [">ben operator"])
            try await bench.expectClean()
        }
    }

    @Test func `an operator's word on what a receipt says of a known lineage is said of all of it`() async throws {
        try await Bench.withOwners { bench in
            let before = unknowing(bench)
            try await receipt("s1", Bench.entry("g1"), entry(1), by: "anna", claims: ["g1"], before)
            try await before.notify("n1", Bench.season(2))
            try await claim("v1", for: "ben", before)
            #expect(try await before.grantParked() == 1)
            try await before.post("s2", Bench.season(2), by: "cleo")
            #expect(try await bench.standing(of: "v1") == "parked product_unknown ben")
            #expect(try await bench.standing(of: "v2") == "parked product_unknown ben")
            #expect(try await bench.outcome("s2")?.reason == .belongsToAnotherAccount)
            #expect(try await bench.grantParked() == 2)
            #expect(try await bench.inForce() == ["ben vip v1", "ben vip v2"])
            try await bench.expectClean()
        }
    }

    // MARK: Receipts that state no type, of products that nobody knows

    @Test(arguments: [true, false])
    func `what a receipt tells of somebody's subscription is his, in any order`(isOwnerFirst: Bool) async throws {
        try await Bench.withOwners { bench in
            let before = unknowing(bench)
            if isOwnerFirst { try await before.post("s1", Bench.season(2), by: "ben") }
            try await receipt("s2", Bench.entry("g1"), entry(1), by: "anna", claims: ["g1"], before)
            if !isOwnerFirst { try await before.post("s1", Bench.season(2), by: "ben") }
            #expect(try await bench.standing(of: "v1") == "parked product_unknown ben")
            #expect(try await bench.standing(of: "v2") == "parked product_unknown ben")
            #expect(try await bench.owner(of: "v1") == "ben possession")
            #expect(try await bench.grantParked() == 2)
            try await bench.expectClean()
        }
    }

    @Test func `who claims it first keeps it, though its product be unknown`() async throws {
        try await Bench.withOwners { bench in
            let before = unknowing(bench)
            try await before.notify("n1", Bench.season(1))
            try await receipt("s1", entry(1), by: "ben", claims: ["v1"], before)
            try await before.post("s2", Bench.season(1), by: "cleo")
            #expect(try await bench.standing(of: "v1") == "parked product_unknown ben")
            #expect(try await bench.outcome("s1")?.reason == .productUnknown)
            #expect(try await bench.outcome("s2")?.reason == .belongsToAnotherAccount)
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "v1") == "granted - ben")
            try await bench.expectClean()
        }
    }

    @Test(arguments: [true, false])
    func `all of a lineage goes to whom one of it is, in any order`(isReceiptFirst: Bool) async throws {
        try await Bench.withOwners { bench in
            let before = unknowing(bench)
            if !isReceiptFirst { try await before.notify("n1", Bench.season(3)) }
            try await receipt("s1", entry(1), entry(2), by: "anna", claims: ["v1"], before)
            if isReceiptFirst { try await before.notify("n1", Bench.season(3)) }
            for id in ["v1", "v2", "v3"] {
                #expect(try await bench.standing(of: id) == "parked product_unknown anna", "\(id)")
            }
            #expect(try await bench.grantParked() == 3)
            try await bench.expectClean()
        }
    }

    @Test func `a claim and Apple's word of the type in one batch leave what they leave in two`() async throws {
        try await Bench.withOwners { bench in
            let before = unknowing(bench)
            try await before.settle([
                try await bench.verdict("s1", .genuine([entry(1)]), account: "ben"),
                try await bench.notification("n1", [Bench.season(2)]),
            ])
            for id in ["v1", "v2"] {
                #expect(try await bench.standing(of: id) == "parked product_unknown ben", "\(id)")
            }
            #expect(try await bench.grantParked() == 2)
            try await bench.expectClean()
        }
    }

    // MARK: Tokens that another purchase of the batch tells of

    @Test func `a token that was registered since counts for the lineage, though the batch has it elsewhere`()
        async throws
    {
        try await Bench.withOwners { bench in
            let tokens = [UUID(), UUID()]
            try await bench.notify("n2", Bench.season(2, token: tokens[1]))
            try await register(tokens[0], for: "anna", bench)
            try await register(tokens[1], for: "ben", bench)
            try await bench.notify("n1", Bench.season(1, token: tokens[0]), Bench.signed("g1", token: tokens[1]))
            #expect(try await bench.standing(of: "v2") == "parked account_token_unknown -")
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.owner(of: "v1") == "ben token")
            #expect(try await bench.inForce() == ["ben vip v1", "ben vip v2"])
            try await bench.expectClean()
        }
    }

    @Test func `what waits for its token goes on waiting for it, though the batch has it elsewhere`() async throws {
        try await Bench.withOwners { bench in
            let token = UUID()
            try await bench.notify("n1", Bench.season(1, token: token))
            try await register(token, for: "anna", bench)
            let posted = [
                try await bench.verdict("s1", .genuine([entry(1)]), account: "ben"),
                try await bench.verdict("s2", .genuine([Bench.signed("g1", token: token)]), account: "anna"),
            ]
            try await bench.settle(posted)
            #expect(try await bench.standing(of: "v1") == "parked account_token_unknown -")
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "v1") == "granted - anna")
            #expect(try await bench.outcome("s1")?.reason == .belongsToAnotherAccount)
            try await bench.expectClean()
        }
    }

    // MARK: What was taken back with a token of nobody

    private func takenBack(_ transaction: Transaction) -> Transaction {
        var taken = transaction
        taken.revocationDate = Bench.day(3)
        taken.revocationType = "REFUND_FULL"
        taken.revocationPercentage = 100_000
        taken.signedDate = Bench.day(3)
        return taken
    }

    @Test(arguments: [true, false])
    func `what was taken back with a token of nobody is nobody's, in any order`(isTakenFirst: Bool) async throws {
        try await Bench.withOwners { bench in
            let taken = takenBack(Bench.season(1, token: UUID()))
            if isTakenFirst { try await bench.notify("n1", taken) }
            try await bench.post("s1", Bench.season(2), by: "anna")
            if !isTakenFirst { try await bench.notify("n1", taken) }
            #expect(try await bench.standing(of: "v1") == "revoked revoked_by_apple -")
            #expect(try await bench.standing(of: "v2") == "granted - anna")
            try await bench.expectClean()
        }
    }

    @Test(arguments: [true, false])
    func `when its lineage learns the token, it is the owner's, in any order`(isTakenFirst: Bool) async throws {
        try await Bench.withOwners { bench in
            let token = UUID()
            let taken = takenBack(Bench.season(2, token: token))
            try await receipt("s1", entry(1), by: "anna", claims: ["v1"], bench)
            if isTakenFirst { try await bench.notify("n1", taken) }
            try await register(token, for: "anna", bench)
            try await bench.notify("n2", Bench.season(1, token: token))
            if !isTakenFirst { try await bench.notify("n1", taken) }
            #expect(try await bench.standing(of: "v2") == "revoked revoked_by_apple anna")
            #expect(try await bench.bindings(of: "v1") == [">anna possession s1"])
            try await bench.expectClean()
        }
    }

    @Test func `no possession gets past it, and when Apple gives it back it goes to whom the token means`() async throws
    {
        try await Bench.withOwners { bench in
            let token = UUID()
            try await bench.notify("n1", takenBack(Bench.season(1, token: token)))
            try await receipt("s1", entry(1), by: "ben", claims: ["v1"], bench)
            #expect(try await bench.owner(of: "v1") == "-")
            try await register(token, for: "cleo", bench)
            try await receipt("s2", entry(1), by: "ben", claims: ["v1"], bench)
            #expect(try await bench.owner(of: "v1") == "-")
            try await bench.notify("n2", Bench.season(1, token: token, signed: 10))
            #expect(try await bench.standing(of: "v1") == "granted - cleo")
            #expect(try await bench.bindings(of: "v1") == [">cleo token n2"])
            try await bench.expectClean()
        }
    }
}
