import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Server API: histories")
struct ServerAPIHistoryTests {
    /// Every page of a history.
    private static func pages(_ shop: ServerAPIShop, _ path: String) async throws -> [HistoryAnswer] {
        var pages: [HistoryAnswer] = []
        var revision = ""
        repeat {
            let separator = path.contains("?") ? "&" : "?"
            let next = revision.isEmpty ? path : "\(path)\(separator)revision=\(revision)"
            pages.append(try await shop.get(HistoryAnswer.self, .get, next))
            revision = pages.last?.revision ?? ""
        } while pages.last?.hasMore == true && pages.count < 10
        return pages
    }

    @Test("twenty on a page, until there are no more; ascending or descending")
    func paging() async throws {
        let shop = try await ServerAPIShop()
        var ids: [String] = []
        for _ in 0..<45 {
            shop.time.step(1_000)
            ids.append(try await shop.buy("coins"))
        }
        try await shop.buy("coins", account: "bob")
        let ascending = try await Self.pages(shop, "v2/history/\(ids[7])")
        #expect(ascending.map(\.signedTransactions.count) == [20, 20, 5])
        #expect(ascending.map(\.hasMore) == [true, true, false])
        #expect(try ascending.flatMap { try $0.transactionIds() } == ids)
        #expect(ascending[0].bundleId == ServerAPIShop.bundleId)
        #expect(ascending[0].appAppleId == 1_234_567_890)
        #expect(ascending[0].environment == "Production")
        let descending = try await Self.pages(shop, "v2/history/\(ids[7])?sort=DESCENDING")
        #expect(descending.map(\.signedTransactions.count) == [20, 20, 5])
        #expect(try descending.flatMap { try $0.transactionIds() } == ids.reversed())
        // Just twenty are one page.
        for id in ids.prefix(25) { try await shop.edit(id) { $0.productId = "other" } }
        let twenty = try await Self.pages(shop, "v2/history/\(ids[7])?productId=coins")
        #expect(twenty.map(\.signedTransactions.count) == [20])
        await shop.store.close()
    }

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

    @Test("the first version leaves finished consumables out, and may leave out what was revoked")
    func firstVersion() async throws {
        let shop = try await ServerAPIShop()
        let open = try await shop.buy("coins")
        let finished = try await shop.buy("coins")
        let refunded = try await shop.buy("coins")
        let sword = try await shop.buy("sword")
        for id in [finished, refunded, sword] { try await shop.edit(id) { $0.isFinished = true } }
        try await shop.edit(refunded) { $0.revocationDate = 1 }
        func found(_ path: String) async throws -> Set<String> {
            Set(try await shop.get(HistoryAnswer.self, .get, path).transactionIds())
        }
        #expect(try await found("v1/history/\(open)") == [open, refunded, sword])
        #expect(try await found("v1/history/\(open)?excludeRevoked=true") == [open, sword])
        #expect(try await found("v1/history/\(open)?excludeRevoked=false") == [open, refunded, sword])
        #expect(try await found("v2/history/\(open)") == [open, finished, refunded, sword])
        #expect(try await shop.refusal(.get, "v1/history/\(open)?excludeRevoked=1") == 4_000_025)
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
        for version in ["v1", "v2"] {
            #expect(try await shop.refusal(.get, "\(version)/history/\(id)?\(query)") == code)
        }
        await shop.store.close()
    }

    @Test("refunds, twenty on a page, without what the family lost")
    func refunds() async throws {
        let shop = try await ServerAPIShop()
        var ids: [String] = []
        for _ in 0..<23 { ids.append(try await shop.buy("coins")) }
        let kept = try await shop.buy("sword")
        let lost = try await shop.buy("coins")
        for id in ids {
            try await shop.edit(id) {
                $0.revocationDate = 1
                $0.revocationType = .refundFull
            }
        }
        try await shop.edit(lost) {
            $0.revocationDate = 1
            $0.revocationType = .familyRevoke
        }
        let pages = try await Self.pages(shop, "v2/refund/lookup/\(kept)")
        #expect(pages.map(\.signedTransactions.count) == [20, 3])
        #expect(try pages.flatMap { try $0.transactionIds() } == ids)
        #expect(try await shop.refusal(.get, "v2/refund/lookup/\(kept)?revision=x") == 4_000_005)
        await shop.store.close()
    }
}
