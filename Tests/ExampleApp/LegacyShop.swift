import CountersignClientStoreKit
import Foundation

/// The twin for StoreKit 1, without Objective-C, for code that is not on StoreKit 2 yet: another store behind the same shop.
@MainActor
enum LegacyShop {
    /// Makes the store, which observes the payment queue from then on: in `didFinishLaunching`, before anything else.
    static func makeStore() -> StoreKit1Store { StoreKit1Store() }

    /// Opens the shop over the store.
    static func open(
        _ store: StoreKit1Store, server: URL, app: String, logIn: any PlayerCredentials
    ) async throws -> Shop {
        let queue = try await PurchaseQueue.open(
            QueueConfiguration(server: server, app: app, folder: try Shop.journalFolder()), store: store,
            transport: URLSessionTransport(), credentials: logIn)
        let shop = Shop(queue: queue)
        await shop.start()
        return shop
    }

    /// Buys what people chose on the app's page in the App Store, once somebody is logged in.
    static func buyPromoted(from store: StoreKit1Store, in shop: Shop) async {
        for await promoted in store.promotedPurchases() { await shop.buyPromoted(promoted) }
    }
}

#if canImport(UIKit) && !os(watchOS)
    import UIKit

    /// Begins with the app.
    final class LegacyAppDelegate: UIResponder, UIApplicationDelegate {
        private let store = LegacyShop.makeStore()
        private var shop: Shop?

        func application(
            _ application: UIApplication,
            didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
        ) -> Bool {
            Task {
                guard let server = URL(string: "https://purchases.example.com") else { return }
                let shop = try await LegacyShop.open(
                    store, server: server, app: "com.example.game", logIn: GameLogIn())
                self.shop = shop
                if let account = GameLogIn.account { await shop.logIn(account) }
                await LegacyShop.buyPromoted(from: store, in: shop)
            }
            return true
        }

        func applicationWillEnterForeground(_ application: UIApplication) {
            Task { await shop?.enterForeground() }
        }
    }
#endif
