package import CountersignClient
import Foundation
import Synchronization

/// A phone with the app on it: what outlives the app, and launches of it.
package struct FakePhone: Sendable {
    package let apple: FakeAppStore
    package let server: FakeServer
    package let storage: MemoryStorage
    package let time = ManualTime()
    /// What the app logged.
    package let log = FakeLog()

    package init(_ interface: PlainSeller.Interface = .storeKit2, storage: MemoryStorage = MemoryStorage()) {
        let apple = FakeAppStore(seller: PlainSeller(interface))
        self.init(apple: apple, server: FakeServer(apple), storage: storage)
    }

    package init(apple: FakeAppStore, server: FakeServer, storage: MemoryStorage = MemoryStorage()) {
        self.apple = apple
        self.server = server
        self.storage = storage
    }

    /// Launches the app, and logs somebody in.
    ///
    /// - Parameters:
    ///   - receipt: the app's receipt; `nil` where the phone has none.
    ///   - names: the accounts of names that an earlier version of the app gave.
    /// - Throws: `PurchaseError`.
    package func launch(
        as account: String? = nil, intents: QueueConfiguration.IntentPolicy = .required,
        limits: QueueLimits = QueueLimits(), receipt: String? = "receipt", names: [String: String] = [:]
    ) async throws -> PurchaseQueue {
        let queue = try await open(intents: intents, limits: limits, receipt: receipt, names: names)
        await queue.start()
        if let account { await queue.logIn(account) }
        return queue
    }

    /// Opens the queue without starting it.
    ///
    /// - Throws: `PurchaseError`.
    package func open(
        intents: QueueConfiguration.IntentPolicy = .required, limits: QueueLimits = QueueLimits(),
        receipt: String? = "receipt", names: [String: String] = [:], transport: (any ServerTransport)? = nil
    ) async throws -> PurchaseQueue {
        guard let address = URL(string: "https://purchases.example.com") else { throw FakeStoreError.failed }
        let log = log
        let storage = storage
        return try await PurchaseQueue.open(
            QueueConfiguration(
                server: address, app: "com.example.game", folder: URL(fileURLWithPath: "/nowhere"), intents: intents,
                legacyAccount: { names[$0] }, limits: limits, log: { log.add($0) }),
            store: FakeStore(apple, receipt: { _ in receipt.map { Data($0.utf8) } }), transport: transport ?? server,
            credentials: FakeLogIn(["anna", "ben", "cleo"]), time: time, storage: { storage })
    }
}

/// Keeps the lines of a log.
package final class FakeLog: Sendable {
    private let kept = Mutex<[QueueLogLine]>([])

    package init() {}

    /// The lines until now.
    package var lines: [QueueLogLine] {
        kept.withLock { $0 }
    }

    package func add(_ line: QueueLogLine) {
        kept.withLock { $0.append(line) }
    }
}
