import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Server API and receipts: purchases with several transaction ids")
struct SeveralIdsAnswerTests {
    private struct Info: Decodable { let signedTransactionInfo: String }

    private struct Order: Decodable {
        let status: Int
        let signedTransactions: [String]
    }

    /// Restores on a phone of alice's, and grants again what was bought first.
    private static func furtherIds(of id: String, in shop: ServerAPIShop) async throws -> [String] {
        try await shop.store.change { state, now in
            state.put(DeviceRecord(id: "phone", accountId: "alice", vendorIdentifier: UUID().uuidString))
            _ = try state.restoreCompletedTransactions(
                on: "phone", bundleId: ServerAPIShop.bundleId, environment: .production, now: now)
            _ = try state.regrant(id, now: now)
            return state.transactionIds(ofPurchase: id)
        }
    }

    @Test("every call knows every id; the history and the order have all of them", arguments: ["gold", "sword"])
    func everyId(_ product: String) async throws {
        let shop = try await ServerAPIShop()
        let ids = try await Self.furtherIds(of: try await shop.buy(product), in: shop)
        #expect(ids.count == 3)
        let bought = try await shop.transaction(ids[0])
        for id in ids {
            let info = try await shop.get(Info.self, .get, "v1/transactions/\(id)")
            let fields = try SignedFields(info.signedTransactionInfo)
            #expect(fields.transactionId == id && fields.originalTransactionId == ids[0])
            let history = try await shop.get(HistoryAnswer.self, .get, "v2/history/\(id)")
            #expect(try history.transactionIds() == ids)
            let statuses = try await shop.get(
                ServerAPISubscriptionTests.Statuses.self, .get, "v1/subscriptions/\(id)")
            let latest = statuses.data.first?.lastTransactions ?? []
            #expect(latest.map(\.originalTransactionId) == (product == "gold" ? [ids[0]] : []))
        }
        let order = try await shop.get(Order.self, .get, "v1/lookup/\(bought.orderId)")
        #expect(try order.signedTransactions.map { try SignedFields($0).transactionId ?? "" } == ids)
        // A token is the purchase's: every id has it.
        let token = UUID().uuidString.lowercased()
        let path = "v1/transactions/\(ids[0])/appAccountToken"
        #expect(try await shop.call(.put, path, #"{"appAccountToken":"\#(token)"}"#).status == .ok)
        for id in ids { #expect(try await shop.transaction(id).appAccountToken == token) }
        #expect(
            try await shop.refusal(
                .put, "v1/transactions/\(ids[1])/appAccountToken", #"{"appAccountToken":"\#(token)"}"#) == 4_000_187)
        await shop.store.close()
    }

    @Test(
        "the refund lookup has what carries the revocation, and a status shows it", arguments: RevocationScope.allCases)
    func refund(_ scope: RevocationScope) async throws {
        let shop = try await ServerAPIShop()
        let ids = try await Self.furtherIds(of: try await shop.buy("gold"), in: shop)
        try await shop.store.change { state, now in
            try state.refund(ids[1], percentage: nil, reason: 0, scope: scope, now: now)
        }
        let expected = scope == .namedTransaction ? [ids[1]] : ids
        for id in ids {
            let refunds = try await shop.get(HistoryAnswer.self, .get, "v2/refund/lookup/\(id)")
            #expect(try refunds.transactionIds() == expected)
            let revoked = try await shop.get(HistoryAnswer.self, .get, "v2/history/\(id)?revoked=true")
            #expect(try revoked.transactionIds() == expected)
        }
        let statuses = try await shop.get(
            ServerAPISubscriptionTests.Statuses.self, .get, "v1/subscriptions/\(ids[2])")
        let latest = try #require(statuses.data.first?.lastTransactions.first)
        #expect(latest.status == 5)
        #expect(try SignedFields(latest.signedTransactionInfo).transactionId == expected[0])
        await shop.store.close()
    }

    @Test("a device's receipt has the ids that it has seen, and the first of what never came to it")
    func receipts() async throws {
        let shop = try await ReceiptShop()
        let vendors = [UUID(), UUID()]
        let (month, coins) = try await shop.store.change { state, now in
            for (id, vendor) in zip(["phone", "tablet"], vendors) {
                state.put(DeviceRecord(id: id, accountId: "alice", vendorIdentifier: vendor.uuidString))
            }
            state.put(ServerAPIShop.product("gold", .autoRenewableSubscription))
            state.put(ServerAPIShop.product("coins", .consumable))
            func buy(_ product: String) throws -> String {
                let purchase = Purchase(
                    bundleId: ReceiptShop.bundleId, productId: product, environment: .production, accountId: "alice",
                    deviceId: "phone")
                return try state.buy(purchase, now: now).transaction?.id ?? ""
            }
            return (try buy("gold"), try buy("coins"))
        }
        func ids(_ device: String?) async throws -> [[String]] {
            let record = await shop.store.read { state in device.flatMap { state.devices[$0] } }
            let receipt = try await shop.receipt(device: record)
            let answer = try await shop.verify(receipt: receipt)
            #expect(answer.status == 0)
            return [answer.inApp, answer.latest].map { list in list.compactMap { $0["transaction_id"]?.text }.sorted() }
        }
        for device in ["phone", "tablet", nil] {
            let found = try await ids(device)
            #expect(found == [[month, coins], [month, coins]])
        }
        let (restored, granted) = try await shop.store.change { state, now in
            let dates = RestoreDates(originalPurchaseDate: .restore)
            let restored = try state.restoreCompletedTransactions(
                on: "tablet", bundleId: ReceiptShop.bundleId, environment: .production, dates: dates, now: now + 5_000)
            return (restored.map(\.id), try state.regrant(month, now: now).map(\.id))
        }
        #expect(restored.count == 1)
        let expected: [(String?, [String])] = [
            ("phone", [month, coins] + granted), ("tablet", [coins] + restored), (nil, [month, coins]),
        ]
        for (device, own) in expected {
            let found = try await ids(device)
            #expect(found == [own.sorted(), own.sorted()], "\(device ?? "no device")")
        }
        let contents = await shop.store.read { state in
            AppReceipt.contents(
                of: state, bundleId: ReceiptShop.bundleId, accountId: "alice", device: state.devices["tablet"],
                environment: .production, now: 0)
        }
        let entry = try #require(contents.inAppPurchases.first { $0.transactionId == restored[0] })
        let first = try #require(await shop.store.read { $0.transactions[month] })
        #expect(entry.originalPurchaseDate == (shop.store.clock.now + 5_000) / 1_000 * 1_000)
        #expect(entry.purchaseDate == first.purchaseDate && entry.expiresDate == first.expiresDate)
        #expect(String(entry.webOrderLineItemId) == first.webOrderLineItemId)
        await shop.store.close()
    }
}
