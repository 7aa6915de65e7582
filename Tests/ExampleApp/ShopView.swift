#if canImport(SwiftUI)
    import CountersignClientStoreKit
    import SwiftUI

    /// The one screen.
    struct ShopView: View {
        @ObservedObject var shop: ShopObject

        var body: some View {
            List {
                Section("Shop") {
                    ForEach(shop.state.products, id: \.id) { product in
                        Button {
                            shop.buy(product.id)
                        } label: {
                            HStack {
                                VStack(alignment: .leading) {
                                    Text(product.displayName)
                                    Text(product.description).font(.footnote)
                                }
                                Spacer()
                                Text(product.displayPrice)
                            }
                        }
                        .disabled(shop.state.isBusy)
                    }
                }
                if !shop.state.pending.isEmpty {
                    Section("On its way") {
                        ForEach(shop.state.pending, id: \.transactionID) { Text($0.productID) }
                    }
                }
                if let message = shop.state.message { Section { Text(message) } }
                Section { Button("Restore purchases") { shop.restore() } }
            }
        }
    }

    /// The shop, as SwiftUI observes it.
    @MainActor
    final class ShopObject: ObservableObject {
        @Published private(set) var state = Shop.State()
        private var shop: Shop?

        /// Opens the queue with StoreKit 2 and this server.
        func open(server: URL, app: String, logIn: any PlayerCredentials) async {
            guard shop == nil else { return }
            do {
                let queue = try await PurchaseQueue.open(
                    QueueConfiguration(server: server, app: app, folder: try Shop.journalFolder()),
                    store: StoreKit2Store(), transport: URLSessionTransport(), credentials: logIn)
                let shop = Shop(queue: queue)
                shop.onChange = { [weak self] in self?.state = $0 }
                self.shop = shop
                await shop.start()
            } catch {
                state.message = error.localizedDescription
            }
        }

        func logIn(_ account: String) { Task { await shop?.logIn(account) } }
        func enterForeground() { Task { await shop?.enterForeground() } }

        /// The account is the one of this moment, not of the one at which the task begins.
        func buy(_ productID: String) {
            let buyer = shop?.account
            Task { await shop?.buy(productID, for: buyer) }
        }

        func restore() {
            let asker = shop?.account
            Task { await shop?.restore(for: asker) }
        }
    }
#endif
