import EventProcessing
import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import Fulfillment

/// Parked orders are looked at when their token is registered, and only then.
@Suite("Requests to release orders", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct ReleaseRequestTests {
    /// Whoever records an order waits here, when it has read the tokens and the catalogue.
    private static let beforeOrdersAreWritten = "LOCK TABLE orders IN SHARE MODE"

    private func requests(_ bench: Bench) async throws -> Int64 {
        try await bench.number("SELECT count(*) FROM release_requests")
    }

    private func register(_ token: UUID, _ account: String, _ bench: Bench) async throws {
        _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: account)
    }

    private func park(_ id: String, _ token: UUID, _ bench: Bench) async throws {
        try await bench.notify("n\(id)", Bench.signed(id, token: token))
        #expect(try await bench.standing(of: id) == "parked account_token_unknown -")
    }

    @Test func `a registered token releases its orders once, and nothing is left to look at`() async throws {
        try await Bench.with { bench in
            let token = UUID()
            try await park("t1", token, bench)
            #expect(try await requests(bench) == 1, "who parks asks, too")
            #expect(try await bench.releaseRequested.look(limit: 100).count == 0)
            #expect(try await requests(bench) == 0)
            try await register(token, "anna", bench)
            #expect(try await requests(bench) == 1)
            #expect(try await bench.releaseRequested.look(limit: 100).count == 1)
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(try await requests(bench) == 0)
            try await register(token, "anna", bench)
            #expect(try await requests(bench) == 0, "what is registered already is no news")
            try await bench.expectClean()
        }
    }

    @Test func `a token that is registered between the decision and the commit releases the order`() async throws {
        try await Bench.with { bench in
            let token = UUID()
            let verdict = try await bench.notification("n1", [Bench.signed("t1", token: token)])
            try await bench.meanwhile(at: Self.beforeOrdersAreWritten) {
                try await bench.settle([verdict])
            } _: {
                try await register(token, "anna", bench)
                #expect(try await requests(bench) == 1)
                #expect(try await bench.releaseRequested.look(limit: 100).count == 0, "nothing is parked yet")
                #expect(try await requests(bench) == 0)
            }
            #expect(try await bench.standing(of: "t1") == "parked account_token_unknown -")
            #expect(try await bench.releaseRequested.look(limit: 100).count == 1)
            #expect(try await bench.standing(of: "t1") == "granted - anna")
        }
    }

    @Test func `a token whose registration is committed after the order was parked and looked at releases it`()
        async throws
    {
        try await Bench.with { bench in
            let token = UUID()
            try await bench.pool.withTransaction { connection in
                _ = try await connection.query(
                    "INSERT INTO account_tokens (app, token, account) VALUES ($1, $2, 'anna')",
                    [.text(Bench.app), .uuid(token)])
                try await park("t1", token, bench)
                #expect(try await bench.releaseRequested.look(limit: 100).count == 0)
                #expect(try await requests(bench) == 0)
            }
            #expect(try await bench.releaseRequested.look(limit: 100).count == 1)
            #expect(try await bench.standing(of: "t1") == "granted - anna")
        }
    }

    @Test func `what Apple took back of nobody's token asks for its payer, too`() async throws {
        try await Bench.with { bench in
            let token = UUID()
            var refunded = Bench.signed("t1", token: token)
            refunded.revocationDate = refunded.signedDate
            let verdict = try await bench.notification("n1", [refunded])
            try await bench.meanwhile(at: Self.beforeOrdersAreWritten) {
                try await bench.settle([verdict])
            } _: {
                try await register(token, "anna", bench)
                #expect(try await bench.releaseRequested.look(limit: 100).count == 0)
            }
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple -")
            #expect(try await bench.releaseRequested.look(limit: 100).count == 1)
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple anna")
        }
    }

    @Test func `any writer of tokens asks, by the rights of the owner, which nobody else can have it misuse`()
        async throws
    {
        try await Bench.with { bench in
            let token = UUID()
            try await park("t1", token, bench)
            _ = try await bench.releaseRequested.look(limit: 100)
            // By hand, past every store.
            _ = try await bench.pool.query(
                "INSERT INTO account_tokens (app, token, account) VALUES ($1, $2, 'anna') ON CONFLICT DO NOTHING",
                [.text(Bench.app), .uuid(token)])
            #expect(
                try await bench.answers(
                    "SELECT prosecdef || ' ' || array_to_string(proconfig, ' ') FROM pg_proc WHERE proname = 'request_release'"
                )
                    == ["true search_path=pg_catalog, pg_temp"])
            #expect(try await bench.releaseRequested.look(limit: 100).count == 1)
            #expect(try await bench.standing(of: "t1") == "granted - anna")
        }
    }

    @Test func `an intent asks for nothing, since nobody can have bought with its token`() async throws {
        try await Bench.with { bench in
            let opened = try await IntentStore(pool: bench.pool).open(
                UUID(), app: Bench.app, account: "anna", productId: "gems.100", limit: 10)
            guard case .opened(let intent) = opened else {
                Issue.record("\(opened)")
                return
            }
            #expect(try await requests(bench) == 0)
            try await bench.notify("n1", Bench.signed("t1", token: intent.id))
            #expect(try await bench.standing(of: "t1") == "granted - anna")
        }
    }

    @Test func `a process that dies in the middle leaves the request to the next, and who has it is passed over`()
        async throws
    {
        try await Bench.with { bench in
            let token = UUID()
            try await park("t1", token, bench)
            try await register(token, "anna", bench)
            struct Death: Error {}
            await #expect(throws: Death.self) {
                try await bench.pool.withTransaction { connection in
                    let taken = try await ReleaseRequestStore.take(limit: 100, on: connection)
                    #expect(taken.count == 2)
                    let found = try await OrderStore.candidates(of: taken, limit: 20, on: connection)
                    #expect(Set(found.candidates.map(\.key.transactionId)) == ["t1"])
                    let catalogue = try await bench.releaseOrders().catalogues.current()
                    let released = try await bench.releaseOrders().release(
                        [found.candidates[0]], by: catalogue, on: connection)
                    #expect(released.count == 1)
                    #expect(try await bench.releaseRequested.look(limit: 100).count == 0)
                    throw Death()
                }
            }
            #expect(try await requests(bench) == 2)
            #expect(try await bench.standing(of: "t1") == "parked account_token_unknown -")
            #expect(try await bench.releaseRequested.look(limit: 100).count == 1)
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(try await bench.gems(of: "anna") == 100)
        }
    }

    @Test func `a token of very many orders releases all, some in each commit`() async throws {
        try await Bench.with { bench in
            let (token, count) = (UUID(), ReleaseRequested.ordersPerRequest * 3)
            let orders = (0..<count).map { Bench.signed("t\($0)", token: token) }
            try await bench.settle([try await bench.notification("n", orders)])
            try await register(token, "anna", bench)
            #expect(try await bench.releaseRequested.look(limit: 100).count == count)
            #expect(try await bench.gems(of: "anna") == Int64(count) * 100)
            #expect(try await requests(bench) == 0)
            try await bench.expectClean()
        }
    }

    @Test func `an order that somebody else holds locked is looked at again`() async throws {
        try await Bench.with { bench in
            let token = UUID()
            try await park("t1", token, bench)
            _ = try await bench.releaseRequested.look(limit: 100)
            try await register(token, "anna", bench)
            try await bench.pool.withTransaction { connection in
                _ = try await connection.query("SELECT FROM orders WHERE transaction_id = 't1' FOR UPDATE")
                #expect(try await bench.releaseRequested.look(limit: 100).count == 0)
            }
            #expect(
                try await bench.number("SELECT count(*) FROM release_requests WHERE due_at > now()") == 1,
                "not at once, lest it be looked at without end")
            _ = try await bench.pool.query("UPDATE release_requests SET due_at = now()")
            #expect(try await bench.releaseRequested.look(limit: 100).count == 1)
            #expect(try await requests(bench) == 0)
        }
    }

    @Test func `an order that somebody else holds locked holds up no other token's`() async throws {
        try await Bench.with { bench in
            let tokens = [UUID(), UUID()]
            for (place, token) in tokens.enumerated() { try await park("t\(place)", token, bench) }
            _ = try await bench.releaseRequested.look(limit: 100)
            for token in tokens { try await register(token, "anna", bench) }
            try await bench.pool.withTransaction { connection in
                _ = try await connection.query("SELECT FROM orders WHERE transaction_id = 't0' FOR UPDATE")
                #expect(try await bench.releaseRequested.look(limit: 100).count == 1)
            }
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(
                try await bench.answers("SELECT token FROM release_requests") == [tokens[0].uuidString.lowercased()])
        }
    }

    @Test func `a batch that was decided by the catalogue before, and committed after the round, is looked at again`()
        async throws
    {
        try await Bench.with { bench in
            let store = CatalogueStore(pool: bench.pool)
            let catalogues = CurrentCatalogue(CatalogueFile.Loaded(catalogue: Bench.catalogue, text: "before")) {
                try await store.version(of: $0)
            }
            let doubtful = DoubtfulProducts()
            let round = ReleaseByCatalogue(orders: bench.releaseOrders(catalogues, doubtful: doubtful))
            #expect(try await round.look(limit: 100).count == 0)
            let hat = Catalogue([
                Bench.app: [Catalogue.Product(id: "hat", type: .consumable, items: [], entitlements: ["hat"])]
            ])
            let verdict = try await bench.verdict("s1", .genuine([Bench.signed("t1", product: "hat")]))
            try await bench.meanwhile(at: Self.beforeOrdersAreWritten) {
                try await bench.settle([verdict], by: catalogues, doubtful: doubtful)
            } _: {
                _ = try await catalogues.replace(with: CatalogueFile.Loaded(catalogue: hat, text: "after"))
                #expect(try await round.look(limit: 100).count == 0)
            }
            #expect(try await bench.standing(of: "t1") == "parked product_unknown player")
            #expect(try await round.look(limit: 100).count == 1)
            #expect(try await bench.standing(of: "t1") == "granted - player")
            #expect(try await round.look(limit: 100).count == 0)
        }
    }

    @Test func `a round goes through many orders, some in each commit, and begins anew with another catalogue`()
        async throws
    {
        try await Bench.with { bench in
            let sold = (0..<25).map { Bench.signed("t\($0)", product: "hat") }
            try await bench.settle([try await bench.verdict("s1", .genuine(sold))])
            let store = CatalogueStore(pool: bench.pool)
            let catalogues = CurrentCatalogue(CatalogueFile.Loaded(catalogue: Bench.catalogue, text: "0")) {
                try await store.version(of: $0)
            }
            let round = ReleaseByCatalogue(orders: bench.releaseOrders(catalogues))
            func sell(_ type: ProductType, _ text: String) async throws {
                let product = Catalogue.Product(id: "hat", type: type, items: [], entitlements: ["hat"])
                _ = try await catalogues.replace(
                    with: CatalogueFile.Loaded(catalogue: Catalogue([Bench.app: [product]]), text: text))
            }
            #expect(try await round.look(limit: 10).count == 0)
            try await sell(.nonConsumable, "1")
            #expect(try await round.look(limit: 1).count == ReleaseByCatalogue.commitsPerLook)
            #expect(
                try await bench.number("SELECT count(*) FROM orders WHERE reason = 'product_type_mismatch'")
                    == ReleaseByCatalogue.commitsPerLook)
            try await sell(.consumable, "2")
            #expect(try await round.look(limit: 10).count == 25)
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == 25)
        }
    }

    @Test func `what nobody told of is found in the end, some orders at a time`() async throws {
        try await Bench.with { bench in
            let tokens = [UUID(), UUID(), UUID()]
            for (place, token) in tokens.enumerated() { try await park("t\(place)", token, bench) }
            for id in ["t8", "t9"] {
                try await bench.settle([try await bench.verdict(id, .genuine([Bench.signed(id, product: "hat")]))])
            }
            for token in tokens { try await register(token, "anna", bench) }
            _ = try await bench.pool.query("DELETE FROM release_requests")
            var other = bench
            other.products = Catalogue([
                Bench.app: [
                    Catalogue.Product(id: "hat", type: .consumable, items: [], entitlements: ["hat"]),
                    Catalogue.Product(id: "gems.100", type: .consumable, items: [], entitlements: ["gems"]),
                ]
            ])
            let (doubtful, catalogues) = (DoubtfulProducts(), other.releaseOrders().catalogues)
            // Its round was over when another process parked these.
            _ = doubtful.begin(try await catalogues.current())
            let round = ReleaseByCatalogue(orders: other.releaseOrders(catalogues, doubtful: doubtful))
            #expect(try await round.look(limit: 100).count == 0)
            let overlooked = OverlookedOrders(pool: bench.pool, catalogues: catalogues, doubtful: doubtful)
            var looks = 0
            while try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") < 5, looks < 20 {
                try await overlooked.look(limit: 1)
                looks += 1
                #expect(try await requests(bench) <= 1)
                _ = try await other.releaseRequested.look(limit: 100)
                _ = try await round.look(limit: 100)
            }
            #expect(looks < 20)
            try await overlooked.look(limit: 100)
            #expect(try await requests(bench) == 0, "nothing is left")
        }
    }
}
