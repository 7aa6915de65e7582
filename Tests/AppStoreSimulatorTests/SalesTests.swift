import AppStore
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import AppStoreSimulator

@Suite("Sales")
struct SalesTests {
    private let app = AppIdentity(bundleId: "com.example.game")

    @Test("what is sold verifies under the simulator's root, and only under it")
    func verifies() async throws {
        let simulator = try Simulator()
        let token = UUID()
        let sold = try await simulator.sell(
            """
            {"bundleId":"com.example.game","productId":"coins.100","type":"Consumable","quantity":3,
            "appAccountToken":"\(token.uuidString)","price":4990,"currency":"EUR","storefront":"DEU",
            "storefrontId":"143443"}
            """)
        let jws = Array(try #require(sold.first).signedTransaction.utf8)
        let transaction = try SignedDataVerifier(roots: try simulator.roots()).transaction(jws, app: app).get()
        #expect(sold.count == 1)
        #expect(transaction.transactionId == sold[0].transactionId)
        #expect(transaction.originalTransactionId == sold[0].transactionId)
        #expect(transaction.productId == "coins.100")
        #expect(transaction.type == .consumable)
        #expect(transaction.quantity == 3)
        #expect(transaction.appAccountToken == token)
        #expect(transaction.environment == .production)
        #expect(transaction.price == 4_990)
        #expect(transaction.currency == "EUR")
        #expect(transaction.storefront == "DEU")
        #expect(transaction.transactionReason == .purchase)
        #expect(transaction.expiresDate == nil)
        #expect(abs(transaction.signedDate.timeIntervalSinceNow) < 60)
        #expect(code(SignedDataVerifier(roots: .appleRootG3).transaction(jws, app: app)) == "root_not_trusted")
        let stranger = try Simulator()
        #expect(code(SignedDataVerifier(roots: try stranger.roots()).payload(jws)) == "root_not_trusted")
    }

    @Test("payloads have the fields of Apple's, in Apple's order")
    func fields() async throws {
        let simulator = try Simulator()
        let verifier = SignedDataVerifier(roots: try simulator.roots())
        func names(_ body: String) async throws -> [String] {
            let jws = try #require(try await simulator.sell(body).first).signedTransaction
            let payload = String(decoding: try verifier.payload(Array(jws.utf8)).get().bytes, as: UTF8.self)
            return payload.dropFirst().dropLast().split(separator: ",").compactMap {
                $0.split(separator: "\"").first.map(String.init)
            }
        }
        // As in what Apple signed for a sandbox subscription in October 2025.
        let subscription = try await names(
            #"{"bundleId":"a.b","productId":"p","type":"Auto-Renewable Subscription","environment":"Sandbox"}"#)
        #expect(
            subscription == [
                "transactionId", "originalTransactionId", "webOrderLineItemId", "bundleId", "productId",
                "subscriptionGroupIdentifier", "purchaseDate", "originalPurchaseDate", "expiresDate", "quantity",
                "type",
                "inAppOwnershipType", "signedDate", "environment", "transactionReason", "storefront", "storefrontId",
                "price", "currency", "appTransactionId",
            ])
        // As for a consumable in February 2025, and the appTransactionId that came with iOS 18.4.
        let consumable = try await names(#"{"bundleId":"a.b","productId":"p","type":"Consumable"}"#)
        #expect(
            consumable == [
                "transactionId", "originalTransactionId", "bundleId", "productId", "purchaseDate",
                "originalPurchaseDate", "quantity", "type", "inAppOwnershipType", "signedDate", "environment",
                "transactionReason", "storefront", "storefrontId", "price", "currency", "appTransactionId",
            ])
    }

    @Test("a renewal belongs to its original transaction and expires when asked")
    func renewal() async throws {
        let simulator = try Simulator()
        let sold = try await simulator.sell(
            """
            {"bundleId":"com.example.game","productId":"vip","type":"Auto-Renewable Subscription",
            "originalTransactionId":"2000000000000042","expiresDate":1900000000000}
            """)
        let verifier = SignedDataVerifier(roots: try simulator.roots())
        let transaction = try verifier.transaction(Array(sold[0].signedTransaction.utf8), app: app).get()
        #expect(sold[0].originalTransactionId == "2000000000000042")
        #expect(transaction.originalTransactionId == "2000000000000042")
        #expect(transaction.transactionId != "2000000000000042")
        #expect(transaction.transactionReason == .renewal)
        #expect(transaction.expiresDate == Date(timeIntervalSince1970: 1_900_000_000))
    }

    @Test("ids are unique in a request, between requests at once, and after a restart")
    func uniqueIds() async throws {
        func body(_ count: Int) -> String {
            #"{"bundleId":"com.example.game","productId":"p","type":"Consumable","count":\#(count)}"#
        }
        let first = try Simulator()
        let folder = first.folder
        var ids = try await first.sell(body(1_000)).map(\.transactionId)
        #expect(ids.first == "2000000000000001")
        let store = first.assembly.store
        ids += try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 1...50 {
                group.addTask {
                    try await store.change { state, _ in (0..<20).map { _ in String(state.nextNumber(.transactionId)) }
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        for _ in 0..<3 {
            let next = try Simulator(folder: folder)
            ids += try await next.sell(body(1_000)).map(\.transactionId)
        }
        #expect(ids.count == 1_000 + 1_000 + 3_000)
        #expect(Set(ids).count == ids.count)
    }

    @Test("a registered product knows its type and its price in each storefront")
    func registeredProduct() async throws {
        let simulator = try Simulator()
        try await simulator.control(.put, "apps/com.example.game", "{}")
        try await simulator.control(
            .put, "apps/com.example.game/products/coins.100",
            #"{"type":"Consumable","price":1990,"storefrontPrices":{"JPN":{"price":300000,"currency":"JPY"}}}"#)
        try await simulator.control(.put, "accounts/hanako", #"{"storefront":"JPN"}"#)
        let sold = try await simulator.sell(
            #"{"bundleId":"com.example.game","productId":"coins.100","account":"hanako"}"#)
        let verifier = SignedDataVerifier(roots: try simulator.roots())
        let transaction = try verifier.transaction(Array(sold[0].signedTransaction.utf8), app: app).get()
        #expect(transaction.price == 300_000)
        #expect(transaction.currency == "JPY")
        #expect(transaction.storefront == "JPN")
        let wrong = try await simulator.request(
            .post, "/simulator/v1/sales",
            body: #"{"bundleId":"com.example.game","productId":"coins.100","type":"Non-Consumable"}"#)
        #expect(wrong.status == .badRequest)
    }
}
