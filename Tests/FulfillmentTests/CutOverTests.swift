import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// What an older system granted, before a cut-over: recorded, known, and not granted a second time.
@Suite("Cut-overs", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct CutOverTests {
    private static let vip = "vip.month"
    private static let products = Catalogue([
        Bench.app: [
            Catalogue.Product(
                id: "gems.100", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 100)],
                entitlements: []),
            Catalogue.Product(id: "pro", type: .nonConsumable, items: [], entitlements: ["pro"]),
            Catalogue.Product(
                id: vip, type: .autoRenewable, items: [Catalogue.ItemGrant(item: "gem", amount: 50)],
                entitlements: ["vip"], restore: RestoreRule(policy: .transfer)),
            Catalogue.Product(
                id: "season", type: .nonRenewing, items: [], entitlements: ["arena"],
                duration: ProductDuration("P30D")),
        ]
    ])

    private func with(_ body: (SubscriptionBench) async throws -> Void) async throws {
        try await SubscriptionBench.with { subscriptions in
            var subscriptions = subscriptions
            subscriptions.bench.products = Self.products
            try await body(subscriptions)
        }
    }

    private static func day(_ number: Double) -> Date { SubscriptionBench.day(number) }

    private static func period(_ number: Int) -> Transaction {
        SubscriptionBench.period(
            "p\(number)", from: Double(number) * 30, to: Double(number + 1) * 30, product: vip, lineage: "p0")
    }

    private func cut(
        _ bench: Bench, at date: Date?, product: String = "", _ environment: StoreEnvironment = .production,
        isAnnounced: Bool = false
    ) async throws {
        let set = try await CutOverStore(pool: bench.pool).set(
            CutOver(date: date, isAnnounced: isAnnounced),
            for: CutOvers.Key(environment: environment, app: Bench.app, productId: product), actor: "ada",
            reason: "a test")
        #expect(set != nil)
    }

    /// A verdict on what an import posted for an account, or for nobody.
    private func imported(_ bench: Bench, _ transaction: Transaction, account: String) async throws -> VerdictMessage {
        let id = "sub_import_\(transaction.transactionId)_\(account)"
        let message = SubmissionMessage(
            submissionId: id, app: Bench.app, account: account, kind: .transactionId, proof: transaction.transactionId,
            attempt: 0, correlationId: "import-1-1")
        _ = try await SubmissionStore(pool: bench.pool).accept(
            [
                SubmissionStore.NewSubmission(
                    message: message, partitionKey: transaction.transactionId, isServer: !account.isEmpty,
                    isImported: true)
            ], lease: .seconds(30))
        return VerdictMessage(
            submissionId: id, app: Bench.app, account: account, correlationId: "import-1-1", attempt: 0,
            verdict: .genuine([transaction]), claims: Claims(ids: nil, areUnproven: true))
    }

    private func elsewhere(_ bench: Bench) async throws -> Int64 {
        try await bench.number("SELECT count(*) FROM orders WHERE granted_elsewhere AND state = 'granted'")
    }

    private func gems(_ bench: Bench) async throws -> Int64 {
        try await bench.number("SELECT coalesce(sum(amount), 0) FROM ledger_entries WHERE item = 'gem'")
    }

    private func events(_ bench: Bench) async throws -> Int64 {
        try await bench.number("SELECT count(*) FROM events")
    }

    // MARK: - Subscriptions

    @Test func `two years of a subscription bring nothing, and its next renewal is granted`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            subscriptions.on(715)
            try await cut(bench, at: Self.day(715))
            try await subscriptions.post((0..<24).map(Self.period))
            #expect(try await elsewhere(bench) == 24)
            #expect(try await gems(bench) == 0)
            #expect(try await events(bench) == 0)
            #expect(try await subscriptions.standing("p0")?.state == .active)
            #expect(try await subscriptions.entitlements().count == 24)
            #expect(try await subscriptions.entitlements().contains("p23 player 720 -"))
            try await subscriptions.endEntitlements.look()
            #expect(try await events(bench) == 0)

            subscriptions.on(720.5)
            try await subscriptions.post([Self.period(24)])
            #expect(try await gems(bench) == 50)
            #expect(try await subscriptions.events(like: "iap.%") == ["fulfilled", "renewed"])
            #expect(try await subscriptions.event(PurchaseEvent.fulfilled)?.data.grantedElsewhere == nil)
            // The player's app posts the old receipt once more.
            try await subscriptions.post((0..<25).map(Self.period))
            #expect(try await gems(bench) == 50)
            #expect(try await events(bench) == 2)
            try await bench.expectClean()
        }
    }

    @Test func `periods may come in any order, and beside the renewal`() async throws {
        for seed in 0..<4 {
            try await with { subscriptions in
                let bench = subscriptions.bench
                subscriptions.on(185)
                try await cut(bench, at: Self.day(180))
                var numbers = Array(0..<7)
                for place in numbers.indices.dropFirst() {
                    numbers.swapAt(place, (place * 7 + seed * 5) % (place + 1))
                }
                for number in numbers { try await subscriptions.post([Self.period(number)]) }
                #expect(try await elsewhere(bench) == 6, "\(numbers)")
                #expect(try await gems(bench) == 50)
                #expect(try await subscriptions.standing("p0")?.transactionId == "p6")
                let told = try await subscriptions.events(like: "iap.%")
                #expect(told.contains("fulfilled") && told.count == 2, "\(numbers): \(told)")
                try await bench.expectClean()
            }
        }
    }

    @Test func `the end of what was imported is told when it comes`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            subscriptions.on(10)
            try await cut(bench, at: Self.day(10))
            try await subscriptions.post([Self.period(0)])
            #expect(try await events(bench) == 0)
            subscriptions.on(31)
            try await subscriptions.endSubscriptions.look()
            #expect(try await subscriptions.events() == ["expired"])
            try await bench.expectClean()
        }
    }

    // MARK: - The date

    @Test func `it is the millisecond of the purchase that counts`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            let date = Date(timeIntervalSince1970: 1_700_000_000.5)
            try await cut(bench, at: date)
            for (id, offset) in [("before", -0.001), ("at", 0), ("after", 0.001)] {
                var transaction = Bench.signed(id)
                transaction.purchaseDate = date + offset
                try await subscriptions.post([transaction])
            }
            #expect(try await bench.column("granted_elsewhere", of: "before") == "true")
            #expect(try await bench.column("granted_elsewhere", of: "at") == "false")
            #expect(try await bench.column("granted_elsewhere", of: "after") == "false")
            #expect(try await gems(bench) == 200)
            try await bench.expectClean()
        }
    }

    @Test func `a product may have its own, the sandbox has its own, and another app has none`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            try await cut(bench, at: nil)
            try await cut(bench, at: Self.day(-1), product: "gems.100")
            try await subscriptions.post([Bench.signed("gems"), Bench.signed("pro", product: "pro")])
            try await subscriptions.post([Bench.signed("tested", product: "pro", environment: .sandbox)])
            #expect(try await bench.column("granted_elsewhere", of: "gems") == "false")
            #expect(try await bench.column("granted_elsewhere", of: "pro") == "true")
            #expect(try await bench.column("granted_elsewhere", of: "tested", .sandbox) == "false")
            #expect(try await gems(bench) == 100)
            try await bench.expectClean()
        }
    }

    @Test func `a restored copy of a non-consumable was bought when its first was`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            try await cut(bench, at: Self.day(10))
            var restored = Bench.signed("copy", product: "pro")
            restored.originalTransactionId = "first"
            restored.originalPurchaseDate = Self.day(1)
            restored.purchaseDate = Self.day(20)
            try await subscriptions.post([restored])
            #expect(try await bench.column("granted_elsewhere", of: "copy") == "true")
            var gems = Bench.signed("gems")
            gems.purchaseDate = Self.day(20)
            gems.originalPurchaseDate = Self.day(1)
            try await subscriptions.post([gems])
            #expect(try await bench.column("granted_elsewhere", of: "gems") == "false")
            try await bench.expectClean()
        }
    }

    @Test func `what is set counts from the next commit on, and says what it does not change`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            try await subscriptions.post([Bench.signed("one")])
            let key = CutOvers.Key(environment: .production, app: Bench.app, productId: "")
            let store = CutOverStore(pool: bench.pool)
            let open = try await store.set(
                CutOver(date: nil, isAnnounced: false), for: key, actor: "ada", reason: "the older one is at work")
            #expect(open?.recorded.grantedHere == 1 && open?.recorded.grantedElsewhere == 0)
            try await subscriptions.post([Bench.signed("two")])
            let past = try await store.set(
                CutOver(date: Self.day(-1), isAnnounced: false), for: key, actor: "ada", reason: "over")
            #expect(past?.recorded.grantedHere == 0 && past?.recorded.grantedElsewhere == 1)
            #expect(try await bench.column("granted_elsewhere", of: "two") == "true")
            #expect(try await gems(bench) == 100)
            #expect(try await bench.number("SELECT count(*) FROM audit_log WHERE action = 'set_cut_over'") == 2)
            try await bench.expectClean()
        }
    }

    // MARK: - Refunds

    @Test func `a refund of what the older system granted takes entitlements, and tells of it`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            try await cut(bench, at: Self.day(5))
            let bought = [Bench.signed("gems"), Bench.signed("pro", product: "pro")]
            try await subscriptions.post(bought)
            // The player has gems of the same item that were granted here.
            var later = Bench.signed("later")
            later.purchaseDate = Self.day(6)
            try await subscriptions.post([later])
            func signedAgain(_ transaction: Transaction, day: Double, revoked: Bool) -> Transaction {
                var again = transaction
                again.signedDate = Self.day(day)
                again.revocationDate = revoked ? Self.day(day) : nil
                return again
            }
            try await subscriptions.post(bought.map { signedAgain($0, day: 7, revoked: true) })
            #expect(try await bench.standing(of: "gems") == "revoked revoked_by_apple player")
            #expect(try await gems(bench) == 100)
            #expect(try await subscriptions.events(like: "iap.refund.%") == ["granted", "granted"])
            let refund = try #require(try await subscriptions.event(PurchaseEvent.refundGranted))
            #expect(refund.data.grantedElsewhere == true && refund.data.entries.isEmpty)
            #expect(try await subscriptions.entitlements() == ["pro player - refund"])
            try await bench.expectClean()

            try await subscriptions.post(bought.map { signedAgain($0, day: 8, revoked: false).fromServer })
            #expect(try await bench.standing(of: "gems") == "granted - player")
            #expect(try await gems(bench) == 100)
            #expect(try await subscriptions.entitlements() == ["pro player - -"])
            #expect(try await subscriptions.event(PurchaseEvent.refundReversed)?.data.grantedElsewhere == true)
            try await bench.expectClean()
        }
    }

    @Test func `of a refund of what nobody imported is told, unless it came before the cut-over`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            try await cut(bench, at: Self.day(5))
            for (id, day) in [("early", 4.0), ("late", 6.0)] {
                var refunded = Bench.signed(id)
                refunded.revocationDate = Self.day(day)
                refunded.signedDate = Self.day(day)
                try await subscriptions.post([refunded])
                #expect(try await bench.standing(of: id) == "revoked revoked_by_apple player")
            }
            #expect(try await subscriptions.events(like: "iap.%") == ["revoked"])
            #expect(try await subscriptions.event(PurchaseEvent.revoked)?.data.transaction?.transactionId == "late")
            var reversed = Bench.signed("late")
            reversed.signedDate = Self.day(9)
            try await subscriptions.post([reversed])
            #expect(try await bench.standing(of: "late") == "granted - player")
            #expect(try await gems(bench) == 0)
            #expect(try await subscriptions.event(PurchaseEvent.fulfilled)?.data.grantedElsewhere == true)
            try await bench.expectClean()
        }
    }

    // MARK: - Events, products, owners

    @Test func `events tell of it where that is asked for`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            subscriptions.on(10)
            try await cut(bench, at: Self.day(10), isAnnounced: true)
            try await subscriptions.post([Self.period(0)])
            #expect(try await subscriptions.events(like: "iap.%") == ["fulfilled", "started"])
            let event = try #require(try await subscriptions.event(PurchaseEvent.fulfilled))
            #expect(event.data.grantedElsewhere == true && event.data.entries.isEmpty)
            #expect(event.data.entitlements == ["vip"])
            #expect(try await gems(bench) == 0)
            try await bench.expectClean()
        }
    }

    @Test func `a product that is sold no more waits only where it can still be used`() async throws {
        try await with { subscriptions in
            var bench = subscriptions.bench
            try await cut(bench, at: Self.day(40))
            func old(_ id: String, _ type: ProductType, expires: Double? = nil) -> Transaction {
                var transaction = Bench.signed(id, product: "old.\(id)")
                transaction.productType = type
                transaction.expiresDate = expires.map(Self.day)
                return transaction
            }
            try await subscriptions.post([
                old("used", .consumable), old("over", .autoRenewable, expires: 40),
                old("runs", .autoRenewable, expires: 41), old("ever", .nonConsumable),
            ])
            #expect(try await bench.standing(of: "used") == "granted - player")
            #expect(try await bench.standing(of: "over") == "granted - player")
            #expect(try await bench.standing(of: "runs") == "parked product_unknown player")
            #expect(try await bench.standing(of: "ever") == "parked product_unknown player")
            bench.products = Catalogue([
                Bench.app: [
                    Catalogue.Product(id: "old.ever", type: .nonConsumable, items: [], entitlements: ["ads_off"])
                ]
            ])
            _ = try await bench.grantParked()
            #expect(try await bench.standing(of: "ever") == "granted - player")
            #expect(try await subscriptions.entitlements() == ["ever player - -"])
            #expect(try await events(bench) == 0)
            try await bench.expectClean()
        }
    }

    @Test func `what an import brings for nobody is whose app posts it, and is not granted again`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            try await cut(bench, at: Self.day(5))
            let transaction = Bench.signed("pro", product: "pro")
            try await bench.settle([try await imported(bench, transaction, account: "")])
            #expect(try await bench.standing(of: "pro") == "parked unclaimed -")
            try await subscriptions.post([transaction], account: "alice")
            #expect(try await bench.standing(of: "pro") == "granted - alice")
            #expect(try await elsewhere(bench) == 1)
            #expect(try await events(bench) == 0)
            try await bench.expectClean()
        }
    }

    @Test func `an import takes nothing from anybody, and a post still may`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            subscriptions.on(10)
            try await cut(bench, at: Self.day(5))
            try await bench.settle([try await imported(bench, Self.period(0), account: "alice")])
            #expect(try await bench.standing(of: "p0") == "granted - alice")
            try await bench.settle([try await imported(bench, Self.period(0), account: "bob")])
            #expect(try await bench.standing(of: "p0") == "granted - alice")
            let refused = try await bench.outcome("sub_import_p0_bob")
            #expect(refused?.reason == .belongsToAnotherAccount)
            // Bob restores it, as the product's rule lets him, with what Apple signed later.
            var restored = Self.period(0)
            restored.signedDate = Self.day(9)
            try await subscriptions.post([restored], account: "bob")
            #expect(try await bench.standing(of: "p0") == "granted - bob")
            try await bench.expectClean()
        }
    }

    @Test func `an import beside posts of the same purchases records each once`() async throws {
        try await with { subscriptions in
            let bench = subscriptions.bench
            try await cut(bench, at: Self.day(5))
            let transactions = (0..<40).map { Bench.signed("t\($0)") }
            var imports: [VerdictMessage] = []
            var posts: [VerdictMessage] = []
            for transaction in transactions {
                imports.append(try await imported(bench, transaction, account: "player"))
                posts.append(try await subscriptions.verdict([transaction]))
            }
            let (first, second) = (imports, Array(posts.reversed()))
            async let one: Void = bench.settle(first)
            async let two: Void = bench.settle(second)
            _ = try await (one, two)
            #expect(try await elsewhere(bench) == 40)
            #expect(try await bench.number("SELECT count(*) FROM orders") == 40)
            #expect(try await gems(bench) == 0)
            #expect(try await bench.number("SELECT count(*) FROM submissions WHERE state = 'fulfilled'") == 80)
            try await bench.expectClean()
        }
    }
}
