import Dispatch
package import Foundation
package import StoreKit
import Synchronization

/// A phone with an Apple Account, behind the declarations of `StoreKit`: what Apple keeps, and one app that runs or does not.
///
/// It behaves as Apple documents it, and badly on request: ``DeviceFaults``.
package final class FakeDevice: StoreKitDevice {
    /// Something that is sold.
    package struct Item: Sendable {
        package var id: String
        package var type: Product.ProductType
        package var name: String
        package var price: Decimal

        package init(_ id: String, _ type: Product.ProductType, name: String = "Item", price: Decimal = 0.99) {
            self.id = id
            self.type = type
            self.name = name
            self.price = price
        }
    }

    /// A transaction that Apple has.
    package struct Sale: Sendable, Equatable {
        package var id: UInt64
        package var originalID: UInt64
        package var productID: String
        package var type: Product.ProductType
        package var quantity = 1
        package var token: UUID?
        package var username: String?
        package var reason = "PURCHASE"
        package var environment = "Sandbox"
        package var revokedAt: Date?
        package var isFinished = false
        /// Another launch of the app than the one that bought it.
        var isOfEarlierLaunch = false
    }

    struct Order: Sendable {
        var productID: String
        var quantity: Int
        var token: UUID?
        var username: String?
    }

    struct State {
        var items: [String: Item] = [:]
        var sales: [Sale] = []
        var nextID: UInt64 = 2_000_000
        var faults: DeviceFaults = []
        var waiting: [Order] = []
        var hidden: Set<UInt64> = []
        var isRefreshed = false
        /// What the app was told at this launch, once.
        var wasTold = false
        var listeners: [Int: AsyncStream<VerificationResult<Transaction>>.Continuation] = [:]
        var intents: AsyncStream<PurchaseIntent>.Continuation?
        var number = 0
        var observers: [Unchecked<any SKPaymentTransactionObserver>] = []
        var payments: [UInt64: Unchecked<SKPaymentTransaction>] = [:]
        var paymentsCount = 0
        var watchers: [(isMet: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
        var log = Log()
    }

    /// What the app did.
    package struct Log: Sendable {
        /// Options of the sheets that were opened, in order.
        package var sheets: [Set<Product.PurchaseOption>] = []
        /// Ids that were finished, repetitions too.
        package var finished: [UInt64] = []
        package var syncs = 0
        package var refreshes = 0
        /// Receipts that were asked for, also in vain.
        package var refreshesAsked = 0
        /// The offers that payments of StoreKit 1 had: identifier, key, nonce, signature, timestamp.
        package var discounts: [[String]] = []
        /// `applicationUsername` of each payment.
        package var orderedUsernames: [String] = []
        /// Failed payments that the app finished.
        package var finishedFailures = 0
    }

    /// Something of StoreKit 1 that goes from the app to the thread that calls back.
    // Safety: the app does not change what it gave away, and the device changes nothing of it.
    struct Unchecked<Value>: @unchecked Sendable {
        let value: Value
    }

    let state = Mutex(State())
    /// Stands for the main thread, on which StoreKit 1 calls back.
    let calls = DispatchQueue(label: "store-kit-1")
    let folder = FileManager.default.temporaryDirectory.appending(path: "device-\(UUID().uuidString)")

    package init(_ items: [Item]) {
        state.withLock { state in for item in items { state.items[item.id] = item } }
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Runs something on this device.
    package func run<Result>(
        _ body: () async throws -> Result, isolation: isolated (any Actor)? = #isolation
    ) async rethrows -> Result {
        try await StoreKitDevices.$current.withValue(self, operation: body)
    }

    // MARK: What the test reads

    package var log: Log { state.withLock(\.log) }
    package var sales: [Sale] { state.withLock(\.sales) }
    package var unfinishedIDs: [String] { sales.filter { !$0.isFinished }.map { "\($0.id)" } }

    // MARK: What the person, Apple and the system do

    /// Turns these faults on, and all others off.
    package func misbehave(_ faults: DeviceFaults) { state.withLock { $0.faults = faults } }

    /// The app ends: nobody listens any more, and what was under way is Apple's alone.
    package func endApp() {
        let listeners = state.withLock { state in
            defer {
                state.listeners = [:]
                state.observers = []
                state.payments = [:]
                state.wasTold = false
                for index in state.sales.indices { state.sales[index].isOfEarlierLaunch = true }
            }
            return state.listeners.values
        }
        for listener in listeners { listener.finish() }
    }

    /// The guardian approves what waits; whoever runs is told.
    package func approve() {
        let orders = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for order in orders { tell(sell(order)) }
    }

    /// A sale that this app did not order: a renewal, an offer code, another device.
    @discardableResult
    package func bring(
        _ productID: String, of original: UInt64? = nil, reason: String = "PURCHASE", token: UUID? = nil,
        username: String? = nil, isFinished: Bool = false
    ) -> Sale {
        var sale = sell(Order(productID: productID, quantity: 1, token: token, username: username))
        sale.reason = reason
        sale.originalID = original ?? sale.id
        sale.isFinished = isFinished
        put(sale)
        if !isFinished { tell(sale) }
        return sale
    }

    /// Apple takes a purchase back; whoever runs is told.
    package func refund(_ id: UInt64) {
        guard var sale = sales.first(where: { $0.id == id }) else { return }
        sale.revokedAt = Date()
        put(sale)
        for listener in state.withLock({ $0.listeners.values.map { $0 } }) { listener.yield(result(sale)) }
    }

    /// Apple gives a refund back: the transaction comes again, without its revocation.
    package func reverseRefund(_ id: UInt64) {
        guard var sale = sales.first(where: { $0.id == id }) else { return }
        sale.revokedAt = nil
        put(sale)
        for listener in state.withLock({ $0.listeners.values.map { $0 } }) { listener.yield(result(sale)) }
    }

    /// Somebody chooses to buy on the app's page in the App Store.
    package func promote(_ productID: String, offerID: String? = nil) {
        guard let item = state.withLock({ $0.items[productID] }) else { return }
        let product = Self.product(item)
        let offer = product.subscription?.winBackOffers.first { $0.id == offerID }
        state.withLock(\.intents)?.yield(PurchaseIntent(product: product, offer: offer))
        call { observer, queue in
            _ = observer.paymentQueue(
                queue, shouldAddStorePayment: SKPayment(productIdentifier: productID), for: Self.storeProduct(item))
        }
    }

    /// Waits until so many payments of StoreKit 1 were added.
    package func waitForPayments(_ count: Int) async { await wait { $0.paymentsCount >= count } }

    /// Waits until so many listen to `Transaction.updates`.
    package func waitForListeners(_ count: Int) async { await wait { $0.listeners.count >= count } }

    /// Waits until somebody listens for promoted purchases.
    package func waitForIntentListener() async { await wait { $0.intents != nil } }

    /// StoreKit 1 calls nobody back until ``resumeCalls()``.
    package func pauseCalls() { calls.suspend() }

    /// StoreKit 1 calls back again.
    package func resumeCalls() { calls.resume() }

    /// Waits until StoreKit 1 has called back whatever it was to.
    package func callsAreMade() async {
        await withCheckedContinuation { continuation in calls.async { continuation.resume() } }
    }

    // MARK: Inside

    /// What this Apple Account has of a product that lasts.
    func owned(_ productID: String) -> Sale? {
        sales.last { sale in
            sale.productID == productID && sale.revokedAt == nil
                && [.nonConsumable, .autoRenewable].contains(sale.type)
        }
    }

    func sell(_ order: Order) -> Sale {
        state.withLock { state in
            let type = state.items[order.productID]?.type ?? .consumable
            let sale = Sale(
                id: state.nextID, originalID: state.nextID, productID: order.productID, type: type,
                quantity: order.quantity, token: order.token, username: order.username)
            state.nextID += 1
            state.sales.append(sale)
            return sale
        }
    }

    func put(_ sale: Sale) {
        state.withLock { state in
            guard let index = state.sales.firstIndex(where: { $0.id == sale.id }) else { return }
            state.sales[index] = sale
        }
    }

    /// Tells whoever runs of a sale.
    private func tell(_ sale: Sale) {
        for listener in state.withLock({ $0.listeners.values.map { $0 } }) { listener.yield(result(sale)) }
        tellObservers([sale])
    }

    private func wait(until isMet: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isMetAlready = state.withLock { state in
                if isMet(state) { return true }
                state.watchers.append((isMet, continuation))
                return false
            }
            if isMetAlready { continuation.resume() }
        }
    }

    /// Changes something that tests wait for.
    func change(_ body: (inout State) -> Void) {
        let met = state.withLock { state in
            body(&state)
            let (watchers, now) = (state.watchers, state)
            state.watchers = watchers.filter { !$0.isMet(now) }
            return watchers.filter { $0.isMet(now) }.map(\.continuation)
        }
        for watcher in met { watcher.resume() }
    }

    func nextNumber() -> Int {
        state.withLock { state in
            state.number += 1
            return state.number
        }
    }
}
