#if canImport(SwiftUI)
    import CountersignClientStoreKit
    import SwiftUI

    /// The example app: StoreKit 2, iOS 15 and later.
    @main
    struct ExampleApp: App {
        @StateObject private var shop = ShopObject()
        @Environment(\.scenePhase) private var phase

        var body: some Scene {
            WindowGroup {
                ShopView(shop: shop)
                    .task {
                        guard let server = URL(string: "https://purchases.example.com") else { return }
                        await shop.open(server: server, app: "com.example.game", logIn: GameLogIn())
                        // At launch as well, when somebody is logged in already.
                        if let account = GameLogIn.account { shop.logIn(account) }
                    }
            }
            .onChange(of: phase) { phase in
                if phase == .active { shop.enterForeground() }
            }
        }
    }
#endif
