import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Server API: subscriptions")
struct ServerAPISubscriptionTests {
    struct Statuses: Decodable {
        struct Group: Decodable {
            struct Item: Decodable {
                let originalTransactionId: String
                let status: Int
                let signedTransactionInfo: String
                let signedRenewalInfo: String
            }
            let subscriptionGroupIdentifier: String
            let lastTransactions: [Item]
        }
        let environment: String
        let bundleId: String
        let appAppleId: Int64
        let data: [Group]
    }

    struct Extended: Decodable {
        let originalTransactionId: String
        let webOrderLineItemId: String?
        let success: Bool
        let effectiveDate: Int64
    }

    struct MassStatus: Decodable {
        let requestIdentifier: String
        let complete: Bool
        let completeDate: Int64?
        let succeededCount: Int64?
        let failedCount: Int64?
    }

    private static let month: Int64 = 31 * 86_400_000
    private static let good = #"{"extendByDays":10,"extendReasonCode":1,"requestIdentifier":"r-1"}"#

    private static func types(_ shop: ServerAPIShop) async -> [String] {
        await shop.store.read { state in
            state.notificationsInOrder(after: 0, limit: 100).map {
                [$0.notificationType, $0.subtype ?? ""].joined(separator: " ")
            }
        }
    }

    @Test("every subscription of the customer by its group, with its latest transaction")
    func statuses() async throws {
        let shop = try await ServerAPIShop()
        let coins = try await shop.buy("coins")
        let none = try await shop.get(Statuses.self, .get, "v1/subscriptions/\(coins)")
        #expect(none.data.isEmpty)
        let gold = try await shop.buy("gold")
        let silver = try await shop.buy("silver")
        try await shop.buy("gold", account: "bob")
        try await shop.step(Self.month)
        let all = try await shop.get(Statuses.self, .get, "v1/subscriptions/\(coins)")
        #expect(all.environment == "Production" && all.bundleId == ServerAPIShop.bundleId)
        #expect(all.data.map(\.subscriptionGroupIdentifier) == ["first", "second"])
        #expect(all.data.flatMap(\.lastTransactions).map(\.originalTransactionId) == [gold, silver])
        let item = try #require(all.data.first?.lastTransactions.first)
        #expect(item.status == 1)
        let transaction = try SignedFields(item.signedTransactionInfo)
        #expect(transaction.originalTransactionId == gold && transaction.transactionId != gold)
        let renewal = try SignedFields(item.signedRenewalInfo)
        #expect(renewal.originalTransactionId == gold && renewal.autoRenewProductId == "gold")
        await shop.store.close()
    }

    @Test("statuses may be asked for one by one")
    func statusFilter() async throws {
        let shop = try await ServerAPIShop()
        let gold = try await shop.buy("gold")
        let silver = try await shop.buy("silver")
        try await shop.store.change { state, _ in
            var row = try #require(state.subscriptions[silver])
            row.status = .expired
            row.dueDate = nil
            state.put(row)
        }
        for (query, expected) in [
            ("status=1", [gold]), ("status=2", [silver]), ("status=2&status=1", [gold, silver]), ("status=5", []),
        ] {
            let found = try await shop.get(Statuses.self, .get, "v1/subscriptions/\(gold)?\(query)")
            #expect(found.data.flatMap(\.lastTransactions).map(\.originalTransactionId) == expected, "\(query)")
        }
        for query in ["status=0", "status=6", "status=active", "status=1&status="] {
            #expect(try await shop.refusal(.get, "v1/subscriptions/\(gold)?\(query)") == 4_000_031, "\(query)")
        }
        await shop.store.close()
    }

    @Test("a renewal date is extended twice in a year, and that is told")
    func extend() async throws {
        let shop = try await ServerAPIShop()
        let id = try await shop.buy("gold")
        let before = try #require(try await shop.transaction(id).expiresDate)
        let path = "v1/subscriptions/extend/\(id)"
        let first = try await shop.get(Extended.self, .put, path, Self.good)
        #expect(first.originalTransactionId == id && first.success)
        #expect(first.effectiveDate == before + 10 * 86_400_000)
        let extended = try await shop.transaction(id)
        #expect(extended.expiresDate == first.effectiveDate)
        #expect(first.webOrderLineItemId == extended.webOrderLineItemId)
        #expect(await Self.types(shop).last == "RENEWAL_EXTENDED ")
        _ = try await shop.get(Extended.self, .put, path, Self.good)
        #expect(try await shop.refusal(.put, path, Self.good) == 4_030_005)
        await shop.store.close()
    }

    @Test("what cannot be extended is refused with its code")
    func notExtended() async throws {
        let shop = try await ServerAPIShop()
        let id = try await shop.buy("gold")
        for (body, code) in [
            (#"{"extendByDays":0,"extendReasonCode":1,"requestIdentifier":"r"}"#, 4_000_009),
            (#"{"extendByDays":91,"extendReasonCode":1,"requestIdentifier":"r"}"#, 4_000_009),
            (#"{"extendReasonCode":1,"requestIdentifier":"r"}"#, 4_000_009),
            (#"{"extendByDays":1,"extendReasonCode":4,"requestIdentifier":"r"}"#, 4_000_010),
            (#"{"extendByDays":1,"requestIdentifier":"r"}"#, 4_000_010),
            (#"{"extendByDays":1,"extendReasonCode":0,"requestIdentifier":""}"#, 4_000_011),
            (#"{"extendByDays":1,"extendReasonCode":0}"#, 4_000_011), ("[]", 4_000_000),
        ] as [(String, Int64)] {
            #expect(try await shop.refusal(.put, "v1/subscriptions/extend/\(id)", body) == code, "\(body)")
        }
        let coins = try await shop.buy("coins")
        let sandbox = try await shop.buy("gold", in: .sandbox)
        let app = try #require(try await shop.transaction(coins).appTransactionId)
        for (wrong, code) in [
            ("x", 4_000_008), ("999", 4_040_005), (sandbox, 4_040_005), (app, 4_000_048), (coins, 4_030_004),
        ] as [(String, Int64)] {
            #expect(try await shop.refusal(.put, "v1/subscriptions/extend/\(wrong)", Self.good) == code, "\(wrong)")
        }
        try await shop.step(Self.month)
        let renewal = try #require(await shop.store.read { $0.lineages[id]?.last })
        #expect(try await shop.refusal(.put, "v1/subscriptions/extend/\(renewal)", Self.good) == 4_000_008)
        let changes: [(@Sendable (inout SubscriptionRecord) -> Void, Int64)] = [
            ({ $0.status = .billingRetry }, 4_030_004), ({ $0.isFamilyShared = true }, 4_030_007),
        ]
        for (change, code) in changes {
            try await shop.store.change { state, _ in
                var row = try #require(state.subscriptions[id])
                row.dueDate = nil
                change(&row)
                state.put(row)
            }
            #expect(try await shop.refusal(.put, "v1/subscriptions/extend/\(id)", Self.good) == code)
        }
        await shop.store.close()
    }

    @Test("a mass extension comes later, extends whom it can, tells of each and sums up")
    func massExtension() async throws {
        let shop = try await ServerAPIShop()
        let alice = try await shop.buy("gold")
        let bob = try await shop.buy("gold", account: "bob")
        let carol = try await shop.buy("gold", account: "carol")
        let sandbox = try await shop.buy("gold", in: .sandbox)
        try await shop.edit(carol) { $0.storefront = "DEU" }
        try await shop.store.change { state, _ in
            var row = try #require(state.subscriptions[bob])
            row.status = .billingRetry
            row.dueDate = nil
            state.put(row)
        }
        let before = try await shop.transaction(alice).expiresDate
        let request =
            #"{"extendByDays":3,"extendReasonCode":3,"requestIdentifier":"m-1","productId":"gold","#
            + #""storefrontCountryCodes":["USA"]}"#
        struct Taken: Decodable { let requestIdentifier: String }
        for _ in 0..<2 {
            let taken = try await shop.get(Taken.self, .post, "v1/subscriptions/extend/mass", request)
            #expect(taken.requestIdentifier == "m-1")
        }
        let path = "v1/subscriptions/extend/mass/gold/m-1"
        let early = try await shop.get(MassStatus.self, .get, path)
        #expect(!early.complete && early.completeDate == nil && early.succeededCount == nil)
        try await shop.step(StoreState.MassExtensionLimit.delay)
        let done = try await shop.get(MassStatus.self, .get, path)
        #expect(done.complete && done.succeededCount == 1 && done.failedCount == 1)
        #expect(done.completeDate == shop.clock.now)
        #expect(try await shop.transaction(alice).expiresDate == before.map { $0 + 3 * 86_400_000 })
        for untouched in [carol, sandbox] {
            let extensions = await shop.store.read { $0.subscriptions[untouched]?.extensions }
            #expect(extensions == [])
        }
        let told = await Self.types(shop).suffix(3)
        #expect(Set(told) == ["RENEWAL_EXTENDED ", "RENEWAL_EXTENSION FAILURE", "RENEWAL_EXTENSION SUMMARY"])
        #expect(told.last == "RENEWAL_EXTENSION SUMMARY")
        for wrong in ["silver/m-1", "gold/m-2"] {
            #expect(try await shop.refusal(.get, "v1/subscriptions/extend/mass/\(wrong)") == 4_040_009)
        }
        #expect(try await shop.refusal(.get, path, in: .sandbox) == 4_040_009)
        await shop.store.close()
    }

    @Test("a mass extension that makes no sense is refused with its code")
    func massExtensionRefused() async throws {
        let shop = try await ServerAPIShop()
        shop.limiter.setting = RateLimiter.Setting(enabled: false)
        let head = #"{"extendByDays":3,"extendReasonCode":3,"requestIdentifier":"m-1""#
        for (body, code) in [
            ("{}", 4_000_009), (#"{"extendByDays":1}"#, 4_000_010),
            (#"{"extendByDays":1,"extendReasonCode":1}"#, 4_000_011), (head + "}", 4_000_023),
            (head + #","productId":""}"#, 4_000_023), (head + #","productId":"none"}"#, 4_000_023),
            (head + #","productId":"coins"}"#, 4_000_023),
            (head + #","productId":"gold","storefrontCountryCodes":[]}"#, 4_000_027),
            (head + #","productId":"gold","storefrontCountryCodes":["US"]}"#, 4_000_028),
            (head + #","productId":"gold","storefrontCountryCodes":["USA",1]}"#, 4_000_028),
            (head + #","productId":"gold","storefrontCountryCodes":"USA"}"#, 4_000_028),
        ] as [(String, Int64)] {
            #expect(try await shop.refusal(.post, "v1/subscriptions/extend/mass", body) == code, "\(body)")
        }
        let gold = try await shop.call(.post, "v1/subscriptions/extend/mass", head + #","productId":"gold"}"#)
        #expect(gold.status == .ok)
        // The identifier stands for something else already.
        #expect(
            try await shop.refusal(.post, "v1/subscriptions/extend/mass", head + #","productId":"silver"}"#)
                == 4_000_011)
        await shop.store.close()
    }
}
