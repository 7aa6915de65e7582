import CountersignClientStoreKit
import Foundation
import StoreKit
import StoreKitTesting
import StoreTesting
import Testing

/// What the tests sell.
enum Shelf {
    static let gems = "gems.100"
    static let castle = "castle"
    static let pass = "pass.month"

    static func device() -> FakeDevice {
        FakeDevice([
            FakeDevice.Item(gems, .consumable, name: "100 gems", price: 0.99),
            FakeDevice.Item(castle, .nonConsumable, name: "Castle", price: 4.99),
            FakeDevice.Item(pass, .autoRenewable, name: "Pass", price: 2.99),
        ])
    }

    static let offer = PromotionalOffer(
        id: "comeback", keyID: "KEY", nonce: UUID(), timestamp: 1_767_225_600_123, signature: "MEUCIQ==")
}

/// Which of Apple's interfaces a test goes through.
enum Interface: CaseIterable, Sendable {
    case storeKit2, storeKit1

    /// A store of an app that starts now; for StoreKit 1 it observes from here on.
    func store(on device: FakeDevice) -> any PurchaseStore {
        switch self {
        case .storeKit2: StoreKit2Store()
        case .storeKit1: StoreKit1Store(receiptURL: { device.receiptURL })
        }
    }
}

/// An app on a device: launched, killed, launched again with what its journal kept.
struct Phone: Sendable {
    let device = Shelf.device()
    let interface: Interface
    let server: DeviceServer
    let storage = MemoryStorage()
    let time = ManualTime()

    init(_ interface: Interface) {
        self.interface = interface
        server = DeviceServer()
    }

    /// Launches the app; to be called within `device.run`.
    func launch(as account: String? = nil) async throws -> PurchaseQueue {
        let queue = try await open()
        await queue.start()
        if let account { await queue.logIn(account) }
        return queue
    }

    /// Opens the queue without starting it.
    func open(
        over store: (any PurchaseStore)? = nil, legacyAccount: (@Sendable (String) -> String?)? = nil
    ) async throws -> PurchaseQueue {
        let storage = storage
        let address = try #require(URL(string: "https://purchases.example.com"))
        return try await PurchaseQueue.open(
            QueueConfiguration(
                server: address, app: "com.example.game", folder: URL(fileURLWithPath: "/nowhere"),
                legacyAccount: legacyAccount),
            store: store ?? interface.store(on: device), transport: server, credentials: FakeLogIn(["anna", "ben"]),
            time: time,
            storage: { storage })
    }

    /// The app is killed: its memory is gone, the journal stays.
    func kill(_ queue: PurchaseQueue) async {
        device.endApp()
        await queue.stop()
    }

    /// Waits until the queue has done what it can.
    func settle(_ queue: PurchaseQueue) async {
        // What StoreKit 1 calls back may begin something, and what begins may make it call back.
        for _ in 0..<3 {
            await device.callsAreMade()
            await queue.settle()
        }
    }
}
