import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("What a receipt holds")
struct ReceiptContentsTests {
    private static func ids(_ shop: ReceiptShop, _ query: String) async throws -> [String] {
        let contents = try await contents(shop, query)
        return contents.inAppPurchases.map(\.transactionId).sorted()
    }

    private static func contents(_ shop: ReceiptShop, _ query: String) async throws -> ReceiptContents {
        let response = try await shop.control(.get, "receipts?\(query)")
        try #require(response.status == .ok, "\(String(buffer: response.body))")
        let receipt = try JSONDecoder().decode([String: String].self, from: response.json)["receipt"]
        guard case .contents(let contents) = shop.receipts.reader.read(base64: try #require(receipt)) else {
            throw Problem(.internalServerError, "the receipt is not ours")
        }
        return contents
    }

    @Test("consumables until they are finished, everything else for ever, of this account and environment only")
    func purchases() async throws {
        let shop = try await ReceiptShop()
        try await shop.sell("101", "coins", .consumable)
        try await shop.sell("102", "coins", .consumable, day: 1)
        try await shop.sell("103", "level", .nonConsumable) { $0.isFinished = true }
        try await shop.sell("104", "season", .nonRenewingSubscription) { $0.isFinished = true }
        try await shop.sell("105", "monthly", .autoRenewableSubscription) { $0.isFinished = true }
        try await shop.sell("106", "monthly", .autoRenewableSubscription, day: 30, original: "105")
        try await shop.sell("107", "coins", .consumable) { $0.accountId = "bob" }
        try await shop.sell("108", "coins", .consumable, environment: .sandbox)
        try await shop.sell("109", "shared", .nonConsumable) { $0.isFamilyShared = true }
        let query = "bundleId=\(ReceiptShop.bundleId)&account=alice"
        #expect(try await Self.ids(shop, query) == ["101", "102", "103", "104", "105", "106", "109"])
        try await shop.store.change { state, now in try state.finish("101", now: now) }
        #expect(try await Self.ids(shop, query) == ["102", "103", "104", "105", "106", "109"])
        #expect(try await Self.ids(shop, query + "&environment=Sandbox") == ["108"])
        #expect(try await Self.ids(shop, "bundleId=\(ReceiptShop.bundleId)&account=carol").isEmpty)
        await shop.store.close()
    }

    @Test("production names the app and its versions; the sandbox knows neither")
    func environments() async throws {
        let shop = try await ReceiptShop()
        let query = "bundleId=\(ReceiptShop.bundleId)&account=alice"
        let production = try await Self.contents(shop, query)
        #expect(production.environment == .production)
        #expect(production.appItemId > 0 && production.downloadId > 0 && production.versionExternalIdentifier > 0)
        #expect(production.applicationVersion == "42")
        #expect(production.originalApplicationVersion == "42")
        #expect(production.accountId == "alice")
        let sandbox = try await Self.contents(shop, query + "&environment=Sandbox")
        #expect(sandbox.environment == .sandbox)
        #expect([sandbox.appItemId, sandbox.downloadId, sandbox.versionExternalIdentifier] == [0, 0, 0])
        #expect(sandbox.originalApplicationVersion == "1.0")
        #expect(sandbox.originalPurchaseDate == 1_375_340_400_000)
        await shop.store.close()
    }

    @Test("a device's receipt holds the device, and is its account's")
    func devices() async throws {
        let shop = try await ReceiptShop()
        let vendor = UUID()
        try await shop.store.change { state, _ in
            state.put(DeviceRecord(id: "phone", accountId: "alice", vendorIdentifier: vendor.uuidString))
        }
        try await shop.sell("101", "coins", .consumable)
        let contents = try await Self.contents(shop, "bundleId=\(ReceiptShop.bundleId)&device=phone")
        #expect(contents.vendorIdentifier == vendor)
        #expect(contents.inAppPurchases.count == 1)
        let one = try await Self.contents(shop, "bundleId=\(ReceiptShop.bundleId)&account=alice")
        let two = try await Self.contents(shop, "bundleId=\(ReceiptShop.bundleId)&account=alice")
        #expect(one.vendorIdentifier == two.vendorIdentifier)
        await shop.store.close()
    }

    @Test(
        "what is missing or unknown is named",
        arguments: [
            ("", 400, "bundleId"), ("bundleId=com.example.game", 400, "account"),
            ("bundleId=com.example.other&account=alice", 404, "com.example.other"),
            ("bundleId=com.example.game&device=toaster", 404, "toaster"),
            ("bundleId=com.example.game&account=alice&environment=Xcode", 400, "environment"),
        ])
    func problems(_ query: String, _ status: Int, _ word: String) async throws {
        let shop = try await ReceiptShop()
        let response = try await shop.control(.get, "receipts?\(query)")
        #expect(response.status.code == status)
        #expect(String(buffer: response.body).contains(word))
        await shop.store.close()
    }
}
