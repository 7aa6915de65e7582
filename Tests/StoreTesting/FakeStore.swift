package import CountersignClient
package import Foundation

/// One launch of an app, in front of what Apple keeps.
package struct FakeStore: PurchaseStore {
    /// What outlives this launch.
    package let appStore: FakeAppStore
    private let receipt: @Sendable (Bool) async throws -> Data?
    private let catalogue: [StoreProduct]

    /// A launch.
    ///
    /// - Parameter receipt: the app's receipt; it is told whether a new one is asked for.
    package init(
        _ appStore: FakeAppStore, catalogue: [StoreProduct] = [],
        receipt: @escaping @Sendable (Bool) async throws -> Data? = { _ in nil }
    ) {
        self.appStore = appStore
        self.catalogue = catalogue
        self.receipt = receipt
    }

    package func canMakePayments() async -> Bool {
        await !appStore.misbehaviour.contains(.forbidsPayments)
    }

    package func products(_ ids: Set<String>) async throws -> [StoreProduct] {
        catalogue.filter { ids.contains($0.id) }
    }

    package func purchase(_ order: StoreOrder) async throws -> StorePurchaseOutcome {
        try await appStore.purchase(order)
    }

    package func unfinished() async -> [StoreTransaction] {
        await appStore.unfinishedNow()
    }

    package func updates() async -> AsyncStream<StoreTransaction> {
        await appStore.listen()
    }

    package func finish(_ transaction: StoreTransaction) async throws {
        try await appStore.finish(transaction.id)
    }

    package func restore() async throws -> [StoreTransaction] {
        await appStore.restored()
    }

    package func receipt(isRefreshing: Bool) async throws -> Data? {
        try await receipt(isRefreshing)
    }
}
