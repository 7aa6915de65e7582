#if canImport(SwiftUI)
    import CountersignClientStoreKit
    import SwiftUI

    /// A screen that sells, over `Purchases`: nothing else is needed.
    struct ShopScreen: View {
        @ObservedObject var purchases: Purchases
        var body: some View {
            List(purchases.state.products, id: \.id) { product in
                Button("\(product.displayName)  \(product.displayPrice)") { purchases.buy(product.id) }
            }
            .task { await purchases.load(["gems.100", "castle", "pass.month"]) }
        }
    }
#endif
