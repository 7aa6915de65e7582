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

    private static let month: Int64 = 31 * 86_400_000
    private static let good = #"{"extendByDays":10,"extendReasonCode":1,"requestIdentifier":"r-1"}"#

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
