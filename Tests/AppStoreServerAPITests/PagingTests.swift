import Foundation
import NIOHTTP1
import Testing

@testable import AppStoreServerAPI

/// Answers of more than twenty things.
@Suite(.serialized)
struct PagingTests {
    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func historiesComeInPagesAndGoOnFromARevision() async throws {
        try await Simulator.run { store in
            let client = try await store.client()
            let account = ",\"account\":\"alice\""
            let sold = try await store.sell("coins", more: account + ",\"count\":45")
            let id = try #require(sold.first).transactionId
            var pages: [HistoryResponse] = []
            for try await page in client.historyPages(of: id, in: .production) { pages.append(page) }
            #expect(pages.map(\.signedTransactions.count) == [20, 20, 5])
            #expect(pages.map(\.hasMore) == [true, true, false])
            #expect(pages.allSatisfy { $0.unreadableEntries == 0 })
            let ids = try pages.flatMap(\.signedTransactions).map { try claims($0, as: TransactionClaims.self) }
            #expect(ids.map(\.transactionId) == sold.map(\.transactionId))

            let second = try await client.history(of: id, after: pages[0].revision, in: .production)
            #expect(second.signedTransactions.count == 20 && second.revision == pages[1].revision)

            // What was kept finds what came since, and nothing else.
            let more = try await store.sell("gems", more: account)
            let news = try await client.history(of: id, after: pages[2].revision, in: .production)
            #expect(news.signedTransactions.count == more.count && !news.hasMore)

            let gems = HistoryQuery(
                startDate: Date(timeIntervalSince1970: 0.123), endDate: Date(timeIntervalSinceNow: 86_400),
                productIds: ["gems", "other & more"], productTypes: [.consumable], inAppOwnershipType: .purchased,
                revoked: false, sort: .descending)
            #expect(try await client.history(of: id, matching: gems, in: .production).signedTransactions.count == 1)
            let shared = HistoryQuery(inAppOwnershipType: .familyShared)
            let none = try await client.history(of: id, matching: shared, in: .production)
            #expect(none.signedTransactions.isEmpty && !none.hasMore)

            for row in sold.prefix(21) {
                try await store.control(.POST, "transactions/\(row.transactionId)/refund", "{}")
            }
            var refunds: [HistoryResponse] = []
            for try await page in client.refundHistoryPages(of: id, in: .production) { refunds.append(page) }
            #expect(refunds.map(\.signedTransactions.count) == [20, 1])
            let first: TransactionClaims = try claims(try #require(refunds.first?.signedTransactions.first))
            #expect(first.revocationDate != nil)
        }
    }

    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func notificationHistories() async throws {
        try await Simulator.run { store in
            let client = try await store.client()
            let sold = try await store.sell("coins", more: ",\"count\":25")
            let other = try await store.sell("gems", more: ",\"account\":\"bob\"")
            try await store.control(.POST, "clock/advance", "{\"by\":\"1m\"}")
            var request = NotificationHistoryRequest(
                startDate: Date(timeIntervalSinceNow: -3_600), endDate: Date(timeIntervalSinceNow: 3_600),
                filter: .type(.oneTimeCharge))
            var pages: [NotificationHistoryResponse] = []
            for try await page in client.notificationHistoryPages(request, in: .production) { pages.append(page) }
            #expect(pages.map(\.notificationHistory.count) == [20, 6])
            #expect(pages[0].paginationToken != nil && pages[1].paginationToken == nil)
            #expect(Set(pages.flatMap(\.notificationHistory).map(\.signedPayload)).count == sold.count + other.count)

            request.filter = .transactionId(try #require(other.first).transactionId)
            request.onlyFailures = true
            let found = try await client.notificationHistory(request, in: .production)
            #expect(found.notificationHistory.count == 1 && !found.hasMore)
            #expect(!found.notificationHistory[0].sendAttempts.isEmpty)
            request.filter = .type(.refund)
            #expect(try await client.notificationHistory(request, in: .production).notificationHistory.isEmpty)
        }
    }

    @Test func aPageThatLeadsToItselfIsAnError() async {
        struct Page: AppStorePage {
            let hasMore = true
            let nextPage: String?
        }
        for token in [nil, "same"] {
            let pages = AppStorePages(first: token) { _ in Page(nextPage: token) }
            var seen = 0
            let error = await refusal { for try await _ in pages { seen += 1 } }
            #expect(error?.category == .unreadable && seen == 0)
        }
    }
}
