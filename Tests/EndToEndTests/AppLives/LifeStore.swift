import CountersignClient
import Foundation
import StoreTesting

/// Sells at the simulator, so that everything is really signed.
struct SimulatorSeller: FakeSeller {
    let client: IntakeClient
    let record: LifeRecord
    let app: String
    let appleID: String
    let isStoreKit1: Bool

    func sell(_ order: StoreOrder) async throws -> StoreTransaction {
        var fields = [
            "bundleId": app, "productId": order.productID, "type": "Consumable", "account": appleID,
        ]
        fields["appAccountToken"] = order.accountToken?.uuidString.lowercased()
        guard let sale = try await client.sell(fields).first else { throw FakeStoreError.failed }
        return StoreTransaction(
            id: sale.transactionId, originalID: sale.originalTransactionId, productID: order.productID,
            quantity: order.quantity, accountToken: order.accountToken, environment: .production,
            proof: isStoreKit1 ? .receipt : .signedTransaction(sale.signedTransaction))
    }

    func finished(_ id: String) async {
        await record.finished(id)
        _ = try? await client.controlled("POST", "transactions/\(id)/finish", "{}")
    }
}

/// One launch's store, which notes whose payment sheet it is.
struct LifeStore: PurchaseStore {
    let store: FakeStore
    let record: LifeRecord

    func canMakePayments() async -> Bool { await store.canMakePayments() }
    func products(_ ids: Set<String>) async throws -> [StoreProduct] { try await store.products(ids) }

    func purchase(_ order: StoreOrder) async throws -> StorePurchaseOutcome {
        await record.open(order)
        return try await store.purchase(order)
    }

    func unfinished() async -> [StoreTransaction] { await store.unfinished() }
    func updates() async -> AsyncStream<StoreTransaction> { await store.updates() }
    func finish(_ transaction: StoreTransaction) async throws { try await store.finish(transaction) }
    func restore() async throws -> [StoreTransaction] { try await store.restore() }
    func receipt(isRefreshing: Bool) async throws -> Data? { try await store.receipt(isRefreshing: isRefreshing) }
}
