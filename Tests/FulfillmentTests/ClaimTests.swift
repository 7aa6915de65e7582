import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// A receipt holds what an Apple ID bought, whoever played when: what the poster does not claim is nobody's at first.
@Suite("Claiming transactions", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct ClaimTests {
    private let entries = ["t1", "t2", "t3"].map { Bench.entry($0) }

    @Test func `what is not claimed is held for nobody, and does not park the poster's submission`() async throws {
        try await Bench.with { bench in
            let receipt = try await bench.verdict("s1", .genuine(entries), account: "anna", claims: ["t2"])
            try await bench.settle([receipt])
            #expect(try await bench.standing(of: "t1") == "parked unclaimed -")
            #expect(try await bench.standing(of: "t2") == "granted - anna")
            let outcome = try #require(try await bench.outcome("s1"))
            #expect(outcome.state == .fulfilled && outcome.finish && outcome.reason == nil)
            #expect(outcome.transactions.map(\.reason) == [.unclaimed, nil, .unclaimed])
            #expect(try await bench.number("SELECT sum(amount) FROM balances") == 100)
            #expect(bench.published.count(PurchaseEvent.unclaimed) == 2)
            try await bench.expectClean()
        }
    }

    @Test func `a later proof that names it grants it, once, with events and ledger as for a new order`() async throws {
        try await Bench.with { bench in
            try await bench.settle([try await bench.verdict("s1", .genuine(entries), account: "anna", claims: ["t1"])])
            let named = try await bench.verdict("s2", .genuine(entries), account: "ben", claims: ["t3"])
            try await bench.settle([named])
            try await bench.settle([named])
            #expect(try await bench.standing(of: "t3") == "granted - ben")
            #expect(try await bench.column("correlation_id || ' ' || submission_id", of: "t3") == "req_s2 s2")
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            #expect(try await bench.number("SELECT amount FROM balances WHERE account = 'ben'") == 100)
            #expect(try await bench.number("SELECT count(*) FROM ledger_entries WHERE transaction_id = 't3'") == 1)
            #expect(
                try await bench.number(
                    """
                    SELECT count(*) FROM events WHERE transaction_id = 't3' AND account = 'ben' AND sequence = 1
                        AND type = '\(PurchaseEvent.fulfilled)' AND body LIKE '%req_s2%'
                    """) == 1)
            try await bench.expectClean()
        }
    }

    @Test(arguments: [false, true])
    func `in one batch the claim goes first, whatever the order`(isClaimFirst: Bool) async throws {
        try await Bench.with { bench in
            let claim = try await bench.verdict("s1", .genuine(entries), account: "anna", claims: ["t1"])
            let other = try await bench.verdict("s2", .genuine(entries), account: "ben", claims: ["t2"])
            try await bench.settle(isClaimFirst ? [claim, other] : [other, claim])
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(try await bench.standing(of: "t2") == "granted - ben")
            #expect(try await bench.standing(of: "t3") == "parked unclaimed -")
            #expect(try await bench.column("submission_id", of: "t1") == "s1")
            #expect(
                try await bench.outcome("s1")?.transactions.map(\.reason) == [
                    nil, .belongsToAnotherAccount, .unclaimed,
                ])
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
        }
    }

    @Test func `a claim of a product that nobody knows is held for the next doubt`() async throws {
        try await Bench.with { bench in
            let odd = [Bench.entry("t1"), Bench.entry("t2", product: "hat")]
            try await bench.settle([try await bench.verdict("s1", .genuine(odd), account: "anna", claims: ["t1"])])
            try await bench.settle([try await bench.verdict("s2", .genuine(odd), account: "ben", claims: ["t2"])])
            #expect(try await bench.standing(of: "t2") == "parked product_unknown ben")
            #expect(try await bench.outcome("s2")?.reason == .productUnknown)
            #expect(try await bench.outcome("s2")?.finish == true)
            var later = bench
            later.products = Catalogue([
                Bench.app: [Catalogue.Product(id: "hat", type: .consumable, items: [], entitlements: ["hats"])]
            ])
            #expect(try await later.grantParked() == 1)
            #expect(try await bench.standing(of: "t2") == "granted - ben")
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            try await bench.expectClean()
        }
    }

    @Test func `a token that names an account grants it, whoever posts`() async throws {
        try await Bench.with { bench in
            let token = UUID()
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "cleo")
            try await bench.settle([try await bench.verdict("s1", .genuine(entries), account: "anna", claims: ["t1"])])
            let signed = Verdict.genuine([Bench.signed("t2", token: token)])
            try await bench.settle([try await bench.verdict("s2", signed, account: "ben")])
            #expect(try await bench.standing(of: "t2") == "granted - cleo")
            #expect(try await bench.outcome("s2")?.reason == .belongsToAnotherAccount)
            #expect(try await bench.outcome("s2")?.finish == true)
            try await bench.expectClean()
        }
    }

    @Test func `a token of nobody is kept, and no receipt without it gets past it`() async throws {
        try await Bench.with { bench in
            let token = UUID()
            try await bench.settle([try await bench.verdict("s1", .genuine(entries), account: "anna", claims: ["t1"])])
            let signed = Verdict.genuine([Bench.signed("t2", token: token)])
            try await bench.settle([try await bench.verdict("s2", signed, account: "ben")])
            #expect(try await bench.standing(of: "t2") == "parked account_token_unknown -")
            try await bench.settle([try await bench.verdict("s3", .genuine(entries), account: "anna", claims: ["t2"])])
            #expect(try await bench.standing(of: "t2") == "parked account_token_unknown -")
            #expect(try await bench.outcome("s3")?.reason == .accountTokenUnknown)
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "ben")
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "t2") == "granted - ben")
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            #expect(try await bench.outcome("s3")?.reason == .belongsToAnotherAccount)
            try await bench.expectClean()
        }
    }

    @Test func `a registered token is found at once, when it was learnt before its account`() async throws {
        try await Bench.with { bench in
            let token = UUID()
            let signed = Verdict.genuine([Bench.signed("t2", token: token)])
            try await bench.settle([try await bench.verdict("s1", signed, account: "anna")])
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "ben")
            try await bench.settle([try await bench.verdict("s2", .genuine(entries), account: "ben", claims: ["t2"])])
            #expect(try await bench.standing(of: "t2") == "granted - ben")
            #expect(try await bench.outcome("s1")?.reason == .belongsToAnotherAccount)
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
        }
    }

    @Test func `the better statement is kept, and posting again rewrites nothing`() async throws {
        try await Bench.with { bench in
            let receipt = try await bench.verdict("s1", .genuine(entries), account: "anna", claims: ["t1"])
            try await bench.settle([receipt])
            #expect(try await bench.column("product_type", of: "t2") == "unstated")
            let signed = Verdict.genuine([Bench.signed("t2")])
            try await bench.settle([try await bench.verdict("s2", signed, account: "ben", claims: [])])
            #expect(try await bench.standing(of: "t2") == "parked unclaimed -")
            #expect(
                try await bench.column("concat_ws(' ', product_type, price_milliunits, currency)", of: "t2")
                    == "consumable 990 EUR")
            #expect(try await bench.column("transaction ->> 'evidence'", of: "t2") == #"{"transactionId":"t2"}"#)
            let version = try await bench.column("xmin", of: "t2")
            try await bench.settle([receipt])
            try await bench.settle([try await bench.verdict("s3", .genuine(entries), account: "cleo", claims: [])])
            #expect(try await bench.column("xmin", of: "t2") == version, "a receipt knows nothing more")
            try await bench.settle([try await bench.verdict("s4", .genuine(entries), account: "cleo", claims: ["t2"])])
            #expect(try await bench.standing(of: "t2") == "granted - cleo")
            #expect(try await bench.column("price_milliunits", of: "t2") == "990")
            #expect(
                try await bench.number("SELECT count(*) FROM events WHERE transaction_id = 't2' AND body LIKE '%990%'")
                    == 1)
        }
    }

    @Test func `what is granted never changes hands; what waits for another doubt goes where its token says`()
        async throws
    {
        try await Bench.with { bench in
            let token = UUID()
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "cleo")
            let odd = entries + [Bench.entry("t4", product: "hat")]
            try await bench.settle([
                try await bench.verdict("s1", .genuine(odd), account: "anna", claims: ["t1", "t4"])
            ])
            for (id, name) in [("s2", "t1"), ("s3", "t4")] {
                try await bench.settle([try await bench.verdict(id, .genuine(odd), account: "ben", claims: [name])])
                #expect(try await bench.outcome(id)?.reason == .belongsToAnotherAccount)
            }
            let signed = [Bench.signed("t1", token: token), Bench.signed("t4", product: "hat", token: token)]
            try await bench.settle([try await bench.verdict("s4", .genuine(signed), account: "cleo")])
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            // What was not granted yet is whose Apple's data says, whichever statement comes first.
            #expect(try await bench.standing(of: "t4") == "parked product_unknown cleo")
            // A receipt knows of no token, and makes nobody forget it.
            try await bench.settle([try await bench.verdict("s5", .genuine(odd), account: "ben", claims: ["t4"])])
            #expect(try await bench.standing(of: "t4") == "parked product_unknown cleo")
            #expect(try await bench.outcome("s5")?.reason == .belongsToAnotherAccount)
            #expect(try await bench.number("SELECT count(*) FROM balances WHERE account <> 'anna'") == 0)
        }
    }

    @Test func `what Apple took back while it was nobody's grants nothing any more`() async throws {
        try await Bench.with { bench in
            try await bench.settle([try await bench.verdict("s1", .genuine(entries), account: "anna", claims: ["t1"])])
            var taken = Bench.entry("t2")
            taken.revocationDate = Date(timeIntervalSince1970: 1_700_000_400)
            try await bench.settle([try await bench.verdict("s2", .genuine([taken]), account: "ben", claims: [])])
            #expect(try await bench.standing(of: "t2") == "revoked revoked_by_apple -")
            try await bench.settle([try await bench.verdict("s3", .genuine(entries), account: "ben", claims: ["t2"])])
            #expect(try await bench.standing(of: "t2") == "revoked revoked_by_apple ben")
            #expect(try await bench.outcome("s3")?.reason == .revokedByApple)
            #expect(bench.published.count(PurchaseEvent.revoked) == 2, "told again to whose it is")
            #expect(try await bench.number("SELECT count(*) FROM ledger_entries WHERE transaction_id = 't2'") == 0)
            try await bench.expectClean()
        }
    }

    @Test func `an unstated product type takes the catalogue's, a wrong one does not`() async throws {
        try await Bench.with { bench in
            var wrong = Bench.entry("t2", product: "pro")
            wrong.productType = .consumable
            let mixed = Verdict.genuine([Bench.entry("t1", product: "pro"), wrong])
            try await bench.settle([try await bench.verdict("s1", mixed, account: "anna")])
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(try await bench.standing(of: "t2") == "parked product_type_mismatch anna")
            #expect(try await bench.number("SELECT count(*) FROM entitlements WHERE entitlement = 'pro'") == 1)
        }
    }
}
