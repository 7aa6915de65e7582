import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

@testable import Fulfillment

private typealias Sub = SubscriptionBench

/// Lives of purchases in which every type of event comes about once at least: what the published examples are made of.
struct GoldenScenes {
    let bench: SubscriptionBench

    static let catalogue = Catalogue([
        Bench.app: [
            Catalogue.Product(
                id: "gems.100", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 100)],
                entitlements: []),
            Catalogue.Product(id: "pro", type: .nonConsumable, items: [], entitlements: ["pro"]),
            Catalogue.Product(
                id: "castle", type: .nonConsumable, items: [], entitlements: ["castle"],
                restore: RestoreRule(policy: .transfer, transfersMaximum: 10)),
            Catalogue.Product(
                id: "arena", type: .nonConsumable, items: [], entitlements: ["arena"],
                restore: RestoreRule(policy: .share, transfersMaximum: 10)),
            Catalogue.Product(
                id: "season", type: .nonRenewing, items: [], entitlements: ["season"],
                duration: ProductDuration("P30D")),
        ]
            + ["vip.monthly", "vip.lite", "vip.premium"].map { id in
                Catalogue.Product(id: id, type: .autoRenewable, items: [], entitlements: [id])
            }
    ])

    /// The appAccountToken that anna's app had set.
    private static let token = UUID(uuidString: "7e3fb204-2f7e-4c58-b5d1-9f6f0c1a2b3c")

    /// Plays all of them.
    ///
    /// - Throws: `PostgresError`.
    func play() async throws {
        try await purchases()
        try await takenBack()
        try await owners()
        try await byTheClock()
        try await failures()
        try await subscription()
    }

    /// What Apple signs of a purchase, in full.
    private func bought(
        _ number: Int, _ product: String, _ type: ProductType, _ change: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var transaction = Bench.signed("20000000000000\(number)", product: product)
        transaction.productType = type
        transaction.originalPurchaseDate = transaction.purchaseDate
        transaction.transactionReason = "PURCHASE"
        transaction.appTransactionId = "704240000000000001"
        change(&transaction)
        return transaction
    }

    private func refunded(_ transaction: Transaction) -> Transaction {
        var transaction = transaction
        transaction.revocationDate = Sub.day(0.5)
        transaction.revocationReason = 0
        transaction.revocationType = "REFUND_FULL"
        transaction.revocationPercentage = 100_000
        transaction.signedDate = Sub.day(0.6)
        return transaction
    }

    private func purchases() async throws {
        bench.on(1)
        if let token = Self.token {
            _ = try await AccountTokenStore(pool: bench.bench.pool).register(
                app: Bench.app, token: token, account: "player-1")
        }
        try await bench.post(
            [bought(10, "gems.100", .consumable) { $0.appAccountToken = Self.token }], account: "player-1")
        try await bench.post([bought(11, "skins.7", .consumable)], account: "player-1")
        try await bench.post([refunded(bought(12, "gems.100", .consumable))], account: "player-1")
        let found = bought(13, "pro", .nonConsumable) { $0.appAccountToken = Self.token }
        let verdict = try await bench.verdict([found], account: "")
        _ = try await bench.bench.pool.query(
            """
            INSERT INTO recoveries (app, environment, finding, submission_id, source, cause, transaction_id)
            VALUES ($1, 'production', 'found', $2, 'history', 'intent', $3)
            """, [.text(Bench.app), .text(verdict.submissionId), .text(found.transactionId)])
        try await bench.bench.settle([verdict])
        _ = try await LedgerStore.adjust(
            environment: .production, app: Bench.app, account: Account(stored: "player-1"),
            items: [Catalogue.ItemGrant(item: "gem", amount: 50)], actor: "ada", reason: "a gift",
            pool: bench.bench.pool)
        _ = try await LedgerStore.adjust(
            environment: .production, app: Bench.app, account: Account(stored: "tester"), items: [],
            entitling: .init(given: [.init(entitlement: "beta", expiresAt: nil)]), actor: "ada", reason: "a gift",
            pool: bench.bench.pool)
    }

    private func takenBack() async throws {
        let gems = bought(20, "gems.100", .consumable) { $0.appAccountToken = Self.token }
        try await bench.post([gems], account: "player-1")
        try await bench.bench.notify(refunded(gems))
        var again = gems
        again.signedDate = Sub.day(0.7)
        again.refundReversedDate = Sub.day(0.7)
        try await bench.bench.notify(again)
        var copy = bought(21, "pro", .nonConsumable) {
            $0.ownership = "FAMILY_SHARED"
            ($0.priceMilliunits, $0.currency) = (nil, nil)
        }
        try await bench.post([copy], account: "player-2")
        copy.revocationDate = Sub.day(0.5)
        copy.revocationType = "FAMILY_REVOKE"
        copy.signedDate = Sub.day(0.6)
        try await bench.bench.notify(copy)
        let child = bought(22, "pro", .nonConsumable) { $0.appTransactionId = "704240000000000022" }
        try await bench.post([child], account: "player-3")
        var consent = try await bench.bench.notice([])
        consent.rescindedConsents = [
            RescindedConsent(
                environment: .production, bundleId: Bench.app, appTransactionId: "704240000000000022",
                signedDate: Sub.day(0.9))
        ]
        try await bench.bench.settle([consent])
    }

    private func owners() async throws {
        for (number, product) in [(30, "castle"), (31, "arena")] {
            try await bench.post([bought(number, product, .nonConsumable)], account: "player-1")
            let later = bought(number, product, .nonConsumable) { $0.signedDate = Sub.day(0.9) }
            try await bench.post([later], account: "player-2")
        }
    }

    private func byTheClock() async throws {
        try await bench.post([bought(40, "season", .nonRenewing)], account: "player-4")
        bench.on(31)
        try await bench.endEntitlements.look()
    }

    // MARK: - Subscriptions

    private func month(
        _ number: Int, _ start: Double, _ end: Double, product: String = "vip.monthly", of first: Int? = nil
    ) -> Transaction {
        Sub.period(
            "20000000000000\(number)", from: start, to: end, product: product,
            lineage: "20000000000000\(first ?? number)"
        ) {
            $0.originalPurchaseDate = Sub.day(0)
            $0.subscriptionGroupId = "21400001"
            $0.webOrderLineItemId = "20000000010000\(number)"
            $0.transactionReason = first == nil ? "PURCHASE" : "RENEWAL"
            $0.appTransactionId = "704240000000000001"
        }
    }

    private func word(
        _ first: Int, on day: Double, product: String = "vip.monthly",
        _ change: (inout RenewalStatement) -> Void = { _ in }
    ) -> RenewalStatement {
        Sub.renewal(signed: day, lineage: "20000000000000\(first)") {
            $0.productId = product
            ($0.renewalPriceMilliunits, $0.currency) = (9_990, "EUR")
            change(&$0)
        }
    }

    private func failures() async throws {
        bench.on(1)
        try await bench.post([month(50, 0, 30)], [word(50, on: 0)], account: "player-5")
        try await bench.post([month(60, 0, 30)], [word(60, on: 0)], account: "player-6")
        try await bench.post([month(70, 0, 30)], [word(70, on: 0) { $0.willRenew = false }], account: "player-7")
        bench.on(30)
        try await bench.endSubscriptions.look()
        let failed = word(50, on: 30) {
            $0.isInBillingRetry = true
            $0.gracePeriodExpiresDate = Sub.day(46)
            $0.expirationIntent = 2
        }
        try await bench.post([], [failed], account: "")
        try await bench.post(
            [], [word(60, on: 30) { ($0.isInBillingRetry, $0.expirationIntent) = (true, 2) }], account: "")
        bench.on(46)
        try await bench.endSubscriptions.look()
        bench.on(50)
        try await bench.post([month(51, 50, 80, of: 50)], [word(50, on: 50)], account: "player-5")
    }

    private func subscription() async throws {
        bench.on(1)
        let first = month(80, 0, 30)
        try await bench.post([first], [word(80, on: 0)], account: "player-8")
        try await bench.post([], [word(80, on: 2) { $0.willRenew = false }], account: "")
        try await bench.post([], [word(80, on: 3)], account: "")
        for (day, status) in [(4.0, 0), (5.0, 1)] {
            let asked = word(80, on: day) { ($0.priceIncreaseStatus, $0.renewalPriceMilliunits) = (status, 12_990) }
            try await bench.post([], [asked], account: "")
        }
        try await bench.post([], [word(80, on: 6) { $0.renewalProductId = "vip.lite" }], account: "")
        var longer = first
        (longer.expiresDate, longer.signedDate) = (Sub.day(37), Sub.day(20))
        try await bench.post([longer], account: "player-8")
        bench.on(37)
        try await bench.post([month(81, 37, 67, of: 80)], [word(80, on: 37)], account: "player-8")
        bench.on(47)
        var upgrade = month(82, 47, 77, product: "vip.premium", of: 80)
        try await bench.post([upgrade], account: "player-8")
        upgrade.revocationDate = Sub.day(50)
        upgrade.revocationReason = 0
        upgrade.revocationType = "REFUND_FULL"
        upgrade.signedDate = Sub.day(50)
        bench.on(51)
        try await bench.bench.notify(upgrade)
        (upgrade.revocationDate, upgrade.revocationReason, upgrade.revocationType) = (nil, nil, nil)
        (upgrade.signedDate, upgrade.refundReversedDate) = (Sub.day(52), Sub.day(52))
        bench.on(53)
        try await bench.bench.notify(upgrade)
    }
}
