import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Server API: histories")
struct ServerAPIHistoryTests {
    @Test("a revision that is kept brings what changed since, and nothing else")
    func incremental() async throws {
        let shop = try await ServerAPIShop()
        let first = try await shop.buy("coins")
        let second = try await shop.buy("sword")
        let path = "v2/history/\(first)"
        let kept = try await shop.get(HistoryAnswer.self, .get, path).revision
        let nothing = try await shop.get(HistoryAnswer.self, .get, "\(path)?revision=\(kept)")
        #expect(nothing.signedTransactions.isEmpty && !nothing.hasMore && nothing.revision == kept)
        try await shop.edit(first) { $0.revocationDate = 1 }
        let third = try await shop.buy("coins")
        let since = try await shop.get(HistoryAnswer.self, .get, "\(path)?revision=\(nothing.revision)")
        #expect(try since.transactionIds() == [first, third])
        // Also when the clock is set back meanwhile.
        shop.clock.set(shop.clock.now - 86_400_000)
        try await shop.edit(second) { $0.revocationDate = 1 }
        let later = try await shop.get(HistoryAnswer.self, .get, "\(path)?revision=\(since.revision)")
        #expect(try later.transactionIds() == [second])
        await shop.store.close()
    }

    @Test("filters")
    func filters() async throws {
        let shop = try await ServerAPIShop()
        let start = shop.clock.now
        let coins = try await shop.buy("coins")
        shop.time.step(10_000)
        let sword = try await shop.buy("sword")
        let season = try await shop.buy("season")
        shop.time.step(10_000)
        let gold = try await shop.buy("gold")
        let silver = try await shop.buy("silver")
        try await shop.edit(sword) { $0.isFamilyShared = true }
        try await shop.edit(season) { $0.revocationDate = start }
        for (query, expected) in [
            ("productId=coins&productId=gold", [coins, gold]), ("productId=none", []),
            ("productType=CONSUMABLE", [coins]), ("productType=NON_CONSUMABLE", [sword]),
            ("productType=NON_RENEWABLE&productType=AUTO_RENEWABLE", [season, gold, silver]),
            ("subscriptionGroupIdentifier=first", [gold]),
            ("subscriptionGroupIdentifier=first&subscriptionGroupIdentifier=second", [gold, silver]),
            ("inAppOwnershipType=FAMILY_SHARED", [sword]),
            ("inAppOwnershipType=PURCHASED", [coins, season, gold, silver]),
            ("revoked=True", [season]), ("revoked=false", [coins, sword, gold, silver]),
            ("startDate=\(start + 20_000)", [gold, silver]), ("endDate=\(start + 10_000)", [coins]),
            ("startDate=\(start)&endDate=\(start + 10_000)&productType=NON_CONSUMABLE", []),
        ] as [(String, [String])] {
            let found = try await shop.get(HistoryAnswer.self, .get, "v2/history/\(coins)?\(query)").transactionIds()
            #expect(Set(found) == Set(expected), "\(query)")
        }
        await shop.store.close()
    }

    @Test(
        "each parameter that is wrong has its code",
        arguments: [
            ("revision=x", 4_000_005), ("revision=1", 4_000_005), ("revision=-1_2", 4_000_005),
            ("revision=", 4_000_005),
            ("startDate=x", 4_000_015), ("startDate=-1", 4_000_015), ("endDate=1.5", 4_000_016),
            ("startDate=2&endDate=2", 4_000_013), ("startDate=3&endDate=2", 4_000_013), ("sort=UP", 4_000_021),
            ("productType=Consumable", 4_000_022), ("productType=CONSUMABLE&productType=", 4_000_022),
            ("productId=", 4_000_023), ("subscriptionGroupIdentifier=", 4_000_024),
            ("inAppOwnershipType=MINE", 4_000_026), ("revoked=maybe", 4_000_030),
        ] as [(String, Int64)])
    func refused(_ query: String, _ code: Int64) async throws {
        let shop = try await ServerAPIShop()
        let id = try await shop.buy("coins")
        #expect(try await shop.refusal(.get, "v2/history/\(id)?\(query)") == code)
        await shop.store.close()
    }
}
