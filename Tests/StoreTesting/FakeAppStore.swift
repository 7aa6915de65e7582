package import CountersignClient
import Foundation

/// What Apple keeps of one Apple Account: its unfinished transactions and all that it owns. It outlives the app.
///
/// A ``FakeStore`` is one launch of the app in front of it. What it does badly is ``Misbehaviour``, on request.
package actor FakeAppStore {
    private let seller: any FakeSeller
    /// The faults that are on.
    package private(set) var misbehaviour: Misbehaviour = []
    private var unfinished: [StoreTransaction] = []
    private var owned: [StoreTransaction] = []
    private var whileRestoring: (@Sendable () async -> Void)?
    private var whileSelling: (@Sendable () async -> Void)?
    private var awaitingApproval: [StoreOrder] = []
    private var listeners: [Int: AsyncStream<StoreTransaction>.Continuation] = [:]
    private var listenerNumber = 0
    private var hidden: Set<String> = []
    private var failuresOfFinish = 0
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Every transaction that was ever sold here, in order.
    package private(set) var sold: [StoreTransaction] = []
    /// The ids of the transactions that the app finished, in order, repetitions too.
    package private(set) var finished: [String] = []
    /// How often a payment sheet was opened.
    package private(set) var sheetCount = 0

    /// An account that owns nothing.
    package init(seller: any FakeSeller = PlainSeller()) {
        self.seller = seller
    }

    /// Turns faults on, and all others off.
    package func misbehave(_ misbehaviour: Misbehaviour) {
        self.misbehaviour = misbehaviour
        failuresOfFinish = misbehaviour.contains(.failsToFinishOnce) ? 1 : 0
    }

    /// The ids of what is not finished.
    package var unfinishedIDs: [String] {
        unfinished.map(\.id)
    }

    /// Waits until the app has finished so often since the start.
    package func waitForFinished(_ count: Int) async {
        guard finished.count < count else { return }
        await withCheckedContinuation { watchers.append((count, $0)) }
    }

    // MARK: What the person and Apple do

    /// Lets the guardian approve everything that waits; the app hears of it when it runs, else at its next launch.
    ///
    /// - Throws: what the seller throws.
    package func approve() async throws {
        let orders = awaitingApproval
        awaitingApproval = []
        for order in orders { deliver(try await sell(order)) }
    }

    /// Brings a transaction that this app did not order: a renewal, an offer code, another device, another Apple Account's queue.
    package func bring(_ transaction: StoreTransaction) {
        sold.append(transaction)
        unfinished.append(transaction)
        if transaction.origin != .purchase { owned.append(transaction) }
        deliver(transaction)
    }

    /// Brings a transaction once more because something about it changed, as after a refund.
    package func bringAgain(_ transaction: StoreTransaction) {
        unfinished.append(transaction)
        deliver(transaction)
    }

    /// What `restore()` finds from now on.
    package func own(_ transactions: [StoreTransaction]) {
        owned = transactions
    }

    /// Has something happen while the store asks for the password.
    package func restoring(_ happening: (@Sendable () async -> Void)?) {
        whileRestoring = happening
    }

    /// Has something happen between the payment and the end of the payment sheet.
    package func selling(_ happening: (@Sendable () async -> Void)?) {
        whileSelling = happening
    }

    /// Tells every running app of a transaction again, whether it is finished or not.
    package func repeatUpdate(_ transaction: StoreTransaction) {
        deliver(transaction)
    }

    // MARK: What a launch of the app does, through FakeStore

    func purchase(_ order: StoreOrder) async throws -> StorePurchaseOutcome {
        sheetCount += 1
        if misbehaviour.contains(.asksForApproval) {
            awaitingApproval.append(order)
            return .pending
        }
        if misbehaviour.contains(.isInterrupted) {
            awaitingApproval.append(order)
            return .cancelled
        }
        if misbehaviour.contains(.isCancelled) { return .cancelled }
        if misbehaviour.contains(.givesEarlierAsSuccess),
            let earlier = unfinished.first(where: { $0.productID == order.productID })
        {
            return .purchased(earlier)
        }
        if misbehaviour.contains(.failsWithoutPaying) { throw FakeStoreError.failed }
        var transaction = try await sell(order)
        if misbehaviour.contains(.tellsBeforeClosing) { deliver(transaction) }
        await whileSelling?()
        if misbehaviour.contains(.hidesNewest) { hidden.insert(transaction.id) }
        if misbehaviour.contains(.failsAfterPaying) { throw FakeStoreError.failed }
        if misbehaviour.contains(.forgetsTokens) { transaction.accountToken = nil }
        return .purchased(transaction)
    }

    func unfinishedNow() -> [StoreTransaction] {
        if misbehaviour.contains(.hidesEverything) { return [] }
        var all = unfinished.filter { !hidden.contains($0.id) }
        hidden = []
        if misbehaviour.contains(.showsFinished) {
            all += sold.filter { finished.contains($0.id) }
        }
        return all.map(shown)
    }

    func listen() -> AsyncStream<StoreTransaction> {
        let (stream, continuation) = AsyncStream.makeStream(of: StoreTransaction.self)
        if !misbehaviour.contains(.isSilentAtLaunch) {
            for transaction in unfinished { continuation.yield(shown(transaction)) }
        }
        listenerNumber += 1
        let number = listenerNumber
        listeners[number] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.stopListening(number) }
        }
        return stream
    }

    func finish(_ id: String) async throws {
        if failuresOfFinish > 0 {
            failuresOfFinish -= 1
            throw FakeStoreError.failed
        }
        await seller.finished(id)
        finished.append(id)
        unfinished.removeAll { $0.id == id }
        for watcher in watchers where watcher.count <= finished.count { watcher.continuation.resume() }
        watchers.removeAll { $0.count <= finished.count }
    }

    func restored() async -> [StoreTransaction] {
        await whileRestoring?()
        return owned.map(shown)
    }

    private func stopListening(_ number: Int) {
        listeners[number] = nil
    }

    private func sell(_ order: StoreOrder) async throws -> StoreTransaction {
        let transaction = try await seller.sell(order)
        sold.append(transaction)
        unfinished.append(transaction)
        return transaction
    }

    private func deliver(_ transaction: StoreTransaction) {
        for listener in listeners.values { listener.yield(shown(transaction)) }
    }

    private func shown(_ transaction: StoreTransaction) -> StoreTransaction {
        guard misbehaviour.contains(.forgetsTokens), transaction.proof == .receipt else { return transaction }
        var copy = transaction
        copy.accountToken = nil
        return copy
    }
}

/// What a store does although an app would not expect it.
package struct Misbehaviour: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Buying a product again gives its earlier, unfinished transaction as success.
    package static let givesEarlierAsSuccess = Misbehaviour(rawValue: 1 << 0)
    /// The next look at what is unfinished misses what was just bought.
    package static let hidesNewest = Misbehaviour(rawValue: 1 << 1)
    /// What is unfinished has what was finished, too.
    package static let showsFinished = Misbehaviour(rawValue: 1 << 2)
    /// A launch is told nothing of what is unfinished (StoreKit 1's handler that is not called).
    package static let isSilentAtLaunch = Misbehaviour(rawValue: 1 << 3)
    /// A transaction whose proof is a receipt has no account token (StoreKit 1's `applicationUsername` after a restart).
    package static let forgetsTokens = Misbehaviour(rawValue: 1 << 4)
    /// The payment sheet ends with an error although it was paid.
    package static let failsAfterPaying = Misbehaviour(rawValue: 1 << 5)
    /// The payment sheet ends with an error, and nothing was paid.
    package static let failsWithoutPaying = Misbehaviour(rawValue: 1 << 6)
    /// Orders wait for approval.
    package static let asksForApproval = Misbehaviour(rawValue: 1 << 7)
    /// The person closes every payment sheet.
    package static let isCancelled = Misbehaviour(rawValue: 1 << 8)
    /// The first attempt to finish fails.
    package static let failsToFinishOnce = Misbehaviour(rawValue: 1 << 9)
    /// The payment sheet ends as cancelled, and the person goes through with it elsewhere, later.
    package static let isInterrupted = Misbehaviour(rawValue: 1 << 12)
    /// Nothing is unfinished, whatever is.
    package static let hidesEverything = Misbehaviour(rawValue: 1 << 11)
    /// What is bought comes as an update before the payment sheet closes.
    package static let tellsBeforeClosing = Misbehaviour(rawValue: 1 << 13)
    /// Payments are not allowed.
    package static let forbidsPayments = Misbehaviour(rawValue: 1 << 10)
}

/// An error of the store.
package enum FakeStoreError: Error {
    case failed
}
